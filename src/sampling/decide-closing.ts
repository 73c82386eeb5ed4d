import { createHash } from 'node:crypto';
import { hasUserTurn, isPartlySeen } from '../conversation/completion.ts';
import { threadKeyText, type Conversation } from '../conversation/conversation.ts';
import type { Closing } from '../conversation/threads.ts';
import type { Decision, ScoringJob } from '../scoring/scorecard.ts';
import { decideSampling, type SamplingOptions } from './decide.ts';

export interface ClosingRules {
  readonly sampling: SamplingOptions;
  /** Versions of the metrics that apply to the agent; empty when nothing is judged. */
  readonly evaluatorVersions: readonly string[];
  /** What becomes of a conversation that was open and at rest when the process stopped. */
  readonly openAtStop: 'judge' | 'expire';
}

/** What becomes of a closed conversation: a job for the judge, or a decision that ends it here. */
export type ClosingDecision =
  | { readonly kind: 'judge'; readonly job: ScoringJob }
  | { readonly kind: 'decided'; readonly decision: Decision };

/** Decides once per closing. Facts about the conversation come before chance, so the sample is drawn from what counts. */
export function decideClosing(closing: Closing, rules: ClosingRules): ClosingDecision {
  const { conversation, cause } = closing;
  if (cause === 'evicted') return { kind: 'decided', decision: 'shed' };
  if (cause === 'unfinished') return { kind: 'decided', decision: 'expired' };
  if (cause === 'shutdown' && (rules.openAtStop === 'expire' || !isWholeAtStop(conversation))) {
    return { kind: 'decided', decision: 'expired' };
  }
  // First of all: what was not seen whole may have had a user turn.
  if (cause === 'waiting' || cause === 'open_run' || isPartlySeen(conversation)) {
    return { kind: 'decided', decision: 'incomplete' };
  }
  if (!hasUserTurn(conversation.messages)) return { kind: 'decided', decision: 'empty' };
  if (rules.evaluatorVersions.length === 0) return { kind: 'decided', decision: 'filtered' };

  const { sampled, probability, stratum } = decideSampling(conversation.key, rules.sampling);
  if (!sampled) return { kind: 'decided', decision: 'sampled_out' };
  const { key, messages, runs } = conversation;
  return {
    kind: 'judge',
    job: {
      id: jobId(closing, rules.evaluatorVersions),
      ...key,
      revision: closing.revision,
      cause,
      messages,
      ending: runs.at(-1)?.ending ?? 'success',
      runs: runs.map(({ runId, endedAt, trace }) => ({ runId, endedAt, trace })),
      probability,
      stratum,
      closedAt: closing.closedAt,
    },
  };
}

/**
 * Whether the last run came to an end of its own. One that broke off or could not be had is the agent's failure at other
 * times; now the agent may have been stopped together with the sidecar.
 */
function isWholeAtStop(conversation: Conversation): boolean {
  const ending = conversation.runs.at(-1)?.ending;
  return (ending === 'success' || ending === 'run_error' || ending === 'cancelled') && !isPartlySeen(conversation);
}

function jobId(closing: Closing, evaluatorVersions: readonly string[]): string {
  const identity = [threadKeyText(closing.conversation.key), closing.revision, closing.closedAt, evaluatorVersions];
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 32);
}
