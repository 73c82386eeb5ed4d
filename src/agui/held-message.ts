import type { Attachment, Message, ToolCall } from '../conversation/message.ts';
import { callState, type HeldCall, parsedArguments } from './held-call.ts';

/** A message while its exchange is being read. */
export interface HeldMessage {
  id: string;
  role: Message['role'];
  /** Text from the request or a snapshot; what the stream adds stands in `deltas`. */
  knownText: string;
  deltas: string[];
  /** How much of the end of `knownText` the stream had yet to say when a snapshot said it, in characters. */
  aheadBy: number;
  /** A START opened it anew although its text was known: the stream may be repeating that text. */
  replays: boolean;
  open: boolean;
  chunked: boolean;
  /** It was closed because its run or the stream ended. */
  partial: boolean;
  attachments: readonly Attachment[];
  calls: HeldCall[];
  readonly toolCallId: string;
  readonly error?: string;
  readonly subagent?: string;
  /** It was part of the request. */
  readonly fromRequest: boolean;
  /** The stream brought it or changed it. */
  changed: boolean;
  snapshotOmits: boolean;
  /** It only stands in for the parent of its call, which has not been named yet. */
  provisional: boolean;
  /** What it held has moved to another message, so it is one no more. */
  gone: boolean;
  /** Number of the run whose TOOL_CALL_RESULT brought it. */
  readonly resultOf?: number;
  /** Tool messages that follow it, up to the next message of another role. */
  results: HeldMessage[];
}

export const newMessage = (
  parts: Pick<HeldMessage, 'id' | 'role' | 'fromRequest'> & Partial<HeldMessage>,
): HeldMessage => ({
  knownText: '',
  deltas: [],
  aheadBy: 0,
  replays: false,
  open: false,
  chunked: false,
  partial: false,
  attachments: [],
  calls: [],
  toolCallId: '',
  changed: !parts.fromRequest,
  snapshotOmits: false,
  provisional: false,
  gone: false,
  results: [],
  ...parts,
});

/** The text so far. A stream that repeats what was known, from its beginning, continues it and does not double it. */
export function heldText(message: HeldMessage): string {
  if (message.deltas.length > 1) message.deltas = [message.deltas.join('')];
  const streamed = message.deltas[0] ?? '';
  const known = message.knownText;
  if (message.aheadBy > 0) {
    const ahead = known.slice(-message.aheadBy);
    if (ahead.startsWith(streamed)) return known;
    if (streamed.startsWith(ahead)) return known.slice(0, -message.aheadBy) + streamed;
  }
  if (message.replays && known !== '') {
    if (streamed.startsWith(known)) return streamed;
    const cutShort = message.open || message.partial;
    if (cutShort && known.startsWith(streamed)) return known;
  }
  return known + streamed;
}

/** Replaces the text by one that did not come in deltas. */
export function setText(message: HeldMessage, text: string): void {
  message.knownText = text;
  message.deltas = [];
  message.aheadBy = 0;
  message.replays = false;
}

/** What was streamed so far, or nothing: the text is known from the request or a snapshot. */
export const isStreamed = (message: HeldMessage): boolean => message.deltas.length > 0;

/** @param answered ids of the calls that have a result. */
export function toMessage(held: HeldMessage, answered: ReadonlySet<string>): Message {
  const base = {
    id: held.id,
    text: heldText(held),
    ...(held.snapshotOmits ? { snapshotOmits: true as const } : {}),
    ...(held.subagent === undefined ? {} : { subagent: held.subagent }),
  };
  const attachments = held.attachments.length > 0 ? { attachments: held.attachments } : {};
  switch (held.role) {
    case 'assistant': {
      const toolCalls = held.calls.map((call) => toToolCall(call, answered));
      return { role: held.role, ...base, toolCalls, ...(held.partial ? { partial: true as const } : {}) };
    }
    case 'tool':
      return {
        role: held.role,
        ...base,
        toolCallId: held.toolCallId,
        ...(held.error === undefined ? {} : { error: held.error }),
        ...attachments,
      };
    default:
      return { role: held.role, ...base, ...attachments };
  }
}

function toToolCall(call: HeldCall, answered: ReadonlySet<string>): ToolCall {
  return {
    id: call.id,
    name: call.name ?? UNKNOWN_TOOL,
    args: parsedArguments(call),
    state: callState(call, answered.has(call.id)),
  };
}

/** Name of a call that is known only by its result. */
export const UNKNOWN_TOOL = 'unknown_tool';
