import type { Arrival } from '../agui/capture.ts';
import { ArrivalLog } from './arrival-log.ts';
import type { MemoryGrant } from './memory-grant.ts';
import { Slab } from './slab.ts';

export interface TapLimits {
  /** Copied bytes of one exchange, request and response together. */
  readonly maxExchangeBytes: number;
  /** Memory that all copies may hold together, from their first byte until they have been read. */
  readonly maxTotalBytes: number;
}

/** What is kept of a request that is not kept whole: held beside the totals, for each open exchange. */
export const REQUEST_HEAD_BYTES = 4096;

/** Opens taps that share one total. */
export type TapPool = () => Tap;

/**
 * Taps that share one total: it counts what is allocated, not what is used of it.
 *
 * @param isOverloaded asked when a tap is opened: while the process runs late, copies are the first thing it does without.
 */
export function createTapPool(
  { maxExchangeBytes, maxTotalBytes }: TapLimits,
  isOverloaded: () => boolean = () => false,
): TapPool {
  let heldBytes = 0;
  const memory: MemoryGrant = {
    reserve(bytes) {
      if (heldBytes + bytes > maxTotalBytes) return false;
      heldBytes += bytes;
      return true;
    },
    release(bytes) {
      heldBytes -= bytes;
    },
  };
  return () => new Tap(maxExchangeBytes, memory, isOverloaded());
}

/**
 * A copy of one exchange's bodies, taken after they were forwarded. It gives up rather than grow: over a bound, the
 * request's copy is dropped whole and the response's ends where it is, as a prefix.
 */
export class Tap {
  // In the order in which a chunk of the response touches them.
  #isResponseOver: boolean;
  /** Of the bytes that one exchange may have; kept, since to look at both copies for each chunk is to wait for memory. */
  #roomBytes: number;
  readonly #response: ArrivalLog;
  readonly #request: Slab;
  #droppedBytes = 0;
  #isRequestOver: boolean;
  #requestHead: Uint8Array | undefined;
  /** Opened under too much load: of its exchange, only the first bytes of the request are kept. */
  readonly isShed: boolean;

  constructor(maxBytes: number, memory: MemoryGrant, isShed: boolean) {
    this.#isResponseOver = isShed;
    this.#roomBytes = maxBytes;
    this.#response = new ArrivalLog(memory);
    this.#request = new Slab(maxBytes, memory);
    this.#isRequestOver = isShed;
    this.isShed = isShed;
  }

  request(chunk: Uint8Array): void {
    const copied = this.#request;
    if (!this.#isRequestOver && chunk.length <= this.#roomBytes && copied.append(chunk)) {
      this.#roomBytes -= chunk.length;
      return;
    }
    this.#droppedBytes += copied.length + chunk.length;
    if (this.#requestHead === undefined || this.#requestHead.length < REQUEST_HEAD_BYTES) {
      const kept = (this.#requestHead ?? copied.bytes()).subarray(0, REQUEST_HEAD_BYTES);
      this.#requestHead = Buffer.concat([kept, chunk.subarray(0, REQUEST_HEAD_BYTES - kept.length)]);
    }
    this.#isRequestOver = true;
    this.#roomBytes += copied.length;
    copied.clear();
  }

  /** From `start` to `end` of `bytes`, which arrived `ms` after the exchange began: a whole number in [0, 2³²). */
  response(bytes: Buffer, start: number, end: number, ms: number): void {
    const length = end - start;
    if (!this.#isResponseOver && length <= this.#roomBytes && this.#response.append(bytes, start, end, ms)) {
      this.#roomBytes -= length;
      return;
    }
    this.#droppedBytes += length;
    this.#isResponseOver = true;
  }

  /** Absent when it was empty, or over a bound: half a body says nothing. Lent until the tap is released. */
  requestBody(): Uint8Array | undefined {
    return this.#request.length === 0 ? undefined : this.#request.bytes();
  }

  /** The first bytes of a request whose copy was dropped, to tell by whose it was; at most {@link REQUEST_HEAD_BYTES}. */
  requestHead(): Uint8Array | undefined {
    return this.#requestHead;
  }

  /**
   * Lent until the tap is released.
   *
   * @param startedAt when the exchange began, in epoch milliseconds.
   */
  responseBody(startedAt: number): Iterable<Arrival> {
    const response = this.#response;
    return { [Symbol.iterator]: () => response.arrivals(startedAt) };
  }

  /** Bytes that were forwarded and not kept. */
  droppedBytes(): number {
    return this.#droppedBytes;
  }

  /** Takes the copies off the total: nobody reads them any more, and others may overwrite them. */
  release(): void {
    this.#request.clear();
    this.#response.clear();
  }
}
