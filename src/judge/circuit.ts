import type { Admission } from '../lib/admission.ts';
import { JudgeError, type JudgeErrorType } from './judge.ts';

/**
 * Spares an endpoint that refuses everybody, for a wrong key or an unknown model, or sends anybody more than an answer, the
 * questions that would fare likewise (evaluation.md section 4). Open, it fails questions at once with the failure that
 * opened it; after the cool-down one question is let through, the others wait for what becomes of it, and that decides.
 * Whoever hands out work asks `admission` first, so that nothing is used up on an open circuit.
 */
export interface Circuit {
  /**
   * Runs `work`, unless the circuit is open.
   *
   * @throws {JudgeError} of the failure's type while the circuit is open.
   */
  pass<T>(work: () => Promise<T>): Promise<T>;
  admission(): Admission;
  open(failure: { readonly type: JudgeErrorType; readonly message: string }): void;
  close(): void;
}

export function createCircuit({ coolDownMs, now }: { coolDownMs: number; now: () => number }): Circuit {
  let pause: { type: JudgeErrorType; message: string; until: number; probe?: Promise<unknown> } | undefined;

  async function pass<T>(work: () => Promise<T>): Promise<T> {
    const current = pause;
    if (current === undefined) return work();
    if (now() < current.until) {
      throw new JudgeError(current.type, `not asked, because a moment ago ${current.message}`);
    }
    if (current.probe) {
      await Promise.allSettled([current.probe]);
      return pass(work);
    }
    const probe = work();
    current.probe = probe;
    try {
      return await probe;
    } finally {
      // Neither opened anew nor closed: the probe told nothing, so the next question is one.
      delete current.probe;
    }
  }

  return {
    pass,
    admission() {
      if (pause === undefined) return { limit: Infinity };
      return now() < pause.until ? { limit: 0, askAgainAt: pause.until } : { limit: 1 };
    },
    open({ type, message }) {
      pause = { type, message, until: now() + coolDownMs };
    },
    close() {
      pause = undefined;
    },
  };
}
