import type { ChunkArrival } from '../agui/capture.ts';
import { createSlab, type MemoryGrant } from './slab.ts';

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

/** A copy of one exchange's bodies, taken after they were forwarded. */
export interface Tap {
  request(chunk: Uint8Array): void;
  /** `at`: arrival, epoch milliseconds. */
  response(chunk: Uint8Array, at: number): void;
  /** Absent when it was empty, or over a bound: half a body says nothing. */
  requestBody(): Uint8Array | undefined;
  /** The first bytes of a request whose copy was dropped, to tell by whose it was; at most {@link REQUEST_HEAD_BYTES}. */
  requestHead(): Uint8Array | undefined;
  responseBody(): Uint8Array;
  arrivals(): readonly ChunkArrival[];
  /** Bytes that were forwarded and not kept. */
  droppedBytes(): number;
  /** Opened under too much load: of its exchange, only the first bytes of the request are kept. */
  readonly isShed: boolean;
  /** Takes the copies off the total: nobody reads them any more. */
  release(): void;
}

/** Opens taps that share one total. */
export type TapPool = () => Tap;

/**
 * A tap gives up rather than grow: over a bound, the request's copy is dropped whole and the response's ends where it
 * is, as a prefix. The total counts what is allocated, not what is used of it.
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

  return () => {
    const request = createSlab(maxExchangeBytes, memory);
    const response = createSlab(maxExchangeBytes, memory);
    // Two lists of numbers rather than one of objects, which would outlive many rounds of the garbage collector.
    let offsets: number[] = [];
    let times: number[] = [];
    let droppedBytes = 0;
    const isShed = isOverloaded();
    let requestOver = isShed;
    let requestHead: Uint8Array | undefined;
    let responseOver = isShed;

    function fits(chunk: Uint8Array): boolean {
      return request.length() + response.length() + chunk.length <= maxExchangeBytes;
    }

    function noteArrival(offset: number, at: number): boolean {
      const last = times[times.length - 1];
      if (last !== undefined && at - last < ARRIVAL_RESOLUTION_MS) return true;
      if (!memory.reserve(ARRIVAL_BYTES)) return false;
      offsets.push(offset);
      times.push(at);
      return true;
    }

    return {
      request(chunk) {
        if (!requestOver && fits(chunk) && request.append(chunk)) return;
        droppedBytes += request.length() + chunk.length;
        requestHead ??= Buffer.concat(
          [request.bytes(), chunk].map((bytes) => bytes.subarray(0, REQUEST_HEAD_BYTES)),
        ).subarray(0, REQUEST_HEAD_BYTES);
        requestOver = true;
        request.clear();
      },
      response(chunk, at) {
        const offset = response.length();
        if (!responseOver && fits(chunk) && response.append(chunk)) {
          responseOver = !noteArrival(offset, at);
          return;
        }
        droppedBytes += chunk.length;
        responseOver = true;
      },
      requestBody: () => (request.length() === 0 ? undefined : request.bytes()),
      requestHead: () => requestHead,
      responseBody: () => response.bytes(),
      arrivals: () => offsets.map((offset, index) => ({ offset, at: times[index]! })),
      droppedBytes: () => droppedBytes,
      isShed,
      release() {
        memory.release(offsets.length * ARRIVAL_BYTES);
        offsets = [];
        times = [];
        request.clear();
        response.clear();
      },
    };
  };
}
