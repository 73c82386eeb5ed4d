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
  readonly #maxBytes: number;
  readonly #memory: MemoryGrant;
  readonly #request: Slab;
  readonly #response: Slab;
  // Two lists of numbers rather than one of objects, which would outlive many rounds of the garbage collector.
  #offsets: number[] = [];
  #times: number[] = [];
  #droppedBytes = 0;
  #isRequestOver: boolean;
  #isResponseOver: boolean;
  #requestHead: Uint8Array | undefined;
  /** Opened under too much load: of its exchange, only the first bytes of the request are kept. */
  readonly isShed: boolean;

  constructor(maxBytes: number, memory: MemoryGrant, isShed: boolean) {
    this.#maxBytes = maxBytes;
    this.#memory = memory;
    this.#request = new Slab(maxBytes, memory);
    this.#response = new Slab(maxBytes, memory);
    this.#isRequestOver = isShed;
    this.#isResponseOver = isShed;
    this.isShed = isShed;
  }

  request(chunk: Uint8Array): void {
    const copied = this.#request;
    if (!this.#isRequestOver && this.#fits(chunk) && copied.append(chunk)) return;
    this.#droppedBytes += copied.length + chunk.length;
    this.#requestHead ??= Buffer.concat(
      [copied.bytes(), chunk].map((bytes) => bytes.subarray(0, REQUEST_HEAD_BYTES)),
    ).subarray(0, REQUEST_HEAD_BYTES);
    this.#isRequestOver = true;
    copied.clear();
  }

  /** `at`: arrival, epoch milliseconds. */
  response(chunk: Uint8Array, at: number): void {
    const offset = this.#response.length;
    if (!this.#isResponseOver && this.#fits(chunk) && this.#response.append(chunk)) {
      this.#isResponseOver = !this.#noteArrival(offset, at);
      return;
    }
    this.#droppedBytes += chunk.length;
    this.#isResponseOver = true;
  }

  #fits(chunk: Uint8Array): boolean {
    return this.#request.length + this.#response.length + chunk.length <= this.#maxBytes;
  }

  #noteArrival(offset: number, at: number): boolean {
    const last = this.#times[this.#times.length - 1];
    if (last !== undefined && at - last < ARRIVAL_RESOLUTION_MS) return true;
    if (!this.#memory.reserve(ARRIVAL_BYTES)) return false;
    this.#offsets.push(offset);
    this.#times.push(at);
    return true;
  }

  /** Absent when it was empty, or over a bound: half a body says nothing. */
  requestBody(): Uint8Array | undefined {
    return this.#request.length === 0 ? undefined : this.#request.bytes();
  }

  /** The first bytes of a request whose copy was dropped, to tell by whose it was; at most {@link REQUEST_HEAD_BYTES}. */
  requestHead(): Uint8Array | undefined {
    return this.#requestHead;
  }

  responseBody(): Uint8Array {
    return this.#response.bytes();
  }

  arrivals(): readonly ChunkArrival[] {
    return this.#offsets.map((offset, index) => ({ offset, at: this.#times[index]! }));
  }

  /** Bytes that were forwarded and not kept. */
  droppedBytes(): number {
    return this.#droppedBytes;
  }

  /** Takes the copies off the total: nobody reads them any more. */
  release(): void {
    this.#memory.release(this.#offsets.length * ARRIVAL_BYTES);
    this.#offsets = [];
    this.#times = [];
    this.#request.clear();
    this.#response.clear();
  }
}
