import type { JsonObject } from '../lib/json.ts';

/** A part of a multimodal message that is not text. Its bytes are never kept. */
export interface Attachment {
  /** The part's type on the wire: image, audio, video, document, binary, or what an unknown part called itself. */
  readonly type: string;
  readonly mimeType?: string;
  /** Size of inline data in bytes, after base64; absent for parts given by reference. */
  readonly bytes?: number;
}

/** Tool arguments whose text is not a JSON object, kept as they were sent. */
export interface UnparsedArguments {
  readonly unparsed: string;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject | UnparsedArguments;
  /** `open`: its arguments never ended. `complete`: announced in full, no result seen. `answered`: a result was seen. */
  readonly state: 'open' | 'complete' | 'answered';
}

/** Arguments that are an object with more members than that are the caller's own, whatever they are called. */
export const isUnparsed = (args: ToolCall['args']): args is UnparsedArguments =>
  typeof args.unparsed === 'string' && Object.keys(args).length === 1;

interface MessageBase {
  readonly id: string;
  readonly text: string;
  /** A MESSAGES_SNAPSHOT left this observed message out; it is kept all the same. */
  readonly snapshotOmits?: true;
  /** The sub-agent run that wrote it; absent for the parent agent. */
  readonly subagent?: string;
}

export interface PromptMessage extends MessageBase {
  readonly role: 'system' | 'developer' | 'user';
  readonly attachments?: readonly Attachment[];
}

export interface AssistantMessage extends MessageBase {
  readonly role: 'assistant';
  readonly toolCalls: readonly ToolCall[];
  /** The stream ended before the message did. */
  readonly partial?: true;
}

export interface ToolMessage extends MessageBase {
  readonly role: 'tool';
  readonly toolCallId: string;
  /** What the client reported as the tool's failure; only messages of a request or snapshot carry it. */
  readonly error?: string;
  readonly attachments?: readonly Attachment[];
}

/** One turn of a conversation as a judge reads it. Reasoning and activity messages are not among them. */
export type Message = PromptMessage | AssistantMessage | ToolMessage;
