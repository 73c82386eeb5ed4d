import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FINDING_ID_CHARACTERS, FINDINGS_PER_CODE } from '../../src/agui/finding-log.ts';
import { MAX_INTERRUPTS } from '../../src/agui/interrupts.ts';
import type { StreamEnd } from '../../src/agui/run-log.ts';
import type { ToolCall } from '../../src/conversation/message.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { runFinished, runStarted, type WireEvent } from './reference-client.ts';
import {
  args,
  call,
  callEnd,
  callStart,
  findingsOf,
  fold,
  foldRun,
  result,
  say,
  sketch,
  snapshot,
  text,
  textEnd,
  textStart,
} from './streams.ts';

describe('text messages', () => {
  it('keep the position of their START and every role', () => {
    const folded = foldRun([
      textStart('m1'),
      ...['user', 'system', 'developer'].flatMap((role) => [
        textStart(role, { role }),
        text(role, role),
        textEnd(role),
      ]),
      text('m1', 'late'),
      textEnd('m1'),
    ]);
    expect(sketch(folded)).toEqual([
      'assistant m1 | "late"',
      'user user | "user"',
      'system system | "system"',
      'developer developer | "developer"',
    ]);
    expect(findingsOf(folded)).toEqual([]);
  });

  it('are appended to when their id is opened again after its END', () => {
    const folded = foldRun([...say('m1', 'Low at four.'), ...call('c1'), ...say('m1', ' High at ten.')]);
    expect(sketch(folded)).toEqual([
      'assistant m1 | "Low at four. High at ten."',
      'assistant c1 | "" | tides({}) complete',
    ]);
  });

  it('open by themselves when START is missing', () => {
    const folded = foldRun([text('m1', 'Low'), textEnd('m1')]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Low"']);
    expect(findingsOf(folded)).toEqual(['missing_start 1 m1']);
  });

  it('close at the end of the run when END is missing', () => {
    const folded = foldRun([textStart('m1'), text('m1', 'Low')]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Low" | partial']);
    expect(findingsOf(folded)).toEqual(['missing_end 3 m1']);
  });

  it('ignore a second START of an open id', () => {
    const folded = foldRun([textStart('m1'), text('m1', 'Low '), textStart('m1'), text('m1', 'tide'), textEnd('m1')]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Low tide"']);
    expect(findingsOf(folded)).toEqual(['duplicate_start 3 m1']);
  });

  it('go to the open message when content names none', () => {
    const folded = foldRun([
      textStart('m1'),
      { type: 'TEXT_MESSAGE_CONTENT', delta: 'Low' },
      { type: 'TEXT_MESSAGE_END' },
    ]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Low"']);
    expect(findingsOf(folded)).toEqual([
      'malformed_event 2 TEXT_MESSAGE_CONTENT',
      'malformed_event 3 TEXT_MESSAGE_END',
    ]);
  });

  it('keep content that is not text as the text it holds', () => {
    const parts = { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: [{ type: 'text', text: 'Low' }] };
    const number = { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm2', delta: 4 };
    const folded = foldRun([textStart('m1'), parts, textEnd('m1'), number]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Low"', 'assistant m2 | "4"']);
    expect(findingsOf(folded)).toEqual([
      'malformed_event 2 TEXT_MESSAGE_CONTENT',
      'malformed_event 4 TEXT_MESSAGE_CHUNK',
    ]);
  });

  it('replace a text from the request that the stream says again from its beginning', () => {
    const request = { threadId: 'thread', messages: [{ id: 'm1', role: 'assistant', content: 'Low at' }] };
    const again = foldRun(say('m1', 'Low at four.'), request);
    expect(sketch(again)).toEqual(['assistant m1 | "Low at four."']);
    const continued = foldRun(say('m1', ' four.'), request);
    expect(sketch(continued)).toEqual(['assistant m1 | "Low at four."']);
  });

  it('miss no END when the client left before it could come', () => {
    const folded = fold([runStarted(), textStart('m1'), text('m1', 'Low')], undefined, 'client_aborted');
    expect(sketch(folded)).toEqual(['assistant m1 | "Low" | partial']);
    expect(folded.findings).toEqual([]);
  });

  it('keep a known text when its replay breaks off', () => {
    const request = { threadId: 'thread', messages: [{ id: 'm1', role: 'assistant', content: 'Low at four.' }] };
    const folded = fold([runStarted(), textStart('m1'), text('m1', 'Low')], request);
    expect(sketch(folded)).toEqual(['assistant m1 | "Low at four." | partial']);
  });

  it('name the sub-agent that wrote them', () => {
    const folded = foldRun([textStart('m1', { subagentRunId: 's1' }), text('m1', 'x'), textEnd('m1')]);
    expect(folded.messages).toMatchObject([{ id: 'm1', subagent: 's1' }]);
  });
});

describe('tool calls', () => {
  it('hang on a known parent, on an unknown one by its id, and otherwise stand alone under their own', () => {
    const folded = foldRun([
      ...say('m1', 'Looking.'),
      ...call('c1', '{}', { parentMessageId: 'm1' }),
      ...call('c2', '{}', { parentMessageId: 'm9' }),
      ...call('c3'),
      ...say('m9', 'More.'),
    ]);
    expect(sketch(folded)).toEqual([
      'assistant m1 | "Looking." | tides({}) complete',
      'assistant m9 | "More." | tides({}) complete',
      'assistant c3 | "" | tides({}) complete',
    ]);
  });

  it.each([
    ['a user message', [textStart('x', { role: 'user' }), textEnd('x')], 1],
    ['a reasoning message', [{ type: 'REASONING_MESSAGE_START', messageId: 'x', role: 'reasoning' }], 0],
    ['an activity', [{ type: 'ACTIVITY_SNAPSHOT', messageId: 'x', activityType: 'plan', content: {} }], 0],
  ])('do not hang on %s', (_, parent, others) => {
    const folded = foldRun([...parent, ...call('c1', '{}', { parentMessageId: 'x' })]);
    expect(sketch(folded).slice(others)).toEqual(['assistant c1 | "" | tides({}) complete']);
  });

  it('take their results behind their caller, in the order these came', () => {
    const folded = foldRun([
      ...call('c1', '{}', { parentMessageId: 'm1' }),
      ...call('c2', '{}', { parentMessageId: 'm1' }),
      ...say('m2', 'Well.'),
      result('c2', 'two'),
      result('c1', 'one'),
    ]);
    expect(sketch(folded)).toEqual([
      'assistant m1 | "" | tides({}) answered | tides({}) answered',
      'tool r-c2 | "two" | for c2',
      'tool r-c1 | "one" | for c1',
      'assistant m2 | "Well."',
    ]);
  });

  it.each([
    ['', '{}', []],
    ['{"a":{"b":[1]}}', '{"a":{"b":[1]}}', []],
    [' {"a":1} ', '{"a":1}', []],
    ['{"a":', '{"unparsed":"{\\"a\\":"}', ['unparsed_arguments 3 c1']],
    ['[1]', '{"unparsed":"[1]"}', ['unparsed_arguments 3 c1']],
    ['null', '{"unparsed":"null"}', ['unparsed_arguments 3 c1']],
    ['  ', '{"unparsed":"  "}', ['unparsed_arguments 3 c1']],
    ['{"unparsed":"x"}', '{"unparsed":"x"}', []],
  ])('read the arguments %j as %s', (json, read, findings) => {
    const folded = foldRun(call('c1', json));
    expect(sketch(folded)).toEqual([`assistant c1 | "" | tides(${read}) complete`]);
    expect(findingsOf(folded)).toEqual(findings);
  });

  it('keep arguments as text that nest deeper than anyone could serialise again', () => {
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const [message] = foldRun(call('c1', deep)).messages;
    expect(message).toMatchObject({ toolCalls: [{ args: { unparsed: deep } }] });
  });

  it('end with the run when END is missing', () => {
    const folded = foldRun([callStart('c1'), args('c1', '{"a":1}')]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | tides({"a":1}) complete']);
    expect(findingsOf(folded)).toEqual(['missing_end 3 c1']);
  });

  it('stay open when the run broke off first', () => {
    const folded = fold([runStarted(), callStart('c1'), args('c1', '{"a"'), { type: 'RUN_ERROR', message: 'out' }]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | tides({"unparsed":"{\\"a\\""}) open']);
    expect(findingsOf(folded)).toEqual(['unparsed_arguments 2 c1', 'missing_end 3 c1']);
  });

  it('open by themselves when START is missing', () => {
    const folded = foldRun([args('c1', '{"a":1}'), callEnd('c1')]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | unknown_tool({"a":1}) complete']);
    expect(findingsOf(folded)).toEqual(['missing_start 1 c1']);
  });

  it('are one with arguments that came before their START, and go to the parent it names', () => {
    const folded = foldRun([
      ...say('m1', 'Looking.'),
      ...say('m2', 'Well.'),
      args('c1', '{"a"'),
      callStart('c1', { parentMessageId: 'm1' }),
      args('c1', ':1}'),
      callEnd('c1'),
    ]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Looking." | tides({"a":1}) complete', 'assistant m2 | "Well."']);
    expect(findingsOf(folded)).toEqual(['missing_start 7 c1']);
  });

  it('keep arguments that were sent as a value and not as its JSON', () => {
    const folded = foldRun([
      callStart('c1'),
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: { a: [1] } },
      callEnd('c1'),
      { type: 'TOOL_CALL_CHUNK', toolCallId: 'c2', toolCallName: 'fog', delta: { b: null } },
    ]);
    expect(sketch(folded)).toEqual([
      'assistant c1 | "" | tides({"a":[1]}) complete',
      'assistant c2 | "" | fog({"b":null}) complete',
    ]);
    expect(findingsOf(folded)).toEqual(['malformed_event 2 TOOL_CALL_ARGS', 'malformed_event 4 TOOL_CALL_CHUNK']);
  });

  it('take arguments behind END as long as they were not whole', () => {
    const folded = foldRun([...call('c1', '{"a":'), args('c1', '1}')]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | tides({"a":1}) complete']);
    expect(findingsOf(folded)).toEqual(['late_arguments 4 c1']);
  });

  it('begin anew when a later run announces them again', () => {
    const again = [...call('c1', '{"s":1}'), result('c1', 'done')];
    const folded = fold([
      runStarted('one'),
      ...call('c1', '{"s":1}'),
      runFinished('one'),
      runStarted('two'),
      ...again,
      runFinished('two'),
    ]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | tides({"s":1}) answered', 'tool r-c1 | "done" | for c1']);
    expect(findingsOf(folded)).toEqual(['duplicate_start 6 c1']);
    expect(folded.toolCalls).toHaveLength(1);
  });

  it('begin anew when the request knows them', () => {
    const made = { id: 'c1', type: 'function', function: { name: 'tides', arguments: '{"s":1}' } };
    const request = { threadId: 'thread', messages: [{ id: 'm1', role: 'assistant', toolCalls: [made] }] };
    const folded = foldRun(call('c1', '{"s":2}'), request);
    expect(sketch(folded)).toEqual(['assistant m1 | "" | tides({"s":2}) complete']);
    expect(sketch(foldRun([callStart('c1'), callEnd('c1')], request))).toEqual([
      'assistant m1 | "" | tides({"s":1}) complete',
    ]);
  });

  it('ignore a second announcement in the same run', () => {
    const twice = foldRun([...call('c1', '{"s":1}'), ...call('c1', '{"s":1}')]);
    expect(sketch(twice)).toEqual(['assistant c1 | "" | tides({"s":1}) complete']);
    expect(findingsOf(twice)).toEqual(['duplicate_start 4 c1', 'late_arguments 5 c1']);

    const open = foldRun([callStart('c1'), args('c1', '{"s":1}'), ...call('c1', '{"s":1}')]);
    expect(sketch(open)).toEqual(['assistant c1 | "" | tides({"s":1}) complete']);
    expect(findingsOf(open)).toEqual(['duplicate_start 3 c1', 'late_arguments 5 c1']);
  });
});

describe('the calls that were observed', () => {
  const step = fc.constantFrom<WireEvent>(
    ...['c1', 'c2'].flatMap((id) => [callStart(id), args(id, '{}'), callEnd(id), result(id, 'four')]),
    { type: 'TOOL_CALL_CHUNK', toolCallId: 'c1', toolCallName: 'tides', delta: '{' },
    runStarted('other'),
    runFinished(),
    { type: 'RUN_ERROR', message: 'no' },
    { type: 'RUN_FINISHED', threadId: 'thread', runId: 'run', outcome: { type: 'cancelled' } },
  );

  it('came exactly as far as the messages say', () => {
    const endings = fc.constantFrom<StreamEnd>('complete', 'unread', 'client_aborted', 'upstream_error');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), endings, (events, end) => {
        const folded = fold([runStarted(), ...events], undefined, end);
        const said = folded.messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []));
        const states = (calls: readonly Pick<ToolCall, 'id' | 'state'>[]) =>
          calls.map(({ id, state }) => `${id} ${state}`).toSorted();
        expect(states(folded.toolCalls)).toEqual(states(said));
      }),
    );
  });

  it('are complete when their run finished without ending them, and open when it broke off', () => {
    const events = [runStarted(), callStart('c1'), args('c1', '{}')];
    expect(fold([...events, runFinished()]).toolCalls).toMatchObject([{ id: 'c1', state: 'complete' }]);
    expect(fold([...events, { type: 'RUN_ERROR', message: 'no' }]).toolCalls).toMatchObject([{ state: 'open' }]);
  });
});

describe('tool results', () => {
  it('make the call that nobody announced', () => {
    const folded = foldRun([result('c1', 'ok')]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | unknown_tool({}) answered', 'tool r-c1 | "ok" | for c1']);
    expect(findingsOf(folded)).toEqual(['orphan_result 1 c1']);
  });

  it('are joined by an announcement that comes after them', () => {
    const folded = foldRun([result('c1', 'ok'), ...call('c1', '{"a":1}')]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | tides({"a":1}) answered', 'tool r-c1 | "ok" | for c1']);
    expect(folded.findings).toEqual([]);
  });

  it.each([
    ['known', 'm1', ['assistant m1 | "Looking." | tides({}) answered | tides({}) answered']],
    ['unknown', 'm9', ['assistant m1 | "Looking."', 'assistant m9 | "" | tides({}) answered | tides({}) answered']],
  ])('follow their calls to a parent that is %s when these are announced after them', (_, parentMessageId, callers) => {
    const folded = foldRun([
      ...say('m1', 'Looking.'),
      result('c1', 'one'),
      result('c2', 'two'),
      callStart('c1', { parentMessageId }),
      callStart('c2', { parentMessageId }),
      callEnd('c2'),
      args('c1', '{}'),
      callEnd('c1'),
      ...say('m2', 'Done.'),
    ]);
    expect(sketch(folded)).toEqual([
      ...callers,
      'tool r-c1 | "one" | for c1',
      'tool r-c2 | "two" | for c2',
      'assistant m2 | "Done."',
    ]);
    expect(folded.findings).toEqual([]);
  });

  it('leave behind what else hangs on the message that was made up for their call', () => {
    const folded = foldRun([
      ...say('m1', 'Looking.'),
      result('c1', 'one'),
      ...call('c2', '{}', { parentMessageId: 'c1' }),
      result('c2', 'two'),
      ...call('c1', '{}', { parentMessageId: 'm1' }),
      callStart('c2', { parentMessageId: 'm1' }),
      callEnd('c2'),
    ]);
    expect(sketch(folded)).toEqual([
      'assistant m1 | "Looking." | tides({}) answered',
      'tool r-c1 | "one" | for c1',
      'assistant c1 | "" | tides({}) answered',
      'tool r-c2 | "two" | for c2',
    ]);
  });

  it('take the name and arguments of their call from the echoed input of the next run, which tells its message', () => {
    const made = { id: 'c1', type: 'function', function: { name: 'book', arguments: '{"berth":7}' } };
    const messages = [
      { id: 'u1', role: 'user', content: 'Now?' },
      { id: 'm1', role: 'assistant', content: 'Booking.', toolCalls: [made] },
      { id: 'r-c1', role: 'tool', toolCallId: 'c1', content: 'ok' },
    ];
    const stream = [
      runStarted('one'),
      result('c1', 'ok'),
      runFinished('one'),
      runStarted('two', { input: { messages } }),
      ...say('m2', 'Done.'),
      runFinished('two'),
    ];
    expect(sketch(fold(stream))).toEqual([
      'assistant m1 | "Booking." | book({"berth":7}) answered',
      'tool r-c1 | "ok" | for c1',
      'user u1 | "Now?"',
      'assistant m2 | "Done."',
    ]);
    expect(findingsOf(fold(stream))).toEqual(['orphan_result 1 c1']);
    const announced = fold([...stream.slice(0, -1), ...call('c1', '{"berth":7}'), runFinished('two')]);
    expect(sketch(announced)[0]).toBe('assistant m1 | "Booking." | tides({"berth":7}) answered');
  });

  it('take the name and arguments of their call from an interrupt', () => {
    const value = JSON.stringify({ toolCallId: 'c1', toolName: 'book', args: { berth: 7 } });
    const folded = foldRun([{ type: 'CUSTOM', name: 'on_interrupt', value }, result('c1', 'ok')]);
    expect(sketch(folded)[0]).toBe('assistant c1 | "" | book({"berth":7}) answered');
  });

  it('take them from a snapshot that comes later', () => {
    const made = { id: 'c1', type: 'function', function: { name: 'book', arguments: '{"berth":7}' } };
    const messages = [
      { id: 'm1', role: 'assistant', toolCalls: [made] },
      { id: 'r1', role: 'tool', toolCallId: 'c1', content: 'ok' },
    ];
    const folded = foldRun([result('c1', 'ok'), { type: 'MESSAGES_SNAPSHOT', messages }]);
    expect(sketch(folded)).toEqual(['assistant m1 | "" | book({"berth":7}) answered', 'tool r1 | "ok" | for c1']);
  });

  it('are both kept when a call has two within a run', () => {
    const folded = foldRun([...call('c1'), result('c1', 'one', 'r1'), result('c1', 'two', 'r2')]);
    expect(sketch(folded).slice(1)).toEqual(['tool r1 | "one" | for c1', 'tool r2 | "two" | for c1']);
    expect(findingsOf(folded)).toEqual(['duplicate_result 5 c1']);
  });

  it('are not doubled when the stream says again what the request brought', () => {
    const made = { id: 'c1', type: 'function', function: { name: 'tides', arguments: '{}' } };
    const messages = [
      { id: 'm1', role: 'assistant', toolCalls: [made] },
      { id: 'r1', role: 'tool', toolCallId: 'c1', content: 'four' },
    ];
    const folded = foldRun([result('c1', 'four', 'r9')], { threadId: 'thread', messages });
    expect(sketch(folded).slice(1)).toEqual(['tool r1 | "four" | for c1']);
  });

  it('keep the text of their parts and name the rest', () => {
    const content = [
      { type: 'text', text: 'Chart: ' },
      { type: 'image', source: { type: 'data', value: 'AAAA', mimeType: 'image/png' } },
      { type: 'text', text: 'done' },
    ];
    const folded = foldRun([...call('c1'), result('c1', content)]);
    expect(folded.messages[1]).toMatchObject({
      text: 'Chart: done',
      attachments: [{ type: 'image', mimeType: 'image/png', bytes: 3 }],
    });
  });
});

describe('runs', () => {
  it('may follow each other in one stream', () => {
    const folded = fold([
      runStarted('one'),
      ...say('m1', 'x'),
      { type: 'RUN_ERROR', message: 'no', code: 'E' },
      runStarted('two', { parentRunId: 'one' }),
      ...say('m2', 'y'),
      runFinished('two', { usage: [{ inputTokens: 2, outputTokens: 1 }, { input_tokens: 3 }] }),
    ]);
    expect(folded.runs).toEqual([
      { threadId: 'thread', runId: 'one', ending: 'run_error', usage: null, error: { message: 'no', code: 'E' } },
      {
        threadId: 'thread',
        runId: 'two',
        parentRunId: 'one',
        ending: 'success',
        usage: { inputTokens: 5, outputTokens: 1 },
      },
    ]);
    expect(folded.ending).toBe('success');
  });

  it.each([
    [{}, 'success'],
    [{ outcome: { type: 'success', pendingToolCallIds: ['c1'] } }, 'success'],
    [{ outcome: { type: 'interrupt', interrupts: [{ id: 'i1' }] } }, 'interrupt'],
    [{ outcome: { type: 'cancelled' } }, 'cancelled'],
    [{ outcome: null }, 'success'],
    [{ outcome: 'interrupt', interrupt: { id: 'i1' } }, 'interrupt'],
    [{ outcome: { type: 'postponed' } }, 'success'],
  ])('end as %j says', (more, ending) => {
    expect(fold([runStarted(), runFinished('run', more)]).ending).toBe(ending);
  });

  it.each([
    ['complete', 'truncated'],
    ['client_aborted', 'client_aborted'],
    ['upstream_error', 'upstream_error'],
    ['unread', 'truncated'],
  ] as const)('without a terminal event end by the transport: %s is %s', (end, ending) => {
    const folded = fold([runStarted(), ...say('m1', 'x')], undefined, end);
    expect(folded.ending).toBe(ending);
    expect(findingsOf(folded)).toEqual(end === 'complete' ? ['no_terminal_event 4 run'] : []);
  });

  it('are client_aborted when the client left, whatever the agent sent', () => {
    expect(fold([runStarted(), runFinished()], undefined, 'client_aborted').ending).toBe('client_aborted');
  });

  it('keep their own failure when the connection broke after it', () => {
    expect(fold([runStarted(), { type: 'RUN_ERROR', message: 'x' }], undefined, 'upstream_error').ending).toBe(
      'run_error',
    );
    expect(fold([runStarted(), runFinished()], undefined, 'upstream_error').ending).toBe('upstream_error');
  });

  it('begin by themselves when RUN_STARTED is missing, and take its ids when it is late', () => {
    const missing = fold([...say('m1', 'x'), runFinished()]);
    expect(missing.runs).toMatchObject([{ runId: '', ending: 'success' }]);
    expect(findingsOf(missing)).toEqual(['missing_start 0 RUN_STARTED']);
    const late = fold([{ type: 'STATE_SNAPSHOT', snapshot: {} }, runStarted('one'), runFinished('one')]);
    expect(late.runs).toMatchObject([{ runId: 'one', ending: 'success' }]);
  });

  it('are cut off by a run that starts before they end', () => {
    const folded = fold([runStarted('one'), textStart('m1'), runStarted('two'), runFinished('two')]);
    expect(folded.runs).toMatchObject([
      { runId: 'one', ending: 'truncated' },
      { runId: 'two', ending: 'success' },
    ]);
    expect(findingsOf(folded)).toEqual(['missing_end 2 m1', 'no_terminal_event 2 one']);
  });

  it('are one when they are announced twice', () => {
    const folded = fold([runStarted('one'), runStarted('one'), runFinished('one')]);
    expect(folded.runs).toHaveLength(1);
    expect(findingsOf(folded)).toEqual(['duplicate_start 1 one']);
  });

  it('add messages of an echoed input only when their id is unknown', () => {
    const request = { threadId: 'thread', runId: 'run', messages: [{ id: 'u1', role: 'user', content: 'Tide?' }] };
    const echoed = [
      { id: 'u1', role: 'user', content: 'other' },
      { id: 'u2', role: 'user', content: 'Now?' },
    ];
    const folded = fold([runStarted('run', { input: { messages: echoed } }), runFinished()], request);
    expect(sketch(folded)).toEqual(['user u1 | "Tide?"', 'user u2 | "Now?"']);
    expect(folded.input.map(({ id }) => id)).toEqual(['u1']);
    expect(folded.output.map(({ id }) => id)).toEqual(['u2']);
  });

  it('do not double a call that an echoed input holds in a message of another id', () => {
    const made = { id: 'c1', type: 'function', function: { name: 'tides', arguments: '{}' } };
    const messages = [
      { id: 'u1', role: 'user', content: 'Now?' },
      { id: 'x1', role: 'assistant', toolCalls: [made] },
      { id: 't1', role: 'tool', toolCallId: 'c1', content: 'four' },
    ];
    const input = { messages };
    const folded = fold([runStarted('one'), ...call('c1'), runFinished('one'), runStarted('two', { input })]);
    expect(sketch(folded)).toEqual([
      'assistant c1 | "" | tides({}) answered',
      'tool t1 | "four" | for c1',
      'user u1 | "Now?"',
    ]);
  });

  it('note ids that differ from the request or change on the way', () => {
    const request = { threadId: 'thread', runId: 'asked', messages: [] };
    const folded = fold([runStarted('own'), runFinished('other', { threadId: 'elsewhere' })], request);
    expect(findingsOf(folded)).toEqual(['id_mismatch 0 own', 'id_mismatch 1 other', 'id_mismatch 1 elsewhere']);
  });
});

describe('output', () => {
  it('holds what the stream brought and what it changed of the request', () => {
    const made = { id: 'c1', type: 'function', function: { name: 'tides', arguments: '{}' } };
    const messages = [
      { id: 'u1', role: 'user', content: 'Tide?' },
      { id: 'm1', role: 'assistant', toolCalls: [made] },
    ];
    const folded = foldRun([result('c1', 'four'), ...say('m2', 'At four.')], { threadId: 'thread', messages });
    expect(folded.output.map(({ id }) => id)).toEqual(['m1', 'r-c1', 'm2']);
  });
});

describe('events', () => {
  it('are counted by type, unknown ones together', () => {
    const folded = foldRun([{ type: 'META', metaType: 'thumbs' }, { type: 'X' }, { type: 'RAW', event: 1 }]);
    expect(folded.eventCounts).toEqual({ RUN_STARTED: 1, other: 2, RAW: 1, RUN_FINISHED: 1 });
  });

  it.each([
    ['usage', runFinished('run', { usage: [{ inputTokens: null, output_tokens: 3 }, { input_tokens: 2 }] })],
    [
      'an outcome',
      runFinished('run', { outcome: { type: 'success', pendingToolCallIds: null, pending_tool_call_ids: [] } }),
    ],
    [
      'interrupts',
      runFinished('run', { outcome: { type: 'interrupt', interrupts: [{ interrupt_id: 'i1', toolCallId: null }] } }),
    ],
    ['the usage of a failure', { type: 'RUN_ERROR', message: 'x', usage: [{ input_tokens: 1, outputTokens: null }] }],
    ['an echoed input', runStarted('two', { input: { thread_id: 't', messages: null } })],
    ['parts of a result', result('c1', [{ type: 'image', id: null, source: { type: 'url', mime_type: 'image/png' } }])],
    [
      'calls of a snapshot',
      snapshot({
        id: 'm',
        role: 'assistant',
        toolCalls: [{ id: 'c1', encrypted_value: 'x', function: { name: null } }],
      }),
    ],
    [
      'parts of a snapshot',
      snapshot({ id: 'm', role: 'user', content: [{ type: 'image', id: null, source: { mime_type: 'a/b' } }] }),
    ],
  ])('are noted once for null and once for snake_case in %s', (_, event) => {
    const codes = fold([runStarted(), ...call('c1'), event])
      .findings.filter(({ at }) => at === 4)
      .map(({ code }) => code);
    expect(codes.filter((code) => code === 'null_optional' || code === 'snake_case').toSorted()).toEqual([
      'null_optional',
      'snake_case',
    ]);
  });

  it('are not noted for what is open to any value, nor the request for anything', () => {
    const request = {
      thread_id: 'thread',
      messages: [{ id: 'm', role: 'assistant', content: null, tool_calls: [{ id: 'c', function: { name: null } }] }],
    };
    const value = { tool_call_id: 'c1', toolName: null };
    const interrupts = [{ id: 'i1', metadata: { frame: { tool_name: 'book', args: null } } }];
    const folded = fold(
      [
        runStarted(),
        { type: 'CUSTOM', name: 'on_interrupt', value },
        runFinished('run', { outcome: { type: 'interrupt', interrupts } }),
      ],
      request,
    );
    expect(folded.findings).toEqual([]);
  });

  it('are noted once for each code, whatever number of faults they have', () => {
    const folded = foldRun([
      { type: 'TOOL_CALL_RESULT', content: { ok: true } },
      { type: 'MESSAGES_SNAPSHOT', messages: [null, { id: 'a', role: 'robot' }, { id: 'b', role: 'pilot' }] },
    ]);
    const malformed = folded.findings.filter(({ code }) => code === 'malformed_event');
    expect(malformed).toEqual([
      { code: 'malformed_event', at: 1, id: 'TOOL_CALL_RESULT' },
      { code: 'malformed_event', at: 2, id: '' },
    ]);
  });

  it('that are retired are read as their successors', () => {
    const folded = foldRun([
      { type: 'THINKING_START', title: 'plan' },
      { type: 'THINKING_TEXT_MESSAGE_START' },
      { type: 'THINKING_TEXT_MESSAGE_CONTENT', delta: '' },
      { type: 'THINKING_TEXT_MESSAGE_END' },
      { type: 'THINKING_END' },
    ]);
    expect(folded.messages).toEqual([]);
    expect(folded.eventCounts.THINKING_START).toBe(1);
    expect(folded.findings.map(({ code }) => code)).toEqual(Array.from({ length: 5 }, () => 'retired_event'));
  });

  it('never give away an encrypted value', () => {
    const secret = 'b64-of-a-thought';
    const folded = fold(
      [
        runStarted('run', { input: { messages: [{ id: 'u2', role: 'user', content: 'x', encryptedValue: secret }] } }),
        { type: 'REASONING_ENCRYPTED_VALUE', subtype: 'message', entityId: 'm1', encryptedValue: secret },
        {
          type: 'MESSAGES_SNAPSHOT',
          messages: [
            {
              id: 'm1',
              role: 'assistant',
              content: 'x',
              encryptedValue: secret,
              toolCalls: [
                { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' }, encryptedValue: secret },
              ],
            },
          ],
        },
        runFinished(),
      ],
      { threadId: 'thread', messages: [{ id: 'u1', role: 'user', content: 'x', encrypted_value: secret }] },
    );
    expect(JSON.stringify(folded)).not.toContain(secret);
  });

  it('leave findings up to a bound, and the number of the rest', () => {
    const folded = foldRun(Array.from({ length: FINDINGS_PER_CODE + 5 }, () => ({ type: 'X' })));
    expect(folded.findings).toHaveLength(FINDINGS_PER_CODE);
    expect(folded.findingsDropped).toEqual([{ code: 'unknown_event', count: 5 }]);
  });

  it.each(['TEXT_MESSAGE_CHUNK', 'TOOL_CALL_CHUNK'])('leave no long id in each finding about it, in %s', (type) => {
    const id = 'x'.repeat(10_000);
    const named =
      type === 'TEXT_MESSAGE_CHUNK' ? { messageId: id, role: 'user' } : { toolCallId: id, toolCallName: 'a' };
    const again = type === 'TEXT_MESSAGE_CHUNK' ? { role: 'system' } : { toolCallName: 'b' };
    const folded = foldRun([{ type, ...named }, ...Array.from({ length: 10 }, () => ({ type, ...again }))]);
    expect(folded.findings).toHaveLength(10);
    for (const finding of folded.findings) expect(finding.id).toBe(id.slice(0, FINDING_ID_CHARACTERS));
  });
});

describe('interrupts', () => {
  it('come from the outcome and from custom events, one for each call', () => {
    const value = JSON.stringify({ type: 'mastra_suspend', toolCallId: 'c1', toolName: 'book', args: { berth: 7 } });
    const interrupts = [{ id: 'i1', reason: 'approval', toolCallId: 'c1' }];
    const folded = foldRun([{ type: 'CUSTOM', name: 'on_interrupt', value }]);
    expect(folded.ending).toBe('interrupt');
    expect(folded.interrupts).toEqual([{ id: 'c1', toolCallId: 'c1', toolName: 'book', args: { berth: 7 } }]);

    const both = fold([
      runStarted(),
      { type: 'CUSTOM', name: 'on_interrupt', value },
      runFinished('run', { outcome: { type: 'interrupt', interrupts } }),
    ]);
    expect(both.interrupts).toEqual([{ id: 'i1', toolCallId: 'c1', toolName: 'book', args: { berth: 7 } }]);
  });

  it('are kept up to a bound, and the rest is noted', () => {
    const raise = (n: number) => ({ type: 'CUSTOM', name: 'on_interrupt', value: { id: `i${n}` } });
    const folded = foldRun(Array.from({ length: MAX_INTERRUPTS + 2 }, (_, n) => raise(n)));
    expect(folded.interrupts).toHaveLength(MAX_INTERRUPTS);
    expect(findingsOf(folded)).toEqual([
      `truncated_tap ${MAX_INTERRUPTS + 1} i${MAX_INTERRUPTS}`,
      `truncated_tap ${MAX_INTERRUPTS + 2} i${MAX_INTERRUPTS + 1}`,
    ]);
  });

  it('leave out arguments that nest too deep to be written down again', () => {
    const nested = (depth: number): JsonObject =>
      JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`) as JsonObject;
    const interrupt = (waiting: JsonObject) => ({ id: 'i1', toolCallId: 'c1', toolName: 'book', args: waiting });
    const without = { id: 'i1', toolCallId: 'c1', toolName: 'book' };
    for (const [given, expected] of [
      [nested(400), interrupt(nested(400))],
      [nested(501), without],
      [nested(8000), without],
      [{ list: [[nested(8000)]] }, without],
    ] as const) {
      const ways = [
        { type: 'CUSTOM', name: 'on_interrupt', value: interrupt(given) },
        runFinished('run', { outcome: { type: 'interrupt', interrupts: [interrupt(given)] } }),
      ];
      for (const event of ways) expect(fold([runStarted(), event]).interrupts).toEqual([expected]);
      const answering = { messages: [], forwardedProps: { command: { resume: 1, interruptEvent: interrupt(given) } } };
      const folded = fold([runStarted(), result('c1', 'ok'), runFinished()], answering);
      expect(() => JSON.stringify(folded)).not.toThrow();
    }
  });

  it('of a custom event that names nothing give way to the list in the outcome', () => {
    const folded = fold([
      runStarted(),
      { type: 'CUSTOM', name: 'on_interrupt', value: 'Book berth 7?' },
      runFinished('run', { outcome: { type: 'interrupt', interrupts: [{ id: 'i1' }] } }),
    ]);
    expect(folded.interrupts).toEqual([{ id: 'i1' }]);
    expect(foldRun([{ type: 'CUSTOM', name: 'on_interrupt', value: 'Book?' }]).interrupts).toEqual([
      { id: 'on_interrupt-1' },
    ]);
  });

  it('take the call from the framework metadata of the outcome', () => {
    const interrupt = { id: 'i1', toolCallId: 'c1', metadata: { frame: { toolName: 'book', args: { berth: 7 } } } };
    const folded = fold([
      runStarted(),
      runFinished('run', { outcome: { type: 'interrupt', interrupts: [interrupt] } }),
    ]);
    expect(folded.interrupts).toEqual([{ id: 'i1', toolCallId: 'c1', toolName: 'book', args: { berth: 7 } }]);
  });
});
