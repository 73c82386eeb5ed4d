import { REPLY_FORMATS, type ReplyFormat } from './reply-format.ts';

/**
 * Finds out, once per judge, in which format its endpoint takes questions. It only ever steps down, so that questions
 * asked at the same time cannot argue it back and forth.
 */
export interface Negotiation {
  /**
   * Runs `work`. While nothing is known of the endpoint the first question goes alone, and those behind it wait: until a
   * format was accepted, or at most until that one question has ended.
   */
  pass<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  format(): ReplyFormat;
  /** The endpoint answered a question put in the present format. */
  accepted(): void;
  /** The endpoint refused `format`. False when there is nothing left to try. */
  rejected(format: ReplyFormat): boolean;
}

export function createNegotiation(): Negotiation {
  let position = 0;
  let known = false;
  let scout: PromiseWithResolvers<void> | undefined;

  const format = (): ReplyFormat => REPLY_FORMATS[position] ?? 'json';

  return {
    async pass(signal, work) {
      if (known) return work();
      if (scout !== undefined) {
        await orAborted(scout.promise, signal);
        return work();
      }
      const mine = Promise.withResolvers<void>();
      scout = mine;
      try {
        return await work();
      } finally {
        scout = undefined;
        mine.resolve();
      }
    },
    format,
    accepted() {
      known = true;
      scout?.resolve();
    },
    rejected(refused) {
      // Another question may have stepped down already while this one was under way.
      if (refused !== format()) return true;
      if (position + 1 >= REPLY_FORMATS.length) return false;
      position += 1;
      return true;
    },
  };
}

async function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
