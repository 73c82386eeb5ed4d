import type { Message, ToolCall } from '../conversation/message.ts';
import type { JsonObject } from '../lib/json.ts';
import type { SpanLink } from './capture.ts';
import type { DroppedFindings, Finding } from './findings.ts';

/**
 * How one exchange ended, read from the wire and never from the agent's word alone. `run_error` covers an error after
 * RUN_FINISHED too; `truncated` is a stream that closed with no terminal event; a client that left wins over whatever
 * the agent sent afterwards.
 */
export type Ending =
  | 'success'
  | 'interrupt'
  | 'cancelled'
  | 'run_error'
  | 'truncated'
  | 'client_aborted'
  | 'upstream_error'
  | 'http_error';

/**
 * What an exchange is to its conversation. `replay`: a `/connect` or a re-sent run, compared and never counted again.
 * `auxiliary`: `suggest` and title runs. `probe`: a request with no messages that brought none. A closed list: it is the
 * label `kind` of `agui_stream_exchanges_total`.
 */
export const EXCHANGE_KINDS = ['run', 'replay', 'auxiliary', 'probe'] as const;

export type ExchangeKind = (typeof EXCHANGE_KINDS)[number];

/** Token counts of one run, summed over the models it used. Absent is not zero. */
export interface TokenUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly reasoningTokens?: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteInputTokens?: number;
}

/** One RUN_STARTED … terminal event span inside a stream; a stream may hold several. */
export interface Run {
  readonly threadId: string;
  readonly runId: string;
  readonly parentRunId?: string;
  readonly ending: Ending;
  readonly usage: TokenUsage | null;
  /** From RUN_ERROR. */
  readonly error?: { readonly message: string; readonly code?: string };
}

/**
 * A tool call as it was observed on the wire. Times are epoch milliseconds, to the whole millisecond since the exchange began;
 * absent when not observed.
 */
export interface ObservedToolCall {
  readonly id: string;
  readonly name: string;
  readonly startedAt?: number;
  /** Arrival of TOOL_CALL_RESULT, or of TOOL_CALL_END when there was no result. */
  readonly endedAt?: number;
  /** How far it came, as in the messages: answered, announced in full, or broken off. */
  readonly state: ToolCall['state'];
}

export interface Timing {
  /** Epoch milliseconds, as are all below. */
  readonly startedAt: number;
  /** Of events likewise, to the whole millisecond since the exchange began. */
  readonly firstEventAt?: number;
  /** First event that carries content: text, reasoning or a tool call. */
  readonly firstContentAt?: number;
  readonly endedAt: number;
}

/** One HTTP exchange with an agent that speaks AG-UI, as seen on the wire. */
export interface Exchange {
  readonly kind: ExchangeKind;
  readonly agent: string;
  readonly tenant?: string;
  /** The request's threadId; the first RUN_STARTED's when the request names none; empty when neither does. */
  readonly threadId: string;
  /** The request's runId, likewise. */
  readonly runId: string;
  readonly runs: readonly Run[];
  /** The request's claim of the history, in order. */
  readonly input: readonly Message[];
  /** What the stream brought or changed, in order. Messages of `input` that the stream changed are here too, by id. */
  readonly output: readonly Message[];
  /** Input and output merged: what a client holds when the stream has ended. */
  readonly messages: readonly Message[];
  readonly ending: Ending;
  /** HTTP status of the agent's answer; absent when it never answered. */
  readonly status?: number;
  /** Interrupts that wait for a person: from `outcome.interrupts` and CUSTOM `on_interrupt`. */
  readonly interrupts: readonly Interrupt[];
  /** Interrupts that this request answers (`resume[]`, `forwardedProps.command.resume`). */
  readonly resumes: boolean;
  readonly findings: readonly Finding[];
  /** Findings beyond the bound of what is kept for one exchange, by code; absent when there were none. */
  readonly findingsDropped?: readonly DroppedFindings[];
  /** Events by type; types outside AG-UI 1.0 and its predecessors are counted under `other`. */
  readonly eventCounts: Readonly<Record<string, number>>;
  readonly toolCalls: readonly ObservedToolCall[];
  readonly timing: Timing;
  /** Summed over `runs`. */
  readonly usage?: TokenUsage;
  readonly trace: SpanLink;
}

export interface Interrupt {
  readonly id: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  /** The arguments that wait for approval, when the interrupt carries them and they can be written down again. */
  readonly args?: JsonObject;
}
