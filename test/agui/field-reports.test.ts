import { describe, expect, it } from 'vitest';
import { runFinished, runStarted } from './reference-client.ts';
import {
  args,
  call,
  callEnd,
  callStart,
  encodeFrames,
  encodeSse,
  findingsOf,
  fold,
  foldBytes,
  foldRun,
  result,
  say,
  sketch,
  snapshot,
  text,
  textEnd,
  textStart,
} from './streams.ts';

const runError = (message: string) => ({ type: 'RUN_ERROR', message });
const user = (id: string, content: string) => ({ id, role: 'user', content });
const assistant = (id: string, content?: string, ...calls: readonly string[]) => ({
  id,
  role: 'assistant',
  ...(content === undefined ? {} : { content }),
  toolCalls: calls.map((callId) => ({
    id: callId,
    type: 'function',
    function: { name: 'tides', arguments: '{"q":1}' },
  })),
});
const tool = (id: string, toolCallId: string, content: string) => ({ id, role: 'tool', toolCallId, content });

// What public issue trackers report of AG-UI streams in the field. Each test is the smallest stream that shows it.
describe('streams as the field reports them', () => {
  it('a stream that closes without a terminal event is truncated, never a success (ag-ui#2300)', () => {
    const folded = fold([runStarted(), textStart('m1'), text('m1', 'Paying 40')]);
    expect(folded.ending).toBe('truncated');
    expect(findingsOf(folded)).toContain('no_terminal_event 3 run');
  });

  it('a client that left wins over a later finish (ag-ui#2417)', () => {
    expect(fold([runStarted(), runFinished()], undefined, 'client_aborted').runs).toMatchObject([
      { ending: 'client_aborted' },
    ]);
  });

  it('RUN_ERROR may lack its message (ag-ui#880)', () => {
    expect(fold([runStarted(), { type: 'RUN_ERROR' }]).runs).toMatchObject([
      { ending: 'run_error', error: { message: '' } },
    ]);
  });

  it('null reads as absent (ag-ui#2816)', () => {
    const folded = fold([
      runStarted('run', { timestamp: null, input: null }),
      textStart('m1', { role: null, name: null }),
      text('m1', 'x'),
      textEnd('m1'),
      callStart('c1', { parentMessageId: null, subagentRunId: null }),
      callEnd('c1'),
      {
        type: 'MESSAGES_SNAPSHOT',
        messages: [{ ...assistant('m1', 'x'), name: null }, assistant('c1', undefined, 'c1')],
      },
      runFinished('run', { outcome: null, result: null }),
    ]);
    expect(sketch(folded)).toEqual(['assistant m1 | "x"', 'assistant c1 | "" | tides({"q":1}) complete']);
    expect(findingsOf(folded)).toEqual([
      'null_optional 0 RUN_STARTED',
      'null_optional 1 TEXT_MESSAGE_START',
      'null_optional 4 TOOL_CALL_START',
      'null_optional 6 m1',
      'null_optional 7 RUN_FINISHED',
    ]);
    expect(folded.ending).toBe('success');
  });

  it('snake_case is read (ag-ui#653)', () => {
    const folded = fold([
      { type: 'RUN_STARTED', thread_id: 't', run_id: 'r' },
      { type: 'TEXT_MESSAGE_START', message_id: 'm1' },
      { type: 'TEXT_MESSAGE_CONTENT', message_id: 'm1', delta: 'x' },
      { type: 'TEXT_MESSAGE_END', message_id: 'm1' },
      { type: 'TOOL_CALL_START', tool_call_id: 'c1', tool_call_name: 'tides', parent_message_id: 'm1' },
      { type: 'TOOL_CALL_END', tool_call_id: 'c1' },
      { type: 'TOOL_CALL_RESULT', tool_call_id: 'c1', message_id: 'r1', content: 'four' },
      { type: 'RUN_FINISHED', thread_id: 't', run_id: 'r' },
    ]);
    expect(sketch(folded)).toEqual(['assistant m1 | "x" | tides({}) answered', 'tool r1 | "four" | for c1']);
    expect(folded.runs).toMatchObject([{ threadId: 't', runId: 'r' }]);
    expect(new Set(folded.findings.map(({ code }) => code))).toEqual(new Set(['snake_case']));
  });

  it('reasoning under the role of an assistant is reasoning (ag-ui#1169)', () => {
    const folded = foldRun([
      { type: 'REASONING_MESSAGE_START', messageId: 'm1', role: 'assistant' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId: 'm1', delta: 'hm' },
      { type: 'REASONING_MESSAGE_END', messageId: 'm1' },
    ]);
    expect(folded.messages).toEqual([]);
    expect(folded.findings).toEqual([]);
  });

  it('an unknown type is counted and passed over (ag-ui#1632)', () => {
    const folded = foldRun([{ type: 'INCOMPLETE_STREAM' }, ...say('m1', 'x')]);
    expect(sketch(folded)).toEqual(['assistant m1 | "x"']);
    expect(findingsOf(folded)).toEqual(['unknown_event 1 INCOMPLETE_STREAM']);
    expect(folded.eventCounts.other).toBe(1);
  });

  it('a failed run is not the end of the stream (ag-ui#2408)', () => {
    const folded = fold([runStarted('r1'), runError('x'), runStarted('r2'), ...say('m1', 'y'), runFinished('r2')]);
    expect(folded.runs.map(({ ending }) => ending)).toEqual(['run_error', 'success']);
    expect(sketch(folded)).toEqual(['assistant m1 | "y"']);
  });

  it('the first RUN_ERROR is final (ag-ui#1892)', () => {
    const folded = fold([runStarted(), runError('tool threw'), runFinished(), runError('again')]);
    expect(folded.runs).toMatchObject([{ ending: 'run_error', error: { message: 'tool threw' } }]);
    expect(findingsOf(folded)).toEqual(['event_after_end 2 RUN_FINISHED', 'event_after_end 3 RUN_ERROR']);
  });

  it('an error after RUN_FINISHED makes the run a failed one', () => {
    const folded = fold([runStarted(), runFinished(), runError('late')]);
    expect(folded.runs).toMatchObject([{ ending: 'run_error', error: { message: 'late' } }]);
    expect(folded.findings).toEqual([]);
  });

  it('events behind the terminal event belong to the run that ended (ag-ui#2813)', () => {
    const folded = fold([
      runStarted(),
      callStart('c1'),
      textStart('m1'),
      runFinished(),
      args('c1', '{"q":1}'),
      callEnd('c1'),
      text('m1', 'x'),
      textEnd('m1'),
    ]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | tides({"q":1}) complete', 'assistant m1 | "x"']);
    expect(folded.runs).toMatchObject([{ ending: 'success' }]);
    expect(findingsOf(folded)).toEqual([
      'missing_end 3 m1',
      'missing_end 3 c1',
      'event_after_end 4 TOOL_CALL_ARGS',
      'event_after_end 5 TOOL_CALL_END',
      'event_after_end 6 TEXT_MESSAGE_CONTENT',
      'event_after_end 7 TEXT_MESSAGE_END',
    ]);
  });

  it('an interrupt closes an open call (agent-framework#8244)', () => {
    const outcome = { type: 'interrupt', interrupts: [{ id: 'i1', toolCallId: 'c1' }] };
    const folded = fold([runStarted(), callStart('c1'), args('c1', '{"q":1}'), runFinished('run', { outcome })]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | tides({"q":1}) complete']);
    expect(folded.ending).toBe('interrupt');
    expect(findingsOf(folded)).toEqual(['missing_end 3 c1']);
  });

  it('a stray piece of arguments behind END is dropped when they were whole (pydantic-ai#4733)', () => {
    const folded = foldRun([callStart('c1'), args('c1', '{"q":1'), args('c1', '}'), callEnd('c1'), args('c1', '}')]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | tides({"q":1}) complete']);
    expect(findingsOf(folded)).toEqual(['late_arguments 5 c1']);
  });

  it('calls that were never streamed are recovered from the snapshot (ag-ui#22)', () => {
    const folded = foldRun([...say('m1', 'Looking.'), snapshot(assistant('m1', 'Looking.', 'c1'))]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Looking." | tides({"q":1}) complete']);
  });

  it('a result under another id in the snapshot is the same result, in its place (ag-ui PR1745)', () => {
    const folded = foldRun([
      ...call('c1', '{"q":1}', { parentMessageId: 'a0' }),
      result('c1', 'four', 'a1'),
      ...say('a2', 'At four.'),
      snapshot(user('u1', 'Tide?'), assistant('a0', '', 'c1'), tool('z9', 'c1', 'four'), assistant('a2', 'At four.')),
    ]);
    expect(sketch(folded)).toEqual([
      'user u1 | "Tide?"',
      'assistant a0 | "" | tides({"q":1}) answered',
      'tool z9 | "four" | for c1',
      'assistant a2 | "At four."',
    ]);
    expect(folded.findings).toEqual([]);
  });

  it('a snapshot that splits a streamed message anew doubles nothing (agent-framework#7491)', () => {
    const streamed = [...say('m1', 'Looking.'), ...call('c1', '{"q":1}', { parentMessageId: 'm1' })];
    const calls = 'tides({"q":1}) complete';
    expect(
      sketch(foldRun([...streamed, snapshot(assistant('m1', undefined, 'c1'), assistant('m7', 'Looking.'))])),
    ).toEqual([`assistant m1 | "" | ${calls}`, 'assistant m7 | "Looking."']);
    expect(sketch(foldRun([...streamed, snapshot(assistant('m7', 'Looking.'), assistant('m8', '', 'c1'))]))).toEqual([
      'assistant m7 | "Looking."',
      `assistant m8 | "" | ${calls}`,
    ]);
    expect(sketch(foldRun([...streamed, snapshot(assistant('m9', 'Looking.', 'c1'))]))).toEqual([
      `assistant m9 | "Looking." | ${calls}`,
    ]);
  });

  it('a run that ends under another id is noted (ag-ui#1279)', () => {
    const folded = fold([runStarted('A'), runFinished('B')]);
    expect(folded.runs).toMatchObject([{ runId: 'A', ending: 'success' }]);
    expect(findingsOf(folded)).toEqual(['id_mismatch 1 B']);
  });

  it('a resume run may announce the interrupted call again (ag-ui#2014)', () => {
    const folded = foldRun([...call('c1', '{"q":1}'), result('c1', 'ok')], {
      threadId: 'thread',
      messages: [assistant('a1', '', 'c1')],
    });
    expect(sketch(folded)).toEqual(['assistant a1 | "" | tides({"q":1}) answered', 'tool r-c1 | "ok" | for c1']);
  });

  it('results that share one message id are told apart by their call (agent-framework#3962)', () => {
    const folded = foldRun([
      ...call('c1', '{}', { parentMessageId: 'a1' }),
      ...call('c2', '{}', { parentMessageId: 'a1' }),
      result('c1', 'one', 'm5'),
      result('c2', 'two', 'm5'),
      snapshot({ ...assistant('a1', '', 'c1', 'c2') }, tool('m5', 'c1', 'one'), tool('m5', 'c2', 'two')),
    ]);
    expect(sketch(folded).slice(1)).toEqual(['tool m5 | "one" | for c1', 'tool m5 | "two" | for c2']);
  });

  it('so are those of an echoed input', () => {
    const messages = [assistant('a1', '', 'c1', 'c2'), tool('m5', 'c1', 'one'), tool('m5', 'c2', 'two')];
    const folded = fold([runStarted('r1', { input: { messages } }), runStarted('r2', { input: { messages } })]);
    expect(sketch(folded).slice(1)).toEqual(['tool m5 | "one" | for c1', 'tool m5 | "two" | for c2']);
  });

  it('a parent may appear after its call, or never (ag-ui#1610)', () => {
    const folded = foldRun([
      ...say('m1', 'One.'),
      ...call('c1', '{}', { parentMessageId: 'm2' }),
      ...call('c2', '{}', { parentMessageId: 'm3' }),
      ...say('m2', 'Two.'),
    ]);
    expect(sketch(folded)).toEqual([
      'assistant m1 | "One."',
      'assistant m2 | "Two." | tides({}) complete',
      'assistant m3 | "" | tides({}) complete',
    ]);
  });

  it('an id that is used again around tool calls continues its message (ag-ui#1317)', () => {
    const folded = foldRun([...say('m1', 'One. '), ...call('c1'), ...say('m1', 'Two.')]);
    expect(sketch(folded)[0]).toBe('assistant m1 | "One. Two."');
  });

  it('an empty delta is no fault (pydantic-ai#4868)', () => {
    const folded = foldRun([textStart('m1'), text('m1', ''), textEnd('m1')]);
    expect(folded.findings).toEqual([]);
  });

  it('an error closes an open message as partial (agno#4668)', () => {
    const folded = fold([runStarted(), textStart('m1'), text('m1', 'Low'), runError('x')]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Low" | partial']);
  });

  it('a call without a result stays complete after a success (agent-framework#3790)', () => {
    const folded = foldRun([...call('c1')]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | tides({}) complete']);
    expect(folded.ending).toBe('success');
  });

  it('a message that is replayed behind a snapshot is not doubled (bk-aidev#669)', () => {
    const folded = foldRun([
      snapshot(assistant('m1', 'Hel')),
      textStart('m1'),
      text('m1', 'Hel'),
      text('m1', 'lo'),
      textEnd('m1'),
    ]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Hello"']);
  });

  it('a second run does not clear the interrupts of the first (ag-ui#2437)', () => {
    const outcome = { type: 'interrupt', interrupts: [{ id: 'i1' }] };
    const folded = fold([runStarted('r1'), runFinished('r1', { outcome }), runStarted('r2'), runFinished('r2')]);
    expect(folded.interrupts).toEqual([{ id: 'i1' }]);
  });

  it('an empty id in the binary transport is read as it is in SSE (ag-ui#2524)', async () => {
    const events = [runStarted(), ...say('', 'x'), runFinished()];
    const [binary, sse] = await Promise.all([
      foldBytes([encodeFrames(events)], 'protobuf'),
      foldBytes([encodeSse(events)]),
    ]);
    expect(sketch(binary)).toEqual(['assistant  | "x"']);
    expect(binary).toEqual(sse);
  });

  it('RUN_CANCELLED is a cancellation, with or without a finish behind it (ag-ui#2327)', () => {
    const folded = fold([runStarted(), textStart('m1'), text('m1', 'Low'), { type: 'RUN_CANCELLED' }]);
    expect(folded.ending).toBe('cancelled');
    expect(sketch(folded)).toEqual(['assistant m1 | "Low" | partial']);
    expect(findingsOf(folded)).toEqual(['unknown_event 3 RUN_CANCELLED', 'missing_end 3 m1']);
    expect(fold([runStarted(), { type: 'RUN_CANCELLED' }, runFinished()]).ending).toBe('cancelled');
  });

  it('messages of a request without ids get ids that are the same each time (agno#5519)', () => {
    const messages = [
      { role: 'user', content: 'Tide?' },
      { role: 'user', content: 'Tide?' },
    ];
    const ids = () => fold([runStarted(), runFinished()], { threadId: 't', messages }).input.map(({ id }) => id);
    expect(ids()).toEqual(ids());
    expect(new Set(ids()).size).toBe(2);
  });
});
