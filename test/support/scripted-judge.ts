import { JudgeError, type Judge, type JudgeRequest } from '../../src/judge/judge.ts';
import { readValue } from '../../src/judge/reading.ts';

/** A request as a scripted judge saw it. */
type SeenRequest = Pick<JudgeRequest<unknown>, 'schemaName' | 'messages' | 'repair'>;

/** A judge with its record. */
export interface ScriptedJudge extends Judge {
  /** One for each call, repair attempts included. */
  readonly seen: readonly SeenRequest[];
  /** Answers not yet given. */
  readonly left: () => number;
}

/**
 * Gives the answers in the order of the calls. An answer `{ _raise: text }` is a call that fails. An answer that does not
 * fit is asked for once more, as a real judge does, unless the request forbids it.
 */
export function scriptedJudge(answers: readonly unknown[]): ScriptedJudge {
  const seen: SeenRequest[] = [];
  const next = answers.values();
  let given = 0;
  return {
    model: 'scripted',
    seen,
    left: () => answers.length - given,
    async ask(request, { signal, onCall }) {
      for (let attempt = 0; ; attempt++) {
        signal.throwIfAborted();
        seen.push(request);
        const answer: unknown = next.next().value;
        given++;
        const raised = raisedBy(answer);
        const reading = raised === undefined ? readValue(answer, request) : undefined;
        const fault =
          reading === undefined
            ? new JudgeError('unavailable', raised ?? '')
            : reading.kind === 'problem'
              ? new JudgeError(reading.problem.type, reading.problem.message)
              : undefined;
        onCall?.({
          schemaName: request.schemaName,
          outcome: fault?.type ?? 'success',
          model: 'scripted',
          inputTokens: 10,
          outputTokens: 2,
          startedAt: 0,
          endedAt: 1,
        });
        if (reading?.kind === 'value') return reading.value;
        if (fault !== undefined && (request.repair === false || raised !== undefined || attempt > 0)) throw fault;
      }
    },
  };
}

export const NEVER = new AbortController().signal;

/** The text of an answer that stands for a call that fails, as the metric fixtures write it. */
function raisedBy(answer: unknown): string | undefined {
  return typeof answer === 'object' && answer !== null && '_raise' in answer
    ? String(Object.values(answer)[0])
    : undefined;
}
