import { describe, expect, it } from 'vitest';
import { MAX_SNAPSHOT_ITEMS } from '../../src/agui/fold-snapshot.ts';
import {
  call,
  callStart,
  args,
  callEnd,
  findingsOf,
  foldRun,
  result,
  say,
  sketch,
  snapshot,
  text,
  textEnd,
  textStart,
} from './streams.ts';

const user = (id: string, content: string) => ({ id, role: 'user', content });
const assistant = (id: string, content: string) => ({ id, role: 'assistant', content });
const caller = (id: string, content: string, calls: Readonly<Record<string, string>>) => ({
  ...assistant(id, content),
  toolCalls: Object.entries(calls).map(([callId, json]) => ({
    id: callId,
    type: 'function',
    function: { name: 'tides', arguments: json },
  })),
});

describe('a snapshot', () => {
  it('replaces what it holds under the same id', () => {
    const folded = foldRun([...say('m1', 'Low at four.'), snapshot(assistant('m1', 'Low at five.'))]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Low at five."']);
  });

  it('keeps and marks what it leaves out, where it stood, once', () => {
    const folded = foldRun([
      ...say('m1', 'One.'),
      ...say('m2', 'Two.'),
      ...say('m3', 'Three.'),
      snapshot(assistant('m1', 'One.'), assistant('m3', 'Three.'), user('u1', 'More?')),
      snapshot(assistant('m1', 'One.'), assistant('m3', 'Three.'), user('u1', 'More?')),
    ]);
    expect(sketch(folded)).toEqual([
      'assistant m1 | "One."',
      'assistant m2 | "Two." | omitted',
      'assistant m3 | "Three."',
      'user u1 | "More?"',
    ]);
    expect(findingsOf(folded)).toEqual(['snapshot_omits 10 m2']);
  });

  it('unmarks what a later one holds again', () => {
    const folded = foldRun([...say('m1', 'One.'), snapshot(), snapshot(assistant('m1', 'One.'))]);
    expect(sketch(folded)).toEqual(['assistant m1 | "One."']);
  });

  it('decides the order', () => {
    const folded = foldRun([
      ...say('m1', 'One.'),
      ...say('m2', 'Two.'),
      snapshot(user('u1', 'Count.'), assistant('m2', 'Two.'), assistant('m1', 'One.')),
    ]);
    expect(sketch(folded)).toEqual(['user u1 | "Count."', 'assistant m2 | "Two."', 'assistant m1 | "One."']);
  });

  it('knows messages by their text when their ids differ, and takes its own ids over', () => {
    const request = { threadId: 'thread', messages: [user('u1', 'Count.')] };
    const folded = foldRun(
      [
        ...say('m1', 'One.'),
        ...say('m2', 'One.'),
        snapshot(user('x0', 'Count.'), assistant('x1', 'One.'), assistant('x2', 'One.')),
      ],
      request,
    );
    expect(sketch(folded)).toEqual(['user x0 | "Count."', 'assistant x1 | "One."', 'assistant x2 | "One."']);
    expect(folded.findings).toEqual([]);
  });

  it('lets the stream go on under the id it replaced', () => {
    const folded = foldRun([
      textStart('m1'),
      text('m1', 'Low '),
      snapshot(assistant('x1', 'Low ')),
      text('m1', 'at four.'),
      textEnd('m1'),
    ]);
    expect(sketch(folded)).toEqual(['assistant x1 | "Low at four."']);
    expect(folded.findings).toEqual([]);
  });

  it.each(['m1', 'c1', 'x1'])('joins text and a call that were streamed apart, under its id %s', (id) => {
    const folded = foldRun([
      ...say('m1', 'Looking.'),
      ...call('c1', '{"n":1}'),
      result('c1', 'one'),
      snapshot(caller(id, 'Looking.', { c1: '{"n":1}' }), { id: 't1', role: 'tool', toolCallId: 'c1', content: 'one' }),
      ...say('m2', 'Done.'),
    ]);
    expect(sketch(folded)).toEqual([
      `assistant ${id} | "Looking." | tides({"n":1}) answered`,
      'tool t1 | "one" | for c1',
      'assistant m2 | "Done."',
    ]);
    expect(folded.findings).toEqual([]);
  });

  it('joins a call to an equal text of its own turn alone', () => {
    const folded = foldRun([
      ...say('m1', 'Looking.'),
      textStart('u1', { role: 'user' }),
      text('u1', 'Again?'),
      textEnd('u1'),
      ...call('c1'),
      snapshot(user('u1', 'Again?'), caller('x1', 'Looking.', { c1: '{}' })),
    ]);
    expect(sketch(folded)).toEqual([
      'assistant m1 | "Looking." | omitted',
      'user u1 | "Again?"',
      'assistant x1 | "Looking." | tides({}) complete',
    ]);
  });

  it('joins neighbouring texts that come to its own', () => {
    const pieces = [...say('m1', 'Low'), ...say('m2', ' '), textStart('m3'), text('m3', 'tide')];
    const folded = foldRun([...pieces, snapshot(assistant('x1', 'Low tide')), text('m3', ' at four.'), textEnd('m3')]);
    expect(sketch(folded)).toEqual(['assistant x1 | "Low tide at four."']);
    expect(folded.findings).toEqual([]);
    const whole = snapshot(caller('x1', 'Low tide', { c1: '{}' }));
    expect(sketch(foldRun([...pieces, textEnd('m3'), ...call('c1'), whole]))).toEqual([
      'assistant x1 | "Low tide" | tides({}) complete',
    ]);
  });

  it('does not join texts that come to another one, or that others stand between', () => {
    const pieces = [...say('m1', 'Low '), ...say('m2', 'tide')];
    expect(sketch(foldRun([...pieces, snapshot(assistant('x1', 'Low tides'))]))).toHaveLength(3);
    expect(
      sketch(
        foldRun([...say('m1', 'Low '), ...call('c1'), ...say('m2', 'tide'), snapshot(assistant('x1', 'Low tide'))]),
      ),
    ).toHaveLength(4);
  });

  it.each([
    ['ahead of the stream', 'Low at four', ['Low at ', 'fo'], ['ur']],
    ['ahead of the stream, which goes on', 'Low at four', ['Low at '], ['four', ' and ten']],
    ['ahead of a stream that ends behind it', 'Low at four', ['Low at '], ['fo']],
    ['ahead of a stream that goes on from it', 'Low at four', ['Low at '], [' and ten']],
    ['behind the stream', 'Low at', ['Low at ', 'fo'], ['ur']],
  ])('of a message under way and under another id may be %s', (_, stated, before, after) => {
    const folded = foldRun([
      textStart('m1'),
      ...before.map((delta) => text('m1', delta)),
      snapshot(user('u1', 'Tide?'), assistant('x1', stated)),
      ...after.map((delta) => text('m1', delta)),
      textEnd('m1'),
    ]);
    const said = after.at(-1) === ' and ten' ? 'Low at four and ten' : 'Low at four';
    expect(sketch(folded)).toEqual(['user u1 | "Tide?"', `assistant x1 | "${said}"`]);
    expect(folded.findings).toEqual([]);
  });

  it('of a message under way does not take an earlier message for it', () => {
    const folded = foldRun([
      textStart('m1'),
      text('m1', 'Low'),
      snapshot(assistant('x0', 'Low at four.'), user('u1', 'Now?')),
      text('m1', 'er.'),
      textEnd('m1'),
    ]);
    expect(sketch(folded)).toContain('assistant m1 | "Lower." | omitted');
  });

  it('gathers calls that were streamed apart, with their results', () => {
    const folded = foldRun([
      ...call('c1', '{"n":1}'),
      ...call('c2', '{"n":2}'),
      result('c1', 'one'),
      result('c2', 'two'),
      snapshot(
        caller('x1', '', { c1: '{"n":1}', c2: '{"n":2}' }),
        { id: 't1', role: 'tool', toolCallId: 'c1', content: 'one' },
        { id: 't2', role: 'tool', toolCallId: 'c2', content: 'two' },
      ),
      ...say('m1', 'Done.'),
    ]);
    expect(sketch(folded)).toEqual([
      'assistant x1 | "" | tides({"n":1}) answered | tides({"n":2}) answered',
      'tool t1 | "one" | for c1',
      'tool t2 | "two" | for c2',
      'assistant m1 | "Done."',
    ]);
    expect(folded.findings).toEqual([]);
  });

  it('keeps text and calls that were streamed and that it has nowhere', () => {
    const folded = foldRun([
      ...say('m1', 'Looking.'),
      ...call('c1', '{"n":1}', { parentMessageId: 'm1' }),
      ...call('c2', '{"n":2}', { parentMessageId: 'm1' }),
      snapshot({ id: 'm1', role: 'assistant', toolCalls: caller('', '', { c2: '' }).toolCalls }),
    ]);
    expect(sketch(folded)).toEqual(['assistant m1 | "Looking." | tides({"n":2}) complete | tides({"n":1}) complete']);
  });

  it('in the midst of arguments is continued by them', () => {
    const folded = foldRun([
      callStart('c1'),
      args('c1', '{"n"'),
      snapshot(caller('c1', '', { c1: '{"n"' })),
      args('c1', ':1}'),
      callEnd('c1'),
    ]);
    expect(sketch(folded)).toEqual(['assistant c1 | "" | tides({"n":1}) complete']);
  });

  it('takes a result that follows it as the one it holds', () => {
    const folded = foldRun([
      ...call('c1'),
      snapshot(caller('c1', '', { c1: '{}' }), { id: 't1', role: 'tool', toolCallId: 'c1', content: 'one' }),
      result('c1', 'one'),
    ]);
    expect(sketch(folded).slice(1)).toEqual(['tool t1 | "one" | for c1']);
  });

  it('leaves out what is no message, with a finding', () => {
    const folded = foldRun([
      snapshot({ id: 'z', role: 'robot', content: 'beep' }, user('u1', 'Hi.')),
      { type: 'MESSAGES_SNAPSHOT', messages: 'none' },
    ]);
    expect(sketch(folded)).toEqual(['user u1 | "Hi."']);
    expect(findingsOf(folded)).toEqual(['malformed_event 1 z', 'malformed_event 2 messages']);
  });

  it('says what the arguments are that are no JSON object', () => {
    const folded = foldRun([snapshot(caller('m1', '', { c1: 'oops' }))]);
    expect(sketch(folded)).toEqual(['assistant m1 | "" | tides({"unparsed":"oops"}) complete']);
    expect(findingsOf(folded)).toEqual(['unparsed_arguments 1 c1']);
  });

  it('changes nothing of what is the same', () => {
    const request = { threadId: 'thread', messages: [user('u1', 'Count.'), caller('m1', 'One.', { c1: '{}' })] };
    const folded = foldRun([snapshot(user('u1', 'Count.'), caller('m1', 'One.', { c1: '{}' }))], request);
    expect(folded.output).toEqual([]);
  });

  it('is not applied any more when many small ones of a long conversation would take minutes', () => {
    const messages = Array.from({ length: 2000 }, (_, index) => user(`u${index}`, `${index}`));
    const folded = foldRun(
      Array.from({ length: 300 }, () => snapshot()),
      { threadId: 'thread', messages },
    );
    expect(folded.messages).toHaveLength(2000);
    expect(findingsOf(folded).at(-1)).toBe('truncated_tap 251 MESSAGES_SNAPSHOT');
    expect(folded.ending).toBe('truncated');
    expect(folded.findings.map(({ code }) => code)).not.toContain('no_terminal_event');
  });

  it('counts calls as it counts messages, so that a message of many calls is no way around that', () => {
    const toolCalls = Array.from({ length: 2000 }, (_, index) => ({ id: `c${index}`, function: { name: 'f' } }));
    const request = { threadId: 'thread', messages: [{ id: 'm1', role: 'assistant', toolCalls }] };
    const snapshots = Array.from({ length: 300 }, () => snapshot());
    expect(findingsOf(foldRun(snapshots, request)).at(-1)).toBe('truncated_tap 250 MESSAGES_SNAPSHOT');
  });

  it('is not applied when it is larger than any conversation, nor is what follows it', () => {
    const many = Array.from({ length: MAX_SNAPSHOT_ITEMS + 1 }, (_, index) => user(`u${index}`, 'x'));
    const folded = foldRun([snapshot(...many), snapshot(user('u', 'y'))]);
    expect(folded.messages).toEqual([]);
    expect(findingsOf(folded)).toEqual(['truncated_tap 1 MESSAGES_SNAPSHOT']);
    expect(foldRun([snapshot(...many.slice(1))]).messages).toHaveLength(MAX_SNAPSHOT_ITEMS);
  });

  it('tells tool messages apart by their call where they share an id, and by id where they share a call', () => {
    const tool = (id: string, toolCallId: string, content: string) => ({ id, role: 'tool', toolCallId, content });
    const stated = [tool('r', 'c1', 'one'), tool('r', 'c2', 'two'), tool('q', 'c2', 'three')];
    const folded = foldRun([snapshot(...stated), snapshot(...stated)]);
    expect(folded.messages).toMatchObject([{ text: 'one' }, { text: 'two' }, { text: 'three' }]);
    expect(folded.findings).toEqual([]);
  });
});
