import type { PromptMessage } from '../conversation/message.ts';
import type { JsonValue } from '../lib/json.ts';
import type { Content } from './content.ts';
import type { Interrupt, TokenUsage } from './exchange.ts';

/**
 * An AG-UI event as far as the collector needs it: what a transcript is made of, and what ends a message that is being
 * assembled from chunks. RAW, state, `rawEvent`, `metadata` and every `encryptedValue` go no further than its reader.
 */
export type StreamEvent = {
  /** The sub-agent run that the event is attributed to; absent for the parent agent. */
  readonly subagent?: string;
} & (RunEvent | TextEvent | CallEvent | SideEvent | MessagesSnapshot);

export type RunEvent = RunStarted | RunFinished | RunFailed | RunCancelled;

export interface RunStarted {
  readonly kind: 'run_started';
  /** Empty when it is missing, as are the ids of {@link RunFinished}. */
  readonly threadId: string;
  readonly runId: string;
  readonly parentRunId: string | undefined;
  /** Messages of the echoed input, as they were sent. */
  readonly messages: JsonValue | undefined;
}

export interface RunFinished {
  readonly kind: 'run_finished';
  readonly threadId: string;
  readonly runId: string;
  readonly outcome: 'success' | 'interrupt' | 'cancelled';
  readonly interrupts: readonly Interrupt[];
  readonly usage: TokenUsage | null;
}

export interface RunFailed {
  readonly kind: 'run_error';
  readonly message: string;
  readonly code: string | undefined;
  readonly usage: TokenUsage | null;
}

/** A notice outside every schema. The run's terminal event may follow or not. */
interface RunCancelled {
  readonly kind: 'run_cancelled';
}

interface MessagesSnapshot {
  readonly kind: 'messages_snapshot';
  readonly messages: JsonValue | undefined;
}

export type TextRole = PromptMessage['role'] | 'assistant';

/** `id` is absent where the event has none: a fault, except in a chunk, where it means "the same as before". */
export type TextEvent =
  | { readonly kind: 'text_start'; readonly id: string | undefined; readonly role: TextRole; readonly chunked?: true }
  | { readonly kind: 'text_content'; readonly id: string | undefined; readonly delta: string }
  | { readonly kind: 'text_end'; readonly id: string | undefined }
  | TextChunk;

export interface TextChunk {
  readonly kind: 'text_chunk';
  readonly id: string | undefined;
  readonly role: TextRole | undefined;
  readonly delta: string | undefined;
}

export type CallEvent =
  | CallStart
  | CallNamed
  | { readonly kind: 'call_args'; readonly id: string | undefined; readonly delta: string }
  | { readonly kind: 'call_end'; readonly id: string | undefined }
  | CallChunk
  | CallResult;

export interface CallStart {
  readonly kind: 'call_start';
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly parentMessageId: string | undefined;
  readonly chunked?: true;
}

/** What a later chunk says of a call that the first chunk left out. Chunk expansion makes it; none is on the wire. */
export interface CallNamed {
  readonly kind: 'call_named';
  readonly id: string;
  readonly name: string | undefined;
  readonly parentMessageId: string | undefined;
}

export interface CallChunk {
  readonly kind: 'call_chunk';
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly parentMessageId: string | undefined;
  readonly delta: string | undefined;
}

export interface CallResult {
  readonly kind: 'call_result';
  readonly id: string | undefined;
  readonly callId: string | undefined;
  readonly content: Content;
}

type SideEvent =
  | { readonly kind: 'reasoning'; readonly id: string | undefined; readonly hasContent: boolean }
  | { readonly kind: 'reasoning_chunk'; readonly id: string | undefined }
  | { readonly kind: 'activity'; readonly id: string | undefined }
  | { readonly kind: 'interrupt'; readonly interrupt: Interrupt }
  | { readonly kind: 'subagent_ended' }
  /** State, steps, custom events: of no use here, except that they end a chunked message of the same agent. */
  | { readonly kind: 'lane_end' }
  | { readonly kind: 'ignored' };
