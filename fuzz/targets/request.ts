import assert from 'node:assert/strict';
import fc from 'fast-check';
import { exchangeKind, readLeadingThreadId, readRunHead, readRunRequest, readThreadId } from '../../src/agui/input.ts';
import { parseJson } from '../../src/lib/json.ts';
import { anyMessages } from '../../test/agui/arbitrary-events.ts';
import { assertInProportion, assertPlainJson, assertUnpolluted } from '../checks.ts';
import { recordedBodies } from '../fixtures.ts';
import { HOSTILE_TEXTS } from '../hostile.ts';
import { fieldsOf } from '../input.ts';
import { pureTarget } from '../target.ts';

const anything = fc.jsonValue({ maxDepth: 2 });
const runInput = fc.record(
  {
    threadId: fc.oneof(fc.constantFrom(...HOSTILE_TEXTS), anything),
    runId: fc.oneof(fc.string(), anything),
    parent_run_id: anything,
    messages: anyMessages,
    resume: anything,
    forwardedProps: fc.oneof(
      anything,
      fc.record({ command: fc.record({ resume: anything, interruptEvent: fc.oneof(anything, fc.json()) }) }),
    ),
  },
  { requiredKeys: [] },
);

/** Request bodies: what they ask for, whole and by their head. */
export const request = pureTarget({
  name: 'request',
  seeds: () =>
    recordedBodies().flatMap(({ request: body }) =>
      body === undefined ? [] : [{ body, path: '/', text: JSON.stringify(body) }],
    ),
  fresh: fc
    .record({
      body: fc.oneof(anything, runInput, fc.record({ method: fc.string(), body: runInput })),
      path: fc.oneof(fc.webPath({ size: 'small' }), fc.constantFrom('/connect', '/a/suggest?x#y', '//', '?', '#\n')),
      text: fc.oneof(
        fc.string(),
        runInput.map((body) => JSON.stringify(body)),
      ),
    })
    .map((input) => JSON.parse(JSON.stringify(input))),
  run(input) {
    const { body, path, text } = fieldsOf(input);
    const whole = readRunRequest(body);
    const head = readRunHead(body);
    assert.equal(whole === undefined, head === undefined);
    if (whole && head) {
      const { messages, interrupts, hasMessages: _, ...rest } = whole;
      const { hasMessages: __, ...headRest } = head;
      assert.deepEqual(rest, headRest, 'head and whole of one request differ');
      const characters = assertPlainJson([messages, interrupts, rest]);
      assertInProportion(characters, JSON.stringify(input).length, { per: 15, flat: 1000 });
    }
    for (const known of [whole, undefined]) exchangeKind(typeof path === 'string' ? path : '', known, false);

    const textual = typeof text === 'string' ? text : JSON.stringify(text ?? '');
    const parsed = readRunHead(parseJson(textual));
    const threadId = readThreadId(textual);
    assert.ok(threadId === undefined || (threadId !== '' && threadId.length <= 512));
    if (parsed && threadId === undefined && parsed.threadId !== '') {
      assert.ok(
        parsed.threadId.length > 80 || textual.includes('\\'),
        'the thread is named, and its head does not tell',
      );
    }
    const leading = readLeadingThreadId(textual);
    const isNamedOnce = textual.split('"threadId"').length === 2;
    if (parsed && leading !== undefined && isNamedOnce) {
      assert.equal(leading, parsed.threadId, 'the beginning names another thread than the whole');
    }
    assertUnpolluted();
  },
});
