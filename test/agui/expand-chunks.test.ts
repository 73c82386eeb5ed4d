import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import type { WireEvent } from './reference-client.ts';
import { runStarted } from './reference-client.ts';
import { callStart, findingsOf, fold, foldRun, say, sketch } from './streams.ts';

const textChunk = (fields: JsonObject): WireEvent => ({ type: 'TEXT_MESSAGE_CHUNK', ...fields });
const callChunk = (fields: JsonObject): WireEvent => ({ type: 'TOOL_CALL_CHUNK', ...fields });
const open = textChunk({ messageId: 'm1', delta: 'a' });
const next = textChunk({ delta: 'b' });

describe('chunks', () => {
  it('of one id are one message, and may leave the id out', () => {
    const folded = foldRun([open, next, textChunk({ messageId: 'm1', role: 'assistant', delta: 'c' })]);
    expect(sketch(folded)).toEqual(['assistant m1 | "abc"']);
    expect(folded.findings).toEqual([]);
  });

  it('of another id begin another message', () => {
    const folded = foldRun([open, textChunk({ messageId: 'm2', role: 'user', delta: 'b' }), textChunk({ delta: 'c' })]);
    expect(sketch(folded)).toEqual(['assistant m1 | "a"', 'user m2 | "bc"']);
  });

  it.each([
    ['RAW', { type: 'RAW', event: {} }],
    ['an activity', { type: 'ACTIVITY_SNAPSHOT', messageId: 'v', activityType: 'plan', content: {} }],
    [
      'an encrypted value',
      { type: 'REASONING_ENCRYPTED_VALUE', subtype: 'message', entityId: 'x', encryptedValue: 'y' },
    ],
    ['SUBAGENT_STARTED', { type: 'SUBAGENT_STARTED', subagentRunId: 's1', name: 'scout' }],
    ['an unknown event', { type: 'LATER' }],
    ['an event of another lane', { type: 'STATE_SNAPSHOT', snapshot: {}, subagentRunId: 's1' }],
    ['the end of another lane', { type: 'SUBAGENT_FINISHED', subagentRunId: 's1' }],
  ])('go on after %s', (_, between) => {
    const folded = foldRun([open, between, next]);
    expect(sketch(folded)).toEqual(['assistant m1 | "ab"']);
    expect(findingsOf(folded).filter((finding) => !finding.startsWith('unknown_event'))).toEqual([]);
  });

  it.each([
    ['CUSTOM', { type: 'CUSTOM', name: 'note', value: 1 }],
    ['a step', { type: 'STEP_STARTED', stepName: 'plan' }],
    ['a state', { type: 'STATE_DELTA', delta: [] }],
    ['reasoning', { type: 'REASONING_MESSAGE_CHUNK', messageId: 'r1', delta: 'hm' }],
    ['retired thinking', { type: 'THINKING_START' }],
    ['a snapshot', { type: 'MESSAGES_SNAPSHOT', messages: [{ id: 'm1', role: 'assistant', content: 'a' }] }],
  ])('end at %s, so that one without an id has nothing to continue', (_, between) => {
    const folded = foldRun([open, between, next]);
    expect(sketch(folded)).toEqual(['assistant m1 | "a"', 'assistant message-3 | "b"']);
    expect(findingsOf(folded)).toContain('malformed_event 3');
  });

  it('continue a message that had ended when they name it', () => {
    const folded = foldRun([open, callStart('c1'), textChunk({ messageId: 'm1', delta: 'b' })]);
    expect(sketch(folded)[0]).toBe('assistant m1 | "ab"');
  });

  it('of sub-agents are assembled side by side', () => {
    const folded = foldRun([
      textChunk({ messageId: 'm1', subagentRunId: 's1', delta: 'a' }),
      textChunk({ messageId: 'm2', subagentRunId: 's2', delta: 'x' }),
      textChunk({ subagentRunId: 's1', delta: 'b' }),
      textChunk({ messageId: 'm2', delta: 'y' }),
    ]);
    expect(folded.messages).toMatchObject([
      { id: 'm1', text: 'ab', subagent: 's1' },
      { id: 'm2', text: 'xy', subagent: 's2' },
    ]);
    expect(folded.findings).toEqual([]);
  });

  it('without id and tag continue the only open stream of their kind', () => {
    const folded = foldRun([textChunk({ messageId: 'm1', subagentRunId: 's1', delta: 'a' }), next]);
    expect(sketch(folded)).toEqual(['assistant m1 | "ab"']);
    expect(folded.findings).toEqual([]);
  });

  it('that could continue several streams go to the latest, with a finding', () => {
    const folded = foldRun([
      textChunk({ messageId: 'm1', subagentRunId: 's1', delta: 'a' }),
      textChunk({ messageId: 'm2', subagentRunId: 's2', delta: 'x' }),
      next,
    ]);
    expect(sketch(folded)).toEqual(['assistant m1 | "a"', 'assistant m2 | "xb"']);
    expect(findingsOf(folded)).toEqual(['malformed_event 3']);
  });

  it('that contradict what opened the stream keep what was said first', () => {
    const folded = foldRun([open, textChunk({ messageId: 'm1', role: 'user', delta: 'b' })]);
    expect(sketch(folded)).toEqual(['assistant m1 | "ab"']);
    expect(findingsOf(folded)).toEqual(['malformed_event 2 m1']);
  });

  it('of a tool call carry its arguments', () => {
    const folded = foldRun([
      callChunk({ toolCallId: 'c1', toolCallName: 'tides', parentMessageId: 'm1', delta: '{"a"' }),
      callChunk({ delta: ':1}' }),
      callChunk({ toolCallId: 'c2', toolCallName: 'fog', delta: '' }),
    ]);
    expect(sketch(folded)).toEqual([
      'assistant m1 | "" | tides({"a":1}) complete',
      'assistant c2 | "" | fog({}) complete',
    ]);
    expect(folded.findings).toEqual([]);
  });

  it('of a tool call without a name make a call nobody can name, with a finding', () => {
    const folded = foldRun([callChunk({ toolCallId: 'c1', delta: '{}' })]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | unknown_tool({}) complete']);
    expect(findingsOf(folded)).toEqual(['malformed_event 1 c1']);
  });

  it('of a tool call may say later what the first left out, and nothing else', () => {
    const folded = foldRun([
      ...say('m1', 'Looking.'),
      callChunk({ toolCallId: 'c1', delta: '{"a"' }),
      callChunk({ toolCallId: 'c1', toolCallName: 'tides', delta: ':' }),
      callChunk({ parentMessageId: 'm1', delta: '1}' }),
      callChunk({ toolCallName: 'tides', parentMessageId: 'm1', delta: '' }),
      callChunk({ toolCallName: 'fog', parentMessageId: 'm2', delta: '' }),
    ]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Looking." | tides({"a":1}) complete']);
    expect(findingsOf(folded)).toEqual(['malformed_event 4 c1', 'malformed_event 8 c1']);
  });

  it('of a tool call may name a parent later that is yet to come', () => {
    const folded = foldRun([
      callChunk({ toolCallId: 'c1', toolCallName: 'tides', delta: '' }),
      callChunk({ parentMessageId: 'm1', delta: '' }),
      ...say('m1', 'Looking.'),
    ]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Looking." | tides({}) complete']);
    expect(folded.findings).toEqual([]);
  });

  it.each([
    ['RUN_ERROR', { type: 'RUN_ERROR', message: 'x' }],
    ['RUN_STARTED', runStarted('next')],
    ['RUN_FINISHED', { type: 'RUN_FINISHED', threadId: 'thread', runId: 'run' }],
    [
      'a cancelled RUN_FINISHED',
      { type: 'RUN_FINISHED', threadId: 'thread', runId: 'run', outcome: { type: 'cancelled' } },
    ],
    ['MESSAGES_SNAPSHOT', { type: 'MESSAGES_SNAPSHOT', messages: [] }],
  ])('are ended in every lane by %s', (_, end) => {
    const chunked = [
      textChunk({ messageId: 'm1', delta: 'a' }),
      callChunk({ toolCallId: 'c1', toolCallName: 'tides', subagentRunId: 's1', delta: '{}' }),
    ];
    const lines = sketch(fold([runStarted(), ...chunked, end])).map((line) => line.replace(' | omitted', ''));
    expect(lines).toEqual(['assistant m1 | "a"', 'assistant c1 | "" | tides({}) complete']);
  });

  it('are cut off, with no END to miss, when the stream ends without a terminal event', () => {
    const folded = fold([runStarted(), open]);
    expect(sketch(folded)).toEqual(['assistant m1 | "a" | partial']);
    expect(findingsOf(folded)).toEqual(['no_terminal_event 2 run']);
  });

  it('of a tool call may come back to it after another event', () => {
    const folded = foldRun([
      callChunk({ toolCallId: 'c1', toolCallName: 'tides', delta: '{"a"' }),
      open,
      callChunk({ toolCallId: 'c1', toolCallName: 'tides', delta: ':1}' }),
    ]);
    expect(sketch(folded)[0]).toBe('assistant c1 | "" | tides({"a":1}) complete');
  });
});
