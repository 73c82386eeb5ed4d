import type { Exchange } from '../agui/exchange.ts';
import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import { isWaiting } from './completion.ts';
import { type Conversation, type ThreadKey, threadKeyOf, threadKeyText } from './conversation.ts';
import { type MergeKind, mergingExchange } from './merge-runs.ts';
import type { Message, ToolCall } from './message.ts';

export interface ThreadsOptions {
  /** A conversation closes when nothing was seen of it for this long. */
  readonly idleMs: number;
  /** The same for one that waits for a person. */
  readonly waitingMs: number;
  /** A run of which nothing was seen for this long is given up: its thread closes without it. */
  readonly openRunMs: number;
  /** Threads held, open and closed. */
  readonly maxThreads: number;
  /** Characters held over all threads: texts, arguments, ids, and a flat amount for each message and run. */
  readonly maxCharacters: number;
}

/** Bounds for a process that shares a machine with its agent: text of 64 Mi characters, a few hundred MB at the worst. */
export const DEFAULT_THREAD_BOUNDS = { maxThreads: 10_000, maxCharacters: 64 * 1024 * 1024 } as const;

/**
 * Why a conversation closed. `idle` is the ordinary way; `waiting`: the person it waited for never came; `open_run`: a run
 * did not end in time; `evicted`: a bound was reached. When the process stops and keeps nothing: `shutdown` if the
 * conversation was at rest, `unfinished` if a run was under way or a person was waited for.
 */
export type ClosingCause = 'idle' | 'waiting' | 'open_run' | 'evicted' | 'shutdown' | 'unfinished';

export interface Closing {
  readonly conversation: Conversation;
  readonly cause: ClosingCause;
  /** 1 for the first closing of the thread, n + 1 when it went on and closed again. */
  readonly revision: number;
  /** Epoch milliseconds. */
  readonly closedAt: number;
}

interface Thread {
  readonly conversation: Conversation;
  readonly revision: number;
  readonly lastSeenAt: number;
  readonly characters: number;
}

/** An exchange merged into what is held of its thread, ready to be held in its place. */
interface MergedThread {
  readonly name: string;
  readonly kind: MergeKind;
  readonly conversation: Conversation;
  readonly characters: number;
}

/**
 * The threads under way and those closed lately, which may go on. Reads no clock: time comes in with each call and must
 * not go back.
 */
export class Threads {
  readonly #options: ThreadsOptions;
  // Each map is ordered by the time its threads were last seen, since a thread is put back at the end when it is.
  readonly #active = new Map<string, Thread>();
  readonly #waiting = new Map<string, Thread>();
  readonly #running = new Map<string, Thread>();
  readonly #closed = new Map<string, Thread>();
  /** Runs under way by thread, whether or not the thread is held: its first run may still be the only one. */
  readonly #openRuns = new Map<string, number>();
  #characters = 0;

  constructor(options: ThreadsOptions) {
    this.#options = options;
  }

  /** Threads that have not closed yet. */
  get open(): number {
    return this.#active.size + this.#waiting.size + this.#running.size;
  }

  /**
   * Merges an exchange into what is held of its thread, in steps. To be followed by {@link Threads.append}; until then no
   * other exchange may be merged, no thread may close and no run be missed. Runs may begin, be seen and end.
   */
  *merging(exchange: Exchange): Steps<MergedThread> {
    const name = threadKeyText(threadKeyOf(exchange));
    const held = this.#find(name);
    const { kind, conversation } = yield* mergingExchange(held?.conversation, exchange);
    // A replay changes nothing, and so does not have to be counted again.
    const isSame = held?.conversation === conversation;
    return { name, kind, conversation, characters: isSame ? held.characters : yield* countingCharacters(conversation) };
  }

  /** Holds a thread as it is with its exchange. Returns the closings that made room for it. */
  append({ name, kind, conversation, characters }: MergedThread, now: number): readonly Closing[] {
    // A replay is no sign of life: it neither keeps a thread open nor opens a closed one.
    if (kind === 'replayed') return [];
    const revision = this.#find(name)?.revision ?? 0;
    this.#put(name, { conversation, revision, lastSeenAt: now, characters });
    return this.#makeRoom(now);
  }

  /**
   * A run of the thread began: the thread does not close while it is under way. To be followed by
   * {@link Threads.runEnded}, before the run's exchange is appended.
   */
  runBegan(key: ThreadKey, now: number): void {
    this.#countRun(threadKeyText(key), 1, now);
  }

  runEnded(key: ThreadKey, now: number): void {
    this.#countRun(threadKeyText(key), -1, now);
  }

  /** A run of the thread sent something. */
  runSeen(key: ThreadKey, now: number): void {
    this.#countRun(threadKeyText(key), 0, now);
  }

  #countRun(name: string, change: 1 | 0 | -1, now: number): void {
    const openRuns = (this.#openRuns.get(name) ?? 0) + change;
    if (openRuns > 0) this.#openRuns.set(name, openRuns);
    else this.#openRuns.delete(name);
    const held = this.#open(name);
    if (held) this.#put(name, { ...held, lastSeenAt: now });
  }

  /**
   * A run of the agent went by of which nothing could be copied, not even its thread's name. It may have been any
   * thread's, so none that is held is whole for certain.
   */
  runMissed(agent: string): void {
    for (const threads of [this.#active, this.#waiting, this.#running, this.#closed]) {
      for (const [name, thread] of threads) {
        const { conversation } = thread;
        if (conversation.key.agent !== agent) continue;
        threads.set(name, { ...thread, conversation: { ...conversation, mayHaveGap: true } });
      }
    }
  }

  /** Closes every thread whose time has come. */
  closeDue(now: number): Closing[] {
    return [
      ...this.#closeSeenBefore(this.#active, now - this.#options.idleMs, 'idle', now),
      ...this.#closeSeenBefore(this.#waiting, now - this.#options.waitingMs, 'waiting', now),
      ...this.#closeSeenBefore(this.#running, now - this.#options.openRunMs, 'open_run', now),
    ];
  }

  /** When the next thread is due, in epoch milliseconds; absent when none is open. */
  nextDueAt(): number | undefined {
    const { idleMs, waitingMs, openRunMs } = this.#options;
    const dueAt = Math.min(
      oldestSeenAt(this.#active) + idleMs,
      oldestSeenAt(this.#waiting) + waitingMs,
      oldestSeenAt(this.#running) + openRunMs,
    );
    return dueAt === Infinity ? undefined : dueAt;
  }

  /** Closes every open thread at once, since the process stops. */
  closeAll(now: number): Closing[] {
    return [
      ...this.#closeSeenBefore(this.#active, Infinity, 'shutdown', now),
      ...this.#closeSeenBefore(this.#waiting, Infinity, 'unfinished', now),
      ...this.#closeSeenBefore(this.#running, Infinity, 'unfinished', now),
    ];
  }

  #find(name: string): Thread | undefined {
    return this.#open(name) ?? this.#closed.get(name);
  }

  #open(name: string): Thread | undefined {
    return this.#active.get(name) ?? this.#waiting.get(name) ?? this.#running.get(name);
  }

  /** Puts a thread where its state belongs, as the one that was seen last. */
  #put(name: string, thread: Thread): void {
    this.#remove(name);
    const idle = isWaiting(thread.conversation) ? this.#waiting : this.#active;
    (this.#openRuns.has(name) ? this.#running : idle).set(name, thread);
    this.#characters += thread.characters;
  }

  #closeSeenBefore(threads: Map<string, Thread>, lastSeenAt: number, cause: ClosingCause, now: number): Closing[] {
    const closings: Closing[] = [];
    for (const [name, thread] of threads) {
      if (thread.lastSeenAt > lastSeenAt) break;
      closings.push(this.#close(threads, name, thread, cause, now));
    }
    return closings;
  }

  #close(from: Map<string, Thread>, name: string, thread: Thread, cause: ClosingCause, now: number): Closing {
    from.delete(name);
    const revision = thread.revision + 1;
    this.#closed.set(name, { ...thread, revision });
    return { conversation: thread.conversation, cause, revision, closedAt: now };
  }

  /** Forgets closed threads first, oldest first; then closes open ones before their time. */
  #makeRoom(now: number): Closing[] {
    const closings: Closing[] = [];
    while (this.#isOver()) {
      const closed = first(this.#closed);
      if (closed) {
        this.#remove(closed[0]);
        continue;
      }
      const oldest = this.#longestIdle();
      if (!oldest) break;
      closings.push(this.#close(...oldest, 'evicted', now));
    }
    return closings;
  }

  #longestIdle(): [from: Map<string, Thread>, name: string, thread: Thread] | undefined {
    const oldest = [this.#active, this.#waiting, this.#running].flatMap((threads) => {
      const entry = first(threads);
      return entry ? [[threads, ...entry] as [Map<string, Thread>, string, Thread]] : [];
    });
    return oldest.toSorted(([, , one], [, , other]) => one.lastSeenAt - other.lastSeenAt)[0];
  }

  #isOver(): boolean {
    const threads = this.open + this.#closed.size;
    return threads > this.#options.maxThreads || this.#characters > this.#options.maxCharacters;
  }

  #remove(name: string): void {
    for (const threads of [this.#active, this.#waiting, this.#running, this.#closed]) {
      this.#characters -= threads.get(name)?.characters ?? 0;
      threads.delete(name);
    }
  }
}

/** Infinity when there is none. */
const oldestSeenAt = (threads: Map<string, Thread>): number => first(threads)?.[1].lastSeenAt ?? Infinity;

function first<Value>(map: Map<string, Value>): [string, Value] | undefined {
  return map.entries().next().value;
}

/** What a message or a run costs beside its words, in characters: ids, roles, times, a trace link. */
const OVERHEAD_CHARACTERS = 200;

function* countingCharacters(conversation: Conversation): Steps<number> {
  const { key, runs, openInterrupts } = conversation;
  let characters = 2 * threadKeyText(key).length + JSON.stringify(openInterrupts).length;
  for (const { runId } of runs) characters += OVERHEAD_CHARACTERS + runId.length;
  for (const branch of [conversation.messages, ...conversation.superseded]) {
    for (const [at, message] of branch.entries()) {
      if (at % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
      characters += charactersOfMessage(message);
    }
  }
  return characters;
}

/** What messages cost, in characters. */
export function charactersOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + charactersOfMessage(message), 0);
}

const charactersOfMessage = (message: Message): number => OVERHEAD_CHARACTERS + wordsOf(message);

/** Known ones: a thread is counted anew with each of its runs, and most of its calls are those of the runs before. */
const countedCalls = new WeakMap<readonly ToolCall[], number>();

function charactersOfCalls(calls: readonly ToolCall[]): number {
  const known = countedCalls.get(calls);
  if (known !== undefined) return known;
  const characters = JSON.stringify(calls).length;
  countedCalls.set(calls, characters);
  return characters;
}

function wordsOf(message: Message): number {
  const ids = message.id.length + (message.subagent?.length ?? 0);
  switch (message.role) {
    case 'assistant':
      return ids + message.text.length + (message.toolCalls.length > 0 ? charactersOfCalls(message.toolCalls) : 0);
    case 'tool':
      return ids + message.text.length + (message.error?.length ?? 0) + message.toolCallId.length;
    default:
      return ids + message.text.length;
  }
}
