import type { ChunkArrival } from '../agui/capture.ts';
import { type MemoryGrant, Slab } from './slab.ts';

export interface TapLimits {
  /** Copied bytes of one exchange, request and response together. */
  readonly maxExchangeBytes: number;
  /** Memory that all copies may hold together, from their first byte until they have been read. */
  readonly maxTotalBytes: number;
}

/** What one arrival costs in memory; counted, or a stream of single bytes would hold far more than its bytes. */
const ARRIVAL_BYTES = 16;

/** Arrivals closer than this share one record. */
const ARRIVAL_RESOLUTION_MS = 1;

/** Held beside the totals, for each open exchange whose request was too much. */
const REQUEST_HEAD_BYTES = 4096;

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
  readonly #memory: MemoryGrant;
  readonly #request: Slab;
  readonly #response: Slab;
  /** Of the bytes that one exchange may have; kept, since to look at both slabs for each chunk is to wait for memory. */
  #roomBytes: number;
  /** Offset and time in turn: objects would outlive many rounds of the garbage collector. */
  #arrivals: number[] = [];
  #droppedBytes = 0;
  #isRequestOver: boolean;
  #isResponseOver: boolean;
  #requestHead: Uint8Array | undefined;
  /** Opened under too much load: of its exchange, only the first bytes of the request are kept. */
  readonly isShed: boolean;

  constructor(maxBytes: number, memory: MemoryGrant, isShed: boolean) {
    this.#roomBytes = maxBytes;
    this.#memory = memory;
    this.#request = new Slab(maxBytes, memory);
    this.#response = new Slab(maxBytes, memory);
    this.#isRequestOver = isShed;
    this.#isResponseOver = isShed;
    this.isShed = isShed;
  }

  request(chunk: Buffer): void {
    const copied = this.#request;
    if (!this.#isRequestOver && chunk.length <= this.#roomBytes && copied.append(chunk, 0, chunk.length)) {
      this.#roomBytes -= chunk.length;
      return;
    }
    this.#droppedBytes += copied.length + chunk.length;
    this.#requestHead ??= Buffer.concat(
      [copied.bytes(), chunk].map((bytes) => bytes.subarray(0, REQUEST_HEAD_BYTES)),
    ).subarray(0, REQUEST_HEAD_BYTES);
    this.#isRequestOver = true;
    this.#roomBytes += copied.length;
    copied.clear();
  }

  /** From `start` to `end` of `bytes`; `at`: arrival, epoch milliseconds. */
  response(bytes: Buffer, start: number, end: number, at: number): void {
    const copied = this.#response;
    const length = end - start;
    const offset = copied.length;
    if (!this.#isResponseOver && length <= this.#roomBytes && copied.append(bytes, start, end)) {
      this.#roomBytes -= length;
      const arrivals = this.#arrivals;
      const lastAt = arrivals.length === 0 ? -Infinity : arrivals[arrivals.length - 1]!;
      if (at - lastAt >= ARRIVAL_RESOLUTION_MS) this.#noteArrival(offset, at);
      return;
    }
    this.#droppedBytes += length;
    this.#isResponseOver = true;
  }

  #noteArrival(offset: number, at: number): void {
    if (this.#memory.reserve(ARRIVAL_BYTES)) this.#arrivals.push(offset, at);
    else this.#isResponseOver = true;
  }

  /** Absent when it was empty, or over a bound: half a body says nothing. Lent until the tap is released. */
  requestBody(): Uint8Array | undefined {
    return this.#request.length === 0 ? undefined : this.#request.bytes();
  }

  /** The first bytes of a request whose copy was dropped, to tell by whose it was; at most {@link REQUEST_HEAD_BYTES}. */
  requestHead(): Uint8Array | undefined {
    return this.#requestHead;
  }

  /** In pieces, laid end to end. Lent until the tap is released. */
  responseBody(): readonly Uint8Array[] {
    return this.#response.pieces();
  }

  arrivals(): readonly ChunkArrival[] {
    const arrivals: ChunkArrival[] = [];
    for (let index = 0; index < this.#arrivals.length; index += 2) {
      arrivals.push({ offset: this.#arrivals[index]!, at: this.#arrivals[index + 1]! });
    }
    return arrivals;
  }

  /** Bytes that were forwarded and not kept. */
  droppedBytes(): number {
    return this.#droppedBytes;
  }

  /** Takes the copies off the total: nobody reads them any more, and others may overwrite them. */
  release(): void {
    this.#memory.release((this.#arrivals.length / 2) * ARRIVAL_BYTES);
    this.#arrivals = [];
    this.#request.clear();
    this.#response.clear();
  }
}
