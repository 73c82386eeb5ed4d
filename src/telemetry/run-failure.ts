import type { Exchange, Run } from '../agui/exchange.ts';
import { isPartlyRead } from '../agui/findings.ts';
import type { RequestEnd } from '../proxy/observer.ts';
import { OTHER } from './semconv.ts';
import { toName } from './span-context.ts';

/** What went wrong in a run, for its span. */
export interface RunFailure {
  /** Value of `error.type`. */
  readonly type: string;
  /** What the span's status says; absent when it is not the agent's error and the status stays unset. */
  readonly description?: string;
}

/**
 * Reads the failure from the facts on the wire, the most certain first: what the client did, what the transport did, what
 * the status said, and only then what the stream said. Messages of the agent are content and are never taken.
 */
export function failureOf(end: RequestEnd, exchange: Exchange | undefined): RunFailure | undefined {
  // The sidecar's own end cuts streams too: `shutting_down`, which is no more the agent's failure than the client's leaving.
  if (end.transport === 'client_aborted') return { type: end.errorCode ?? 'client_disconnect' };
  if (end.errorCode !== undefined) {
    return {
      type: end.errorCode,
      description: `the request ended without the agent's own answer, or before the end of it: ${end.errorCode}`,
    };
  }
  if (end.transport === 'upstream_error') {
    return { type: 'upstream_reset', description: 'the agent broke off its response' };
  }
  if (end.status !== undefined && end.status >= 400) {
    return { type: String(end.status), description: `the agent answered with status ${end.status}` };
  }
  if (exchange?.ending === 'run_error') {
    const code = exchange.runs.findLast(({ error }) => error?.code)?.error?.code ?? '';
    return { type: toName(code) || OTHER, description: 'the agent reported RUN_ERROR' };
  }
  if (exchange && isCutShort(exchange)) {
    return { type: 'stream_truncated', description: 'the stream ended with neither RUN_FINISHED nor RUN_ERROR' };
  }
  return undefined;
}

/** Whether the agent closed its stream without an end. Where the tap stopped reading before, nobody knows. */
export const isCutShort = ({ ending, findings }: Exchange): boolean =>
  ending === 'truncated' && !isPartlyRead(findings);

const FINISH_REASON: { readonly [ending in Run['ending']]?: string } = {
  success: 'stop',
  interrupt: 'interrupt',
  cancelled: 'cancelled',
  run_error: 'error',
};

/** One reason for each run that RUN_FINISHED or RUN_ERROR ended, in order; a run that neither ended has none. */
export function finishReasonsOf(runs: readonly Run[]): string[] {
  return runs.flatMap(({ ending }) => FINISH_REASON[ending] ?? []);
}
