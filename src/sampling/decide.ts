import type { ThreadKey } from '../conversation/conversation.ts';
import { unitHash } from './hash.ts';

export interface SamplingDecision {
  readonly sampled: boolean;
  /** The inclusion probability π, in [0, 1]; positive whenever `sampled` is true. */
  readonly probability: number;
  readonly stratum: string;
}

export interface SamplingOptions {
  /** Share of conversations to judge, in [0, 1]. */
  readonly rate: number;
  /** Changes which threads are chosen without changing how many. Default: empty. */
  readonly salt?: string;
}

/**
 * Decides whether a conversation is judged. The same thread gets the same answer on every replica, for every run and
 * every revision, and a thread chosen at one rate is chosen at every higher one.
 */
export function decideSampling(key: ThreadKey, { rate, salt = '' }: SamplingOptions): SamplingDecision {
  const sampled = unitHash([salt, key.agent, key.tenant ?? null, key.threadId]) < rate;
  return { sampled, probability: rate, stratum: 'default' };
}
