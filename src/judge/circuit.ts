import { JudgeError, type JudgeErrorType } from './judge.ts';

/**
 * Spares an endpoint that refuses everybody, for a wrong key or an unknown model, the questions that it would refuse as
 * well (evaluation.md section 4). Open, it fails questions at once with the failure that opened it; after the cool-down
 * one question is let through, and what becomes of it decides.
 */
export interface Circuit {
  /**
   * Runs `work`, unless the circuit is open.
   *
   * @throws {JudgeError} of the failure's type while the circuit is open.
   */
  pass<T>(work: () => Promise<T>): Promise<T>;
  open(failure: { readonly type: JudgeErrorType; readonly message: string }): void;
  close(): void;
}

export function createCircuit({ coolDownMs, now }: { coolDownMs: number; now: () => number }): Circuit {
  let pause: { type: JudgeErrorType; message: string; until: number; probing: boolean } | undefined;

  return {
    async pass(work) {
      const current = pause;
      if (current === undefined) return work();
      if (current.probing || now() < current.until) {
        throw new JudgeError(current.type, `not asked, because a moment ago ${current.message}`);
      }
      current.probing = true;
      try {
        return await work();
      } finally {
        // Neither opened anew nor closed: the probe told nothing, so the next question is one.
        current.probing = false;
      }
    },
    open({ type, message }) {
      pause = { type, message, until: now() + coolDownMs, probing: false };
    },
    close() {
      pause = undefined;
    },
  };
}
