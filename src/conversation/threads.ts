import type { Exchange } from '../agui/exchange.ts';
import { isWaiting } from './completion.ts';
import { type Conversation, type ThreadKey, threadKeyText } from './conversation.ts';
import { type MergeKind, mergeExchange } from './merge-runs.ts';

export interface ThreadsOptions {
  /** A conversation closes when nothing was seen of it for this long. */
  readonly idleMs: number;
  /** The same for one that waits for a person. */
  readonly waitingMs: number;
  /** Threads held, open and closed. */
  readonly maxThreads: number;
  /** Characters of text held over all threads. */
  readonly maxCharacters: number;
}

/**
 * Why a conversation closed. `idle` is the ordinary way; `waiting`: the person it waited for never came; `evicted`: a
 * bound was reached; `shutdown`: the process stops and keeps nothing.
 */
export type ClosingCause = 'idle' | 'waiting' | 'evicted' | 'shutdown';

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

/**
 * The threads under way and those closed lately, which may go on. Reads no clock: time comes in with each call and must
 * not go back.
 */
export class Threads {
  readonly #options: ThreadsOptions;
  // Each map is ordered by the time its threads were last seen, since a thread is put back at the end when it is.
  readonly #active = new Map<string, Thread>();
  readonly #waiting = new Map<string, Thread>();
  readonly #closed = new Map<string, Thread>();
  #characters = 0;

  constructor(options: ThreadsOptions) {
    this.#options = options;
  }

  /** Threads that have not closed yet. */
  get open(): number {
    return this.#active.size + this.#waiting.size;
  }

  /** Merges an exchange into its thread. Returns what it was to the thread, and the closings that made room for it. */
  append(exchange: Exchange, now: number): { readonly kind: MergeKind; readonly evicted: readonly Closing[] } {
    const name = threadKeyText(keyOf(exchange));
    const held = this.#active.get(name) ?? this.#waiting.get(name) ?? this.#closed.get(name);
    const { kind, conversation } = mergeExchange(held?.conversation, exchange);
    // A replay is no sign of life: it neither keeps a thread open nor opens a closed one.
    if (kind === 'replayed') return { kind, evicted: [] };

    this.#remove(name);
    const thread = {
      conversation,
      revision: held?.revision ?? 0,
      lastSeenAt: now,
      characters: countCharacters(conversation),
    };
    (isWaiting(conversation) ? this.#waiting : this.#active).set(name, thread);
    this.#characters += thread.characters;
    return { kind, evicted: this.#makeRoom(now) };
  }

  /** Closes every thread whose time has come. */
  closeDue(now: number): Closing[] {
    return [
      ...this.#closeSeenBefore(this.#active, now - this.#options.idleMs, 'idle', now),
      ...this.#closeSeenBefore(this.#waiting, now - this.#options.waitingMs, 'waiting', now),
    ];
  }

  /** When the next thread is due, in epoch milliseconds; absent when none is open. */
  nextDueAt(): number | undefined {
    const active = first(this.#active)?.[1];
    const waiting = first(this.#waiting)?.[1];
    const due = [
      ...(active ? [active.lastSeenAt + this.#options.idleMs] : []),
      ...(waiting ? [waiting.lastSeenAt + this.#options.waitingMs] : []),
    ];
    return due.length > 0 ? Math.min(...due) : undefined;
  }

  /** Closes every open thread at once. */
  closeAll(now: number): Closing[] {
    return [
      ...this.#closeSeenBefore(this.#active, Infinity, 'shutdown', now),
      ...this.#closeSeenBefore(this.#waiting, Infinity, 'shutdown', now),
    ];
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
      const threads = this.#active.size > 0 ? this.#active : this.#waiting;
      const oldest = first(threads);
      if (!oldest) break;
      closings.push(this.#close(threads, ...oldest, 'evicted', now));
    }
    return closings;
  }

  #isOver(): boolean {
    const threads = this.open + this.#closed.size;
    return threads > this.#options.maxThreads || this.#characters > this.#options.maxCharacters;
  }

  #remove(name: string): void {
    for (const threads of [this.#active, this.#waiting, this.#closed]) {
      this.#characters -= threads.get(name)?.characters ?? 0;
      threads.delete(name);
    }
  }
}

function first<Value>(map: Map<string, Value>): [string, Value] | undefined {
  return map.entries().next().value;
}

function keyOf({ agent, tenant, threadId }: Exchange): ThreadKey {
  return tenant === undefined ? { agent, threadId } : { agent, tenant, threadId };
}

function countCharacters(conversation: Conversation): number {
  let characters = 0;
  for (const branch of [conversation.messages, ...conversation.superseded]) {
    for (const message of branch) {
      characters += message.text.length;
      if (message.role === 'assistant' && message.toolCalls.length > 0) {
        characters += JSON.stringify(message.toolCalls).length;
      }
    }
  }
  return characters;
}
