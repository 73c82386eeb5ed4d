import { REPLY_FORMATS, type ReplyFormat } from './reply-format.ts';

/**
 * Finds out, once per judge, in which format its endpoint takes questions. Until one is accepted it only ever steps down,
 * and after that it stays, so that neither questions asked at the same time nor an error that merely sounds like a refusal
 * can argue it back and forth.
 */
export interface Negotiation {
  /**
   * Runs `work`. While nothing is known of the endpoint the first question goes alone, and those behind it wait: until a
   * format was accepted, or at most until that one question has ended.
   */
  pass<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  format(): ReplyFormat;
  /** The endpoint answered a question put in `format`: from the first of these on, that is the format. */
  accepted(format: ReplyFormat): void;
  /** The endpoint refused `format`. False when there is nothing else to try; the next question then begins anew. */
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
    accepted(taken) {
      // Another question may have stepped down while this one was under way; an answer is the better evidence.
      if (!known) position = REPLY_FORMATS.indexOf(taken);
      known = true;
      scout?.resolve();
    },
    rejected(refused) {
      // As above: what is tried next is then the format of the present.
      if (refused !== format()) return true;
      if (known) return false;
      position = (position + 1) % REPLY_FORMATS.length;
      return position > 0;
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
