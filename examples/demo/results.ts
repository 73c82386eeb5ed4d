import type { ReceivedSpan } from './otlp-receiver.ts';

/** What a metric said of a conversation, as its evaluation span tells it. */
export interface Result {
  readonly threadId: string;
  readonly metric: string;
  /** How often the thread had closed by then. */
  readonly revision: number;
  /** `scored`, `not_applicable` or `failed`. */
  readonly verdict: string;
  readonly value?: number;
  readonly label?: string;
  /** The judge's reason, why the metric does not apply, or the type of error. */
  readonly reason: string;
  readonly span: ReceivedSpan;
}

export function readResults(spans: readonly ReceivedSpan[]): Result[] {
  return spans
    .filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'evaluation')
    .map((span): Result => {
      const { attributes } = span;
      const value = attributes['gen_ai.evaluation.score.value'];
      const label = textOf(span, 'gen_ai.evaluation.score.label');
      return {
        threadId: textOf(span, 'gen_ai.conversation.id'),
        metric: textOf(span, 'gen_ai.evaluation.name'),
        revision: Number(attributes['ag_ui.evaluation.revision']),
        verdict: textOf(span, 'ag_ui.evaluation.verdict'),
        ...(typeof value === 'number' ? { value } : {}),
        ...(label === '' ? {} : { label }),
        reason: textOf(span, 'gen_ai.evaluation.explanation') || textOf(span, 'error.type'),
        span,
      };
    });
}

function textOf({ attributes }: ReceivedSpan, name: string): string {
  const value = attributes[name];
  return typeof value === 'string' ? value : '';
}

/** The result of a thread's latest closing: a thread that resumes is judged again as a whole. */
export function latest(results: readonly Result[], threadId: string, metric: string): Result | undefined {
  return results
    .filter((result) => result.threadId === threadId && result.metric === metric)
    .toSorted((a, b) => a.revision - b.revision)
    .at(-1);
}
