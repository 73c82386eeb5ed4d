import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../src/agui/exchange.ts';
import type { Conversation } from '../../src/conversation/conversation.ts';
import { mergingExchange } from '../../src/conversation/merge-runs.ts';
import type { Message } from '../../src/conversation/message.ts';
import { atOnce, ITEMS_PER_STEP } from '../../src/lib/steps.ts';
import { assistant, call, exchange, result, user } from '../support/exchanges.ts';

function merged(...exchanges: readonly Exchange[]) {
  let conversation: Conversation | undefined;
  const kinds: string[] = [];
  for (const each of exchanges) {
    const merge = atOnce(mergingExchange(conversation, each));
    conversation = merge.conversation;
    kinds.push(merge.kind);
  }
  if (!conversation) throw new Error('nothing to merge');
  return { conversation, kinds, ids: conversation.messages.map(({ id }) => id) };
}

const turn = (input: readonly Message[], output: readonly Message[], overrides: Partial<Exchange> = {}) =>
  exchange({ input, output, overrides });

const [u1, u2] = [user('u1', 'When is high water?'), user('u2', 'And tomorrow?')];
const [a1, a2] = [assistant('a1', 'At 14:20.'), assistant('a2', 'At 15:05.')];

describe('what the request claims of the history', () => {
  it('appends the new turn when the full history is sent', () => {
    const { ids, kinds } = merged(turn([u1], [a1]), turn([u1, a1, u2], [a2]));
    expect(ids).toEqual(['u1', 'a1', 'u2', 'a2']);
    expect(kinds).toEqual(['appended', 'appended']);
  });

  it('appends to what is held when only the new message is sent', () => {
    const { ids, kinds } = merged(turn([u1], [a1]), turn([u2], [a2]));
    expect(ids).toEqual(['u1', 'a1', 'u2', 'a2']);
    expect(kinds).toEqual(['appended', 'delta']);
  });

  it('appends when the client sends the last few messages', () => {
    const { ids, kinds } = merged(turn([u1], [a1]), turn([a1, u2], [a2]));
    expect(ids).toEqual(['u1', 'a1', 'u2', 'a2']);
    expect(kinds).toEqual(['appended', 'delta']);
  });

  it('takes a second "yes" for a new turn, not for the first one', () => {
    const [yes, again] = [user('u1', 'yes'), user('u9', 'yes')];
    expect(merged(turn([yes], [a1]), turn([again], [a2])).ids).toEqual(['u1', 'a1', 'u9', 'a2']);
  });

  it('takes words said twice for two turns when the client gives no ids', () => {
    const yes = user('derived-1f2e', 'yes');
    const { conversation } = merged(turn([yes], [a1]), turn([yes], [a2]));
    expect(conversation.messages.map(({ text }) => text)).toEqual(['yes', a1.text, 'yes', a2.text]);
  });

  it('recognises the history of a client that gives no ids', () => {
    const [first, copy] = [user('derived-1f2e', u1.text), assistant('derived-3c4d', a1.text)];
    expect(merged(turn([first], [a1]), turn([first, copy, u2], [a2])).ids).toEqual([first.id, 'a1', 'u2', 'a2']);
  });

  it('recognises copies by text and neighbour when a converter gives every message a new id', () => {
    const copies = [user('x1', u1.text), assistant('x2', ' At  14:20. '), u2];
    expect(merged(turn([u1], [a1]), turn(copies, [a2])).ids).toEqual(['u1', 'a1', 'u2', 'a2']);
  });

  it('drops a history that a converter has doubled under new ids', () => {
    const doubled = [u1, a1, user('x1', u1.text), assistant('x2', a1.text), u2];
    expect(merged(turn([u1], [a1]), turn(doubled, [a2])).ids).toEqual(['u1', 'a1', 'u2', 'a2']);
  });

  it('keeps the words that were seen in the stream over the client’s later copy', () => {
    const { conversation } = merged(turn([u1], [a1]), turn([u1, assistant('a1', 'edited'), u2], [a2]));
    expect(conversation.messages[1]).toEqual(a1);
  });

  it('appends for a client that sends its instructions with each new message', () => {
    const rules = { role: 'system', id: 's', text: 'Be brief.' } as const;
    const { ids } = merged(turn([rules, u1], [a1]), turn([rules, u2], [a2]));
    expect(ids).toEqual(['s', 'u1', 'a1', 'u2', 'a2']);
  });

  it('appends for a client that sends its own side only', () => {
    expect(merged(turn([u1], [a1]), turn([u1, u2], [a2])).ids).toEqual(['u1', 'a1', 'u2', 'a2']);
  });
});

describe('forks', () => {
  it('cuts off and keeps the tail that a regeneration replaces', () => {
    const { ids, kinds, conversation } = merged(turn([u1], [a1]), turn([u1], [a2]));
    expect(ids).toEqual(['u1', 'a2']);
    expect(kinds).toEqual(['appended', 'forked']);
    expect(conversation.superseded).toEqual([[a1]]);
  });

  it('takes the first message of a held id with other words for an edit of it', () => {
    const edited = user('u1', 'When is low water?');
    const { ids, kinds, conversation } = merged(
      turn([u1], [a1]),
      turn([u1, a1, u2], [a2]),
      turn([edited], [assistant('a3', 'At 08:10.')]),
    );
    expect(ids).toEqual(['u1', 'a3']);
    expect(kinds.at(-1)).toBe('forked');
    expect(conversation.superseded).toEqual([[u1, a1, u2, a2]]);
  });

  it('takes a user message of a held id with other words for an edit', () => {
    const edited = user('u2', 'And the day after?');
    const { ids, conversation } = merged(
      turn([u1], [a1]),
      turn([u1, a1, u2], [a2]),
      turn([u1, a1, edited], [assistant('a3', '16:00.')]),
    );
    expect(ids).toEqual(['u1', 'a1', 'u2', 'a3']);
    expect(conversation.messages[2]).toEqual(edited);
    expect(conversation.superseded).toEqual([[u2, a2]]);
  });
});

describe('new messages in front of known ones', () => {
  it('an edit whose answer was kept stands where the edited message stood', () => {
    const edited = user('u1', 'When is low water?');
    const { conversation } = merged(turn([u1], [a1]), turn([edited, a1, u2], [a2]));
    expect(conversation.messages).toEqual([edited, a1, u2, a2]);
  });

  it('a message that the client put between others stays between them', () => {
    const note = user('n1', 'At the pier, please.');
    expect(merged(turn([u1], [a1]), turn([u1, note, a1, u2], [a2])).ids).toEqual(['u1', 'n1', 'a1', 'u2', 'a2']);
  });

  it('known messages that the client re-ordered keep their places', () => {
    const { ids } = merged(
      turn([u1], [a1]),
      turn([u1, a1, u2], [a2]),
      turn([u2, a2, u1, a1, user('u3', 'Thanks')], []),
    );
    expect(ids).toEqual(['u1', 'a1', 'u2', 'a2', 'u3']);
  });
});

describe('snapshots that list the transcript under ids of their own', () => {
  const withSnapshot = { eventCounts: { MESSAGES_SNAPSHOT: 1 } };
  const [h1, h2, h3] = [user('h1', u1.text), assistant('h2', a1.text), user('h3', u2.text)];
  const said = assistant('s2', a2.text);

  it('do not double the turn that they rename', () => {
    const run = turn([u1, a1, u2], [h3, said], { ...withSnapshot, messages: [u1, a1, h3, said] });
    expect(merged(turn([u1], [a1]), run).ids).toEqual(['u1', 'a1', 'u2', 's2']);
  });

  it.each([
    ['a full history', [u1, a1, u2]],
    ['the new message only', [u2]],
  ])('do not double a transcript that they rename as a whole, after %s', (_, input) => {
    const run = turn(input, [h1, h2, h3, said], { ...withSnapshot, messages: [h1, h2, h3, said] });
    const { ids, conversation } = merged(turn([u1], [a1]), run);
    expect(ids).toEqual(['u1', 'a1', 'u2', 's2']);

    const adopted = turn([h1, h2, h3, said, user('u3', 'Thanks')], []);
    expect(atOnce(mergingExchange(conversation, adopted)).conversation.messages.map(({ id }) => id)).toEqual([
      ...ids,
      'u3',
    ]);
  });

  it('do not double the turn of a request that carries the new message only', () => {
    const run = turn([u2], [h3, said], { ...withSnapshot, messages: [h3, said] });
    expect(merged(turn([u1], [a1]), run).ids).toEqual(['u1', 'a1', 'u2', 's2']);
  });

  it('do not double a call and its result', () => {
    const asks = assistant('a1', '', [call('c1')]);
    const answered = result('r1', 'c1', '14:20');
    const renamed = [user('h1', u1.text), { ...asks, id: 'h2' }, { ...answered, id: 'h3' }, user('h4', u2.text), said];
    const run = turn([u1, asks, answered, u2], renamed, { ...withSnapshot, messages: renamed });
    expect(merged(turn([u1], [asks, answered]), run).ids).toEqual(['u1', 'a1', 'r1', 'u2', 's2']);
  });
});

describe('tool calls across runs', () => {
  const asks = assistant('a1', '', [call('c1')]);

  it('completes the turn with a result that arrives in the next request', () => {
    const { conversation } = merged(turn([u1], [asks]), turn([u1, asks, result('r1', 'c1', '14:20')], [a2]));
    expect(conversation.messages.map(({ id }) => id)).toEqual(['u1', 'a1', 'r1', 'a2']);
    expect(conversation.messages[1]).toMatchObject({ toolCalls: [{ id: 'c1', state: 'answered' }] });
  });

  it('completes the turn when the result is all that the request carries', () => {
    expect(merged(turn([u1], [asks]), turn([result('r1', 'c1', '14:20')], [a2])).ids).toEqual(['u1', 'a1', 'r1', 'a2']);
  });

  it('lets the real result replace the placeholder of an earlier run', () => {
    const placeholder = result('r0', 'c1', '');
    const { conversation } = merged(
      turn([u1], [asks, placeholder]),
      turn([u1, asks, result('r1', 'c1', '14:20')], [a2]),
    );
    expect(conversation.messages.filter(({ role }) => role === 'tool')).toEqual([result('r0', 'c1', '14:20')]);
  });

  it('keeps two results for one call within a run', () => {
    const { ids } = merged(
      turn([u1], [a1]),
      turn([u1, a1, u2], [assistant('a2', '', [call('c2')]), result('r1', 'c2', 'x'), result('r2', 'c2', 'y')]),
    );
    expect(ids).toEqual(['u1', 'a1', 'u2', 'a2', 'r1', 'r2']);
  });

  it('counts a call once when the resumed run announces it again', () => {
    const again = assistant('c1', '', [{ ...call('c1'), args: { day: 'Tuesday' } }]);
    const { conversation } = merged(
      turn([u1], [asks], { ending: 'interrupt', interrupts: [{ id: 'i1', toolCallId: 'c1' }] }),
      turn([u1], [again, result('r1', 'c1', '14:20'), a2], { resumes: true }),
    );
    expect(conversation.messages.map(({ id }) => id)).toEqual(['u1', 'a1', 'r1', 'a2']);
    expect(conversation.messages[1]).toMatchObject({
      toolCalls: [{ id: 'c1', args: { day: 'Tuesday' }, state: 'answered' }],
    });
  });

  it('names a call that only its interrupt announced', () => {
    const unknown = assistant('c9', '', [call('c9', 'unknown_tool', 'answered')]);
    const { conversation } = merged(
      turn([u1], [], {
        ending: 'interrupt',
        interrupts: [{ id: 'i1', toolCallId: 'c9', toolName: 'book_berth', args: { ship: 'Petrel' } }],
      }),
      turn([u1], [unknown, result('r1', 'c9', 'berth 7B')], { resumes: true }),
    );
    expect(conversation.messages[1]).toMatchObject({ toolCalls: [{ name: 'book_berth', args: { ship: 'Petrel' } }] });
  });

  it('recovers calls of a message from the next request', () => {
    const { conversation } = merged(
      turn([u1], [a1]),
      turn([u1, { ...a1, toolCalls: [call('c7')] }, result('r7', 'c7', 'ok')], [a2]),
    );
    expect(conversation.messages[1]).toMatchObject({ text: a1.text, toolCalls: [{ id: 'c7', state: 'answered' }] });
  });
});

describe('runs that broke off', () => {
  it('completes a partial message when the agent turns out to have finished unseen', () => {
    const partial = { ...assistant('a1', 'At 14'), partial: true } as const;
    const { conversation } = merged(turn([u1], [partial], { ending: 'client_aborted' }), turn([u1, a1, u2], [a2]));
    expect(conversation.messages[1]).toEqual(a1);
  });

  it('moves a partial message that the client discarded to the superseded tails', () => {
    const partial = { ...assistant('a0', 'At 14'), partial: true } as const;
    const { ids, conversation } = merged(turn([u1], [partial], { ending: 'client_aborted' }), turn([u1], [a1]));
    expect(ids).toEqual(['u1', 'a1']);
    expect(conversation.superseded).toEqual([[partial]]);
  });
});

describe('replays', () => {
  it('ignores a replayed thread', () => {
    const { conversation, kinds } = merged(turn([u1], [a1]), turn([], [u1, a1], { kind: 'replay' }));
    expect(kinds).toEqual(['appended', 'replayed']);
    expect(conversation.runs).toHaveLength(1);
  });

  it('ignores a run that was seen on another leg already', () => {
    const { kinds } = merged(turn([u1], [a1], { runId: 'r' }), turn([u1], [a1], { runId: 'r' }));
    expect(kinds).toEqual(['appended', 'replayed']);
  });

  it('does not take new messages under a constant run id for a replay', () => {
    const { ids } = merged(turn([u1], [a1], { runId: 'r' }), turn([u1, a1, u2], [a2], { runId: 'r' }));
    expect(ids).toEqual(['u1', 'a1', 'u2', 'a2']);
  });
});

describe('interrupts', () => {
  const interrupted = turn([u1], [], { ending: 'interrupt', interrupts: [{ id: 'i1' }] });

  it('stay open until a request answers them', () => {
    expect(merged(interrupted).conversation.openInterrupts).toEqual([{ id: 'i1' }]);
    expect(merged(interrupted, turn([u1], [a1], { resumes: true })).conversation.openInterrupts).toEqual([]);
  });

  it('are dropped when the user goes on without answering', () => {
    expect(merged(interrupted, turn([u1, u2], [a2])).conversation.openInterrupts).toEqual([]);
  });
});

describe('any conversation', () => {
  const texts = fc.array(fc.tuple(fc.string(), fc.string()), { minLength: 1, maxLength: 8 });

  it('comes out the same whether the client sends full histories or only what is new', () => {
    fc.assert(
      fc.property(texts, (turns) => {
        const messages = turns.flatMap(([asked, said], at) => [user(`u${at}`, asked), assistant(`a${at}`, said)]);
        const full = turns.map((_, at) => turn(messages.slice(0, 2 * at + 1), messages.slice(2 * at + 1, 2 * at + 2)));
        const delta = turns.map((_, at) =>
          turn(messages.slice(2 * at, 2 * at + 1), messages.slice(2 * at + 1, 2 * at + 2)),
        );
        expect(merged(...full).conversation.messages).toEqual(messages);
        expect(merged(...delta).conversation.messages).toEqual(messages);
      }),
    );
  });

  it('holds every word the user sent last, and leaves its arguments as they were', () => {
    const number = fc.integer({ min: 1, max: 3 });
    const text = fc.constantFrom('', 'yes', 'no', 'yes no');
    const asked = fc.tuple(number, text).map(([id, words]) => user(`u${id}`, words));
    const answered: fc.Arbitrary<Message> = fc.oneof(
      fc.tuple(number, text, fc.uniqueArray(fc.constantFrom('c1', 'c2'))).map(([id, words, calls]) =>
        assistant(
          `a${id}`,
          words,
          calls.map((each) => call(each)),
        ),
      ),
      fc.tuple(number, text, fc.constantFrom('c1', 'c2')).map(([id, words, callId]) => result(`r${id}`, callId, words)),
    );
    const unique = (message: fc.Arbitrary<Message>) =>
      fc.uniqueArray(message, { selector: ({ id }) => id, maxLength: 4 });
    const inputs = unique(fc.oneof(asked, answered));
    const outputs = unique(answered);
    fc.assert(
      fc.property(fc.array(fc.tuple(inputs, outputs, fc.boolean()), { minLength: 1, maxLength: 5 }), (turns) => {
        const exchanges = turns.map(([input, output, resumes]) => turn(input, output, { resumes }));
        const before = structuredClone(exchanges);
        const { conversation } = merged(...exchanges);
        expect(exchanges).toEqual(before);
        for (const message of exchanges.at(-1)?.input ?? []) {
          if (message.role === 'user')
            expect(conversation.messages.map(({ text: said }) => said)).toContain(message.text);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a long history', () => {
  const history = (count: number, name: string): Message[] =>
    Array.from({ length: count }, (_, at) => user(`${name}${at}`, `words ${at}`));

  /** How often the ids of the messages are looked at when `claimed` is merged into `held`. */
  function looks(held: readonly Message[], claimed: readonly Message[]): number {
    let count = 0;
    const watched = (messages: readonly Message[]): Message[] =>
      messages.map((message) => ({
        ...message,
        get id() {
          count += 1;
          return message.id;
        },
      }));
    merged(turn(watched(held), []), turn(watched(claimed), []));
    return count;
  }

  it.each<[string, (messages: readonly Message[], count: number) => readonly Message[]]>([
    ['is sent again', (messages) => messages],
    ['goes on', (messages) => [...messages, user('next', 'And now?')]],
    ['is another one', (_, count) => history(count, 'other')],
    [
      'is another one with the same words',
      (messages) => messages.map((message) => ({ ...message, id: `new ${message.id}` })),
    ],
    ['was edited throughout', (messages) => messages.map((message) => ({ ...message, text: 'No.' }))],
    ['comes backwards', (messages) => messages.toReversed()],
  ])('that %s costs as much for each message as a short one', (_, change) => {
    const costOf = (count: number): number => {
      const messages = history(count, 'u');
      return looks(messages, change(messages, count));
    };
    expect(costOf(1000)).toBeLessThan(12 * costOf(100));
  });
});

describe('a long conversation', () => {
  const COUNT = 10 * ITEMS_PER_STEP;
  const history = (prefix: string): Message[] =>
    Array.from({ length: COUNT }, (_, at) =>
      at % 2 ? assistant(`${prefix}${at}`, `At ${at}.`) : user(`${prefix}${at}`, `When on day ${at}?`),
    );

  it.each<[string, Exchange, number]>([
    // Held and claimed messages are gone through, woven, listed, and their runs added.
    ['sent again', turn([...history('m'), u2], [a2]), 5],
    ['sent again under other ids', turn([...history('n'), u2], [a2]), 5],
    ['left to the agent', turn([u2], [a2]), 4],
    ['stated by a snapshot', turn([u2], [...history('n'), a2], { eventCounts: { MESSAGES_SNAPSHOT: 1 } }), 6],
  ])('is merged in steps: %s', (_what, next, passes) => {
    const { conversation } = merged(turn([u1], history('m')));
    let steps = 0;
    for (const _ of mergingExchange(conversation, next)) steps += 1;
    expect(steps).toBeGreaterThanOrEqual((passes * COUNT) / ITEMS_PER_STEP);
  });
});
