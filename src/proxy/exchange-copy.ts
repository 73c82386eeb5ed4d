import type { Arrival } from '../agui/capture.ts';
import type { Tap } from './tap.ts';

/** What was copied of an exchange; lent until the copy is released. */
export interface CopiedBodies {
  readonly requestBody: Uint8Array | undefined;
  /** First bytes of a request that was not copied whole. */
  readonly requestHead: Uint8Array | undefined;
  readonly responseBody: Iterable<Arrival>;
  /** Some of it was forwarded and not copied. */
  readonly truncated: boolean;
}

export interface ExchangeCopyOptions {
  /** Opens a tap for this exchange, or decides against it. */
  readonly openTap: () => Tap | undefined;
  /** Bytes that were forwarded and, over a bound of the tap or under load, not copied. Called once for each exchange. */
  readonly onTapDropped: (bytes: number) => void;
  /** An exchange was not copied because the process runs late. */
  readonly onTapShed: () => void;
}

/** The tap of one exchange behind a guard: no method throws, and a tap that threw once is not used again. */
export class ExchangeCopy {
  readonly #options: ExchangeCopyOptions;
  readonly #report: (fault: unknown) => void;
  #tap: Tap | undefined;

  /** @param report told what was thrown; does not throw. */
  constructor(options: ExchangeCopyOptions, report: (fault: unknown) => void) {
    this.#options = options;
    this.#report = report;
    try {
      this.#tap = options.openTap();
    } catch (fault) {
      report(fault);
    }
  }

  get isOpen(): boolean {
    return this.#tap !== undefined;
  }

  request(chunk: Uint8Array): void {
    try {
      this.#tap?.request(chunk);
    } catch (fault) {
      this.#giveUp(fault);
    }
  }

  /** From `start` to `end` of `bytes`, which arrived `ms` after the exchange began: a whole number in [0, 2³²). */
  response(bytes: Buffer, start: number, end: number, ms: number): void {
    try {
      this.#tap?.response(bytes, start, end, ms);
    } catch (fault) {
      this.#giveUp(fault);
    }
  }

  /** The request as far as it was copied: all, or the first bytes of one that is over a bound. */
  requestBeginning(): Uint8Array | undefined {
    try {
      return this.#tap?.requestBody() ?? this.#tap?.requestHead();
    } catch (fault) {
      this.#giveUp(fault);
      return undefined;
    }
  }

  /** @param startedAt when the exchange began, in epoch milliseconds. */
  bodies(startedAt: number): CopiedBodies | undefined {
    const tap = this.#tap;
    if (!tap) return undefined;
    try {
      return {
        requestBody: tap.requestBody(),
        requestHead: tap.requestHead(),
        responseBody: tap.responseBody(startedAt),
        truncated: tap.droppedBytes() > 0,
      };
    } catch (fault) {
      this.#giveUp(fault);
      return undefined;
    }
  }

  /** Reports what was left out, if the copy is still wanted. Call it once. */
  countOmissions(): void {
    const { onTapDropped, onTapShed } = this.#options;
    try {
      const droppedBytes = this.#tap?.droppedBytes() ?? 0;
      if (droppedBytes > 0) onTapDropped(droppedBytes);
      if (this.#tap?.isShed) onTapShed();
    } catch (fault) {
      this.#report(fault);
    }
  }

  /** Gives the memory back. The copy is closed then. */
  release(): void {
    const tap = this.#tap;
    this.#tap = undefined;
    try {
      tap?.release();
    } catch (fault) {
      this.#report(fault);
    }
  }

  #giveUp(fault: unknown): void {
    this.#report(fault);
    this.release();
  }
}
