import type { SpanLink } from '../agui/capture.ts';
import type { Ending, Interrupt } from '../agui/exchange.ts';
import type { Message } from './message.ts';

/**
 * Which thread an exchange belongs to. `threadId` alone is neither unique nor an authorization boundary, so the agent
 * and, where configured, the tenant are part of the key.
 */
export interface ThreadKey {
  readonly agent: string;
  readonly tenant?: string;
  readonly threadId: string;
}

/** The thread that something belongs to, when it names one. */
export function threadKeyOf({ agent, tenant, threadId }: ThreadKey): ThreadKey {
  return tenant === undefined ? { agent, threadId } : { agent, tenant, threadId };
}

/** A {@link ThreadKey} as one string; different keys never give the same one. */
export function threadKeyText(key: ThreadKey): string {
  return JSON.stringify([key.agent, key.tenant ?? null, key.threadId]);
}

/** One run of the conversation, as far as later stages need it. */
export interface ConversationRun {
  readonly runId: string;
  readonly ending: Ending;
  /** Epoch milliseconds. */
  readonly endedAt: number;
  readonly trace: SpanLink;
  /** HTTP status of the agent's answer; absent when it never answered. */
  readonly status?: number;
}

/** A thread's exchanges merged into one sequence of messages. */
export interface Conversation {
  readonly key: ThreadKey;
  /** The branch that is alive, in the order a reader sees it. */
  readonly messages: readonly Message[];
  /** Tails that an edit or a regeneration cut off, oldest first. Never judged. */
  readonly superseded: readonly (readonly Message[])[];
  /** Runs in order of their arrival; at most {@link RUN_LIMIT}, the latest. */
  readonly runs: readonly ConversationRun[];
  /** Interrupts that no later request has answered. */
  readonly openInterrupts: readonly Interrupt[];
  /**
   * What some run said is known in part only, since the tap gave up or could not decode it; or a run of the agent went by
   * unseen, and it may have been one of this thread. It is never judged, and from that run on no words of it are held.
   */
  readonly mayHaveGap: boolean;
}

/** Runs kept per conversation. OpenTelemetry SDKs accept 128 links on a span. */
export const RUN_LIMIT = 129;

/** Superseded tails kept per conversation; older ones are dropped, since nothing is scored from them. */
export const SUPERSEDED_LIMIT = 8;
