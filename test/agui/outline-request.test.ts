import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRunHead } from '../../src/agui/input.ts';
import { outlineRequest } from '../../src/agui/outline-request.ts';
import { parseJson } from '../../src/lib/json.ts';

const headOf = (text: string) => readRunHead(parseJson(text));

const words = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '[', '}', '"threadId":"other"'));
const anything = fc.oneof(fc.jsonValue({ maxDepth: 4 }), words);
const command = fc.record(
  { resume: anything, interruptEvent: anything, interrupt_event: anything },
  { requiredKeys: [] },
);
const forwarded = fc.oneof(anything, fc.record({ __proxiedMCPRequest: anything, command }, { requiredKeys: [] }));
const input = fc.record(
  {
    threadId: fc.oneof(words, anything),
    thread_id: words,
    runId: words,
    parent_run_id: words,
    state: anything,
    messages: fc.oneof(fc.constant([]), fc.array(anything), anything),
    resume: fc.oneof(fc.constant([]), fc.array(anything), anything),
    forwardedProps: forwarded,
    forwarded_props: forwarded,
    context: anything,
  },
  { requiredKeys: [] },
);
const request = fc.oneof(
  input,
  fc.record({ method: words, params: anything, body: fc.oneof(input, anything) }),
  anything,
);

describe('the outline of a request', () => {
  it('has the head of the whole', () => {
    fc.assert(
      fc.property(request, fc.nat(2), (body, indent) => {
        const text = JSON.stringify(body, null, indent);
        expect(headOf(outlineRequest(text))).toEqual(headOf(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it('leaves out what the head does not depend on', () => {
    const body = {
      threadId: 't',
      messages: [{ id: 'm', role: 'user', content: 'When is high water?' }],
      tools: [],
      state: { harbour: { depth: [3, 4] } },
      forwardedProps: { command: { resume: { approved: true } } },
    };
    expect(parseJson(outlineRequest(JSON.stringify(body)))).toEqual({
      threadId: 't',
      messages: [0],
      tools: [],
      state: {},
      forwardedProps: { command: { resume: {} } },
    });
  });

  it('does not grow with the depth of what is left out', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(outlineRequest(`{"threadId":"t","state":${deep},"messages":${deep}}`)).toBe(
      '{"threadId":"t","state":[0],"messages":[0]}',
    );
  });

  it('is no JSON when the request breaks off', () => {
    for (const text of ['{"threadId":"t","messages":[', '{"threadId":"t', '{"state":{"a":[]}']) {
      expect(parseJson(outlineRequest(text))).toBeUndefined();
    }
  });

  it.each([
    ['its own', (members: object) => members],
    ['its envelope', (members: object) => ({ method: 'agent/run', body: members })],
    ['its forwarded properties', (members: object) => ({ threadId: 't', forwardedProps: members })],
  ])('gives up where members come by the thousand, whether %s', (_, bodyOf) => {
    const members = Object.fromEntries(Array.from({ length: 2_000 }, (_each, index) => [`key-${index}`, null]));
    expect(outlineRequest(JSON.stringify(bodyOf(members)))).toBe('');
  });

  it.each([
    ['lists', '[]'],
    ['objects', '{}'],
  ])('gives up where %s come by the thousand', (_, piece) => {
    const members = Array.from({ length: 2_000 }, (_each, index) => `"key-${index}":${piece}`).join();
    expect(outlineRequest(`{${piece.repeat(2_000)}`)).toBe('');
    expect(outlineRequest(`{"threadId":"t","forwardedProps":{${members}}}`)).toBe('');
  });
});
