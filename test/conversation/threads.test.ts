import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPartlySeen } from '../../src/conversation/completion.ts';
import { type Closing, Threads, type ThreadsOptions } from '../../src/conversation/threads.ts';
import type { Exchange } from '../../src/agui/exchange.ts';
import { atOnce } from '../../src/lib/steps.ts';
import { assistant, call, exchange, user } from '../support/exchanges.ts';

const MINUTE = 60_000;

const threads = (options: Partial<ThreadsOptions> = {}) =>
  new Threads({
    idleMs: 15 * MINUTE,
    waitingMs: 24 * 60 * MINUTE,
    openRunMs: 60 * MINUTE,
    maxThreads: 100,
    maxCharacters: 1e6,
    ...options,
  });

/** What the exchange was to its thread, and the closings that made room for it. */
function append(held: Threads, each: Exchange, now: number) {
  const merged = atOnce(held.merging(each));
  return { kind: merged.kind, evicted: held.append(merged, now) };
}

const answered = (threadId: string, runId = `${threadId}-run`) =>
  exchange({ input: [user('u1', 'hi')], output: [assistant(`${runId}-a`, 'hello')], overrides: { threadId, runId } });

describe('closing', () => {
  it('closes a conversation once nothing was seen for the idle time, counted from the last exchange', () => {
    const held = threads();
    append(held, answered('t', 'r1'), 0);
    append(held, answered('t', 'r2'), 10 * MINUTE);
    expect(held.closeDue(15 * MINUTE)).toEqual([]);
    expect(held.nextDueAt()).toBe(25 * MINUTE);
    expect(held.closeDue(25 * MINUTE)).toMatchObject([{ cause: 'idle', revision: 1, closedAt: 25 * MINUTE }]);
    expect(held.nextDueAt()).toBeUndefined();
  });

  it('waits much longer for a person', () => {
    const held = threads();
    const pending = assistant('a1', '', [call('approve')]);
    append(held, exchange({ input: [user('u1', 'book it')], output: [pending], overrides: { threadId: 't' } }), 0);
    expect(held.closeDue(60 * MINUTE)).toEqual([]);
    expect(held.closeDue(24 * 60 * MINUTE)).toMatchObject([{ cause: 'waiting' }]);
  });

  describe('of a thread that was not seen whole', () => {
    const WORDS = 'a very long story';
    const cutOff = [{ code: 'truncated_tap', at: 9, id: '' }] as const;
    const seenInPart = (runId: string, parts: Parameters<typeof exchange>[0] = {}) =>
      exchange({
        input: [user('u1', WORDS)],
        output: [assistant(`${runId}-a`, WORDS, [call('look', 'look', 'complete', { for: WORDS })])],
        overrides: { threadId: 't', runId, findings: cutOff },
        ...parts,
      });

    it('holds nothing of what was said, also in its later runs', () => {
      const held = threads();
      append(held, answered('t', 'r0'), 0);
      append(held, seenInPart('r1'), 0);
      append(held, seenInPart('r2', { overrides: { threadId: 't', runId: 'r2' } }), 0);
      const [closing] = held.closeAll(1);

      expect(closing?.conversation).toMatchObject({ mayHaveGap: true, runs: [{}, { runId: 'r1' }, { runId: 'r2' }] });
      expect(JSON.stringify(closing?.conversation)).not.toContain(WORDS);
      expect(closing?.conversation.messages.map(({ id, role }) => [id, role])).toEqual([
        ['u1', 'user'],
        ['r2-a', 'assistant'],
      ]);
    });

    it('takes no history that is sent again for a new turn: an interrupt waits on', () => {
      const held = threads();
      const interrupts = [{ id: 'i1', toolCallId: 'c1', args: { for: WORDS } }];
      append(held, seenInPart('r1', { overrides: { threadId: 't', runId: 'r1', findings: cutOff, interrupts } }), 0);
      append(held, seenInPart('r2', { output: [assistant('r2-a', WORDS)] }), 1);
      expect(held.closeDue(60 * MINUTE)).toEqual([]);

      append(held, seenInPart('r3', { input: [user('u2', WORDS)], output: [assistant('r3-a', WORDS)] }), 60 * MINUTE);
      const [closing] = held.closeDue(120 * MINUTE);
      expect(closing).toMatchObject({ cause: 'idle' });
      expect(JSON.stringify(closing)).not.toContain(WORDS);
    });

    it('knows an earlier run that is sent again', () => {
      const held = threads();
      append(held, seenInPart('r1'), 0);
      append(held, seenInPart('r2', { input: [user('u2', WORDS)], output: [assistant('r2-a', WORDS)] }), 1);
      expect(append(held, seenInPart('r1'), 2).kind).toBe('replayed');
    });

    it('still waits for a person as long, and knows a replay', () => {
      const held = threads();
      append(held, seenInPart('r1'), 0);
      expect(append(held, seenInPart('r1'), 1).kind).toBe('replayed');
      expect(held.closeDue(60 * MINUTE)).toEqual([]);
      expect(held.closeDue(24 * 60 * MINUTE)).toMatchObject([{ cause: 'waiting' }]);
    });
  });

  it('closes a thread that went on again as a whole, as the next revision', () => {
    const held = threads();
    append(held, answered('t', 'r1'), 0);
    held.closeDue(15 * MINUTE);
    append(
      held,
      exchange({ input: [user('u2', 'and?')], output: [assistant('a2', 'so')], overrides: { threadId: 't' } }),
      20 * MINUTE,
    );
    const [closing] = held.closeDue(40 * MINUTE);
    expect(closing?.revision).toBe(2);
    expect(closing?.conversation.messages.map(({ id }) => id)).toEqual(['u1', 'r1-a', 'u2', 'a2']);
  });

  it('does not close a thread while a run of it is under way', () => {
    const held = threads();
    const key = { agent: 'harbour', threadId: 't' };
    append(held, answered('t', 'r1'), 0);
    held.runBegan(key, 5 * MINUTE);
    expect(held.closeDue(40 * MINUTE)).toEqual([]);
    held.runEnded(key, 50 * MINUTE);
    append(held, answered('t', 'r2'), 50 * MINUTE);
    expect(held.closeDue(64 * MINUTE)).toEqual([]);
    expect(held.closeDue(65 * MINUTE)).toMatchObject([{ cause: 'idle', revision: 1 }]);
  });

  it('counts runs that began before the thread was known', () => {
    const held = threads();
    const key = { agent: 'harbour', threadId: 't' };
    held.runBegan(key, 0);
    held.runBegan(key, 1);
    held.runEnded(key, 2);
    append(held, answered('t', 'r1'), 2);
    expect(held.closeDue(20 * MINUTE)).toEqual([]);
    held.runEnded(key, 30 * MINUTE);
    append(held, answered('t', 'r2'), 30 * MINUTE);
    expect(held.closeDue(45 * MINUTE)).toMatchObject([{ cause: 'idle', revision: 1 }]);
  });

  it('gives up on a run that does not end', () => {
    const held = threads();
    const key = { agent: 'harbour', threadId: 't' };
    append(held, answered('t', 'r1'), 0);
    held.runBegan(key, 5 * MINUTE);
    expect(held.nextDueAt()).toBe(65 * MINUTE);
    expect(held.closeDue(65 * MINUTE)).toMatchObject([{ cause: 'open_run' }]);
    held.runEnded(key, 70 * MINUTE);
    expect(held.open).toBe(0);
  });

  it('does not let a replay open a closed thread or keep an open one alive', () => {
    const held = threads();
    append(held, answered('t', 'r1'), 0);
    expect(append(held, answered('t', 'r1'), 10 * MINUTE).kind).toBe('replayed');
    expect(held.closeDue(15 * MINUTE)).toHaveLength(1);
    append(held, answered('t', 'r1'), 16 * MINUTE);
    expect(held.open).toBe(0);
  });

  it('keeps threads of the same id apart by agent and tenant', () => {
    const held = threads();
    for (const overrides of [{ agent: 'a' }, { agent: 'b' }, { agent: 'a', tenant: 'x' }]) {
      append(held, exchange({ input: [user('u1', 'hi')], overrides: { threadId: 'default', ...overrides } }), 0);
    }
    expect(held.open).toBe(3);
  });

  it('closes everything at once when the process stops', () => {
    const held = threads();
    append(held, answered('t1'), 0);
    append(held, answered('t2'), 0);
    expect(held.closeAll(1).map(({ cause }) => cause)).toEqual(['shutdown', 'shutdown']);
    expect(held.open).toBe(0);
  });

  it('says which were not at rest then: a run was under way, or a person was waited for', () => {
    const held = threads();
    append(held, answered('at rest'), 0);
    append(held, answered('running'), 0);
    held.runBegan({ agent: 'harbour', threadId: 'running' }, 0);
    append(held, exchange({ input: [user('u1', 'hi')], overrides: { threadId: 'waiting', ending: 'interrupt' } }), 0);
    const causes = held.closeAll(1).map(({ conversation, cause }) => [conversation.key.threadId, cause]);
    expect(Object.fromEntries(causes)).toEqual({ 'at rest': 'shutdown', running: 'unfinished', waiting: 'unfinished' });
  });
});

it('takes no thread of an agent for whole when one of its runs went by unseen', () => {
  const held = threads();
  append(held, answered('t1'), 0);
  append(held, exchange({ input: [user('u1', 'hi')], overrides: { agent: 'other', threadId: 't2' } }), 0);
  held.runMissed('harbour');
  append(held, answered('t1', 'r2'), 1);
  const gaps = held.closeAll(2).map(({ conversation }) => [conversation.key.agent, isPartlySeen(conversation)]);
  expect(Object.fromEntries(gaps)).toEqual({ harbour: true, other: false });
});

describe('bounds', () => {
  it('forgets closed threads before it closes open ones', () => {
    const held = threads({ maxThreads: 2 });
    append(held, answered('closed'), 0);
    held.closeDue(15 * MINUTE);
    expect(append(held, answered('t1'), 15 * MINUTE).evicted).toEqual([]);
    expect(append(held, answered('t2'), 15 * MINUTE).evicted).toEqual([]);
    const { evicted } = append(held, answered('t3'), 15 * MINUTE);
    expect(evicted.map(({ cause, conversation }) => [cause, conversation.key.threadId])).toEqual([['evicted', 't1']]);
  });

  it('closes the thread that was silent longest, be it active or waiting', () => {
    const held = threads({ maxThreads: 1 });
    const pending = assistant('a1', '', [call('approve')]);
    append(held, exchange({ input: [user('u1', 'hi')], output: [pending], overrides: { threadId: 'waiting' } }), 0);
    expect(append(held, answered('active'), 1).evicted).toMatchObject([
      { conversation: { key: { threadId: 'waiting' } } },
    ]);
  });

  it('counts the characters it holds and makes room by them', () => {
    const held = threads({ maxCharacters: 1000 });
    append(held, answered('t1'), 0);
    expect(append(held, answered('t2'), 1).evicted).toMatchObject([{ conversation: { key: { threadId: 't1' } } }]);
  });

  it.each(['threadId', 'runId'])('counts the %s', (member) => {
    const held = threads({ maxCharacters: 10_000 });
    const long = exchange({ input: [user('u1', 'hi')], overrides: { [member]: 'x'.repeat(20_000) } });
    expect(append(held, long, 0).evicted).toHaveLength(1);
  });

  it.each(['id', 'text', 'error'])('counts the %s of a tool result', (member) => {
    const held = threads({ maxCharacters: 10_000 });
    const asks = assistant('a1', '', [call('c1')]);
    const result = { role: 'tool', id: 'r1', toolCallId: 'c1', text: '', [member]: 'x'.repeat(20_000) } as const;
    expect(append(held, exchange({ input: [user('u1', 'hi')], output: [asks, result] }), 0).evicted).toHaveLength(1);
  });

  it('closes a conversation that alone is over the bound instead of holding it', () => {
    const held = threads({ maxCharacters: 3 });
    expect(append(held, answered('t1'), 0).evicted).toHaveLength(1);
    expect(held.open).toBe(0);
  });
});

it('closes every thread that was opened exactly once for each time it was, whatever the order of events', () => {
  const step = fc.record({
    thread: fc.constantFrom('t1', 't2', 't3', 't4'),
    waitMs: fc.constantFrom(0, 1, 5 * MINUTE, 15 * MINUTE, 40 * MINUTE),
    pending: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 5 }), (steps, maxThreads) => {
      const held = threads({ maxThreads, waitingMs: 30 * MINUTE });
      const open = new Set<string>();
      let [now, opened, closed] = [0, 0, 0];
      const count = (closings: readonly Closing[]) => {
        for (const { conversation } of closings) {
          expect(open.delete(conversation.key.threadId)).toBe(true);
          closed += 1;
        }
      };
      for (const [at, { thread, waitMs, pending }] of steps.entries()) {
        now += waitMs;
        count(held.closeDue(now));
        const output = [assistant(`a${at}`, 'x', pending ? [call(`c${at}`)] : [])];
        const { evicted } = append(
          held,
          exchange({ input: [user('u', 'hi')], output, overrides: { threadId: thread } }),
          now,
        );
        if (!open.has(thread)) opened += 1;
        open.add(thread);
        count(evicted);
        expect(held.open).toBe(open.size);
      }
      count(held.closeAll(now));
      expect(closed).toBe(opened);
    }),
  );
});
