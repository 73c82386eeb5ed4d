import { JudgeError, type Judge, type JudgeRequest } from '../../src/judge/judge.ts';
import { readValue, type Reading } from '../../src/judge/reading.ts';

/** A request as a scripted judge saw it. */
type SeenRequest = Pick<JudgeRequest<unknown>, 'schemaName' | 'messages' | 'repair'>;

/** A judge with its record. */
export interface ScriptedJudge extends Judge {
  /** One for each call. */
  readonly seen: readonly SeenRequest[];
  /** Answers not yet given. */
  readonly left: () => number;
}

/**
 * Gives the answers in the order of the calls. An answer `{ _raise: text }` is a call that fails. An answer that cannot be
 * used fails at once: what a judge does about one is its own matter, and tested with a real one.
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
      signal.throwIfAborted();
      seen.push(request);
      given++;
      const reading = readAnswer(next.next().value, request);
      onCall?.({
        schemaName: request.schemaName,
        outcome: reading.kind === 'value' ? 'success' : reading.problem.type,
        model: 'scripted',
        inputTokens: 10,
        outputTokens: 2,
        startedAt: 0,
        endedAt: 1,
      });
      if (reading.kind === 'value') return reading.value;
      throw new JudgeError(reading.problem.type, reading.problem.message);
    },
  };
}

function readAnswer<T>(answer: unknown, request: JudgeRequest<T>): Reading<T> {
  const raised = raisedBy(answer);
  if (raised === undefined) return readValue(answer, request);
  return { kind: 'problem', problem: { type: 'unavailable', message: raised } };
}

export const NEVER = new AbortController().signal;

/** The text of an answer that stands for a call that fails, as the metric fixtures write it. */
function raisedBy(answer: unknown): string | undefined {
  return typeof answer === 'object' && answer !== null && '_raise' in answer
    ? String(Object.values(answer)[0])
    : undefined;
}
