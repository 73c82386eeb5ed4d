import type { ChunkArrival } from '../agui/capture.ts';
import type { Tap } from './tap.ts';

/** What was copied of an exchange. */
export interface CopiedBodies {
  readonly requestBody: Uint8Array | undefined;
  /** First bytes of a request that was not copied whole. */
  readonly requestHead: Uint8Array | undefined;
  readonly responseBody: Uint8Array;
  readonly arrivals: readonly ChunkArrival[];
  /** Some of it was forwarded and not copied. */
  readonly truncated: boolean;
}

/** The tap of one exchange behind a guard: no method throws, and a tap that threw once is not used again. */
export interface ExchangeCopy {
  request(chunk: Uint8Array): void;
  /** `at`: arrival, epoch milliseconds. */
  response(chunk: Uint8Array, at: number): void;
  isOpen(): boolean;
  /** The request as far as it was copied: all, or the first bytes of one that is over a bound. */
  requestBeginning(): Uint8Array | undefined;
  bodies(): CopiedBodies | undefined;
  /** Reports what was left out, since the copy is wanted or would have been. Call it once. */
  countOmissions(): void;
  /** Gives the memory back. The copy is closed then. */
  release(): void;
}

export interface ExchangeCopyOptions {
  /** Opens a tap for this exchange, or decides against it. */
  readonly openTap: () => Tap | undefined;
  /** Bytes that were forwarded and, over a bound of the tap or under load, not copied. Called once for each exchange. */
  readonly onTapDropped: (bytes: number) => void;
  /** An exchange was not copied because the process runs late. */
  readonly onTapShed: () => void;
  /** Told what was thrown; does not throw. */
  readonly report: (fault: unknown) => void;
}

export function openCopy({ openTap, onTapDropped, onTapShed, report }: ExchangeCopyOptions): ExchangeCopy {
  let tap: Tap | undefined;
  try {
    tap = openTap();
  } catch (fault) {
    report(fault);
  }

  /** Does something with the tap while there is one. */
  function use<Value>(work: (open: Tap) => Value): Value | undefined {
    if (!tap) return undefined;
    try {
      return work(tap);
    } catch (fault) {
      report(fault);
      release();
      return undefined;
    }
  }

  function release(): void {
    const open = tap;
    tap = undefined;
    try {
      open?.release();
    } catch (fault) {
      report(fault);
    }
  }

  return {
    request: (chunk) => use((open) => open.request(chunk)),
    // Spelled out, since it is done for every chunk.
    response(chunk, at) {
      try {
        tap?.response(chunk, at);
      } catch (fault) {
        report(fault);
        release();
      }
    },
    isOpen: () => tap !== undefined,
    requestBeginning: () => use((open) => open.requestBody() ?? open.requestHead()),
    bodies: () =>
      use((open) => ({
        requestBody: open.requestBody(),
        requestHead: open.requestHead(),
        responseBody: open.responseBody(),
        arrivals: open.arrivals(),
        truncated: open.droppedBytes() > 0,
      })),
    countOmissions() {
      try {
        const droppedBytes = tap?.droppedBytes() ?? 0;
        if (droppedBytes > 0) onTapDropped(droppedBytes);
        if (tap?.isShed) onTapShed();
      } catch (fault) {
        report(fault);
      }
    },
    release,
  };
}
