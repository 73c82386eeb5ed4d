import { hash as digest } from 'node:crypto';
import type { Message } from '../conversation/message.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import { type Content, readContent } from './content.ts';
import { type Leniency, type NoteLeniency, readLeniently } from './lenient.ts';

/** A message as a request or a snapshot carries it, with the defaults filled in. */
export interface WireMessage extends Content {
  readonly role: Message['role'];
  readonly id: string;
  readonly calls: readonly WireToolCall[];
  /** Of a tool message; empty for every other. */
  readonly toolCallId: string;
  readonly error?: string;
  readonly subagent?: string;
}

export interface WireToolCall {
  readonly id: string;
  readonly name?: string;
  readonly arguments: string;
}

export interface WireMessages {
  readonly messages: readonly WireMessage[];
  /** Ids of reasoning and activity messages, which are no part of a transcript. */
  readonly sideIds: readonly string[];
}

export type NoteOddity = (oddity: Leniency | 'malformed_event', id: string) => void;

/**
 * Reads the `messages` of a RunAgentInput or a MESSAGES_SNAPSHOT, in steps. What is no message is left out and noted.
 */
export function* readingWireMessages(value: JsonValue | undefined, note: NoteOddity): Steps<WireMessages> {
  const messages: WireMessage[] = [];
  const sideIds: string[] = [];
  if (!Array.isArray(value)) {
    if (value !== undefined) note('malformed_event', 'messages');
    return { messages, sideIds };
  }
  const deriveId = idDeriver();
  for (const [index, item] of (value as readonly JsonValue[]).entries()) {
    if (index % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
    const id = isJsonObject(item) && typeof item.id === 'string' ? item.id : '';
    if (!isJsonObject(item)) {
      note('malformed_event', id);
      continue;
    }
    const fields = readLeniently(item, (leniency) => note(leniency, id));
    const { role } = fields;
    if (role === 'reasoning' || role === 'activity') sideIds.push(id);
    else if (isTranscriptRole(role)) {
      const message = readMessage(fields, role, note);
      messages.push(id === '' ? { ...message, id: deriveId(message) } : message);
    } else note('malformed_event', id);
  }
  return { messages, sideIds };
}

const TRANSCRIPT_ROLES: ReadonlySet<JsonValue | undefined> = new Set<Message['role']>([
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
]);

const isTranscriptRole = (role: JsonValue | undefined): role is Message['role'] => TRANSCRIPT_ROLES.has(role);

function readMessage(fields: JsonObject, role: Message['role'], note: NoteOddity): WireMessage {
  const id = typeof fields.id === 'string' ? fields.id : '';
  const noteLeniency: NoteLeniency = (leniency) => note(leniency, id);
  const content = readContent(fields.content, noteLeniency);
  if (content.malformed) note('malformed_event', id);
  return {
    ...content,
    role,
    id,
    calls: role === 'assistant' && Array.isArray(fields.toolCalls) ? readCalls(fields.toolCalls, id, note) : [],
    toolCallId: role === 'tool' && typeof fields.toolCallId === 'string' ? fields.toolCallId : '',
    ...(role === 'tool' && typeof fields.error === 'string' ? { error: fields.error } : {}),
    ...(typeof fields.subagentRunId === 'string' ? { subagent: fields.subagentRunId } : {}),
  };
}

function readCalls(values: readonly JsonValue[], messageId: string, note: NoteOddity): WireToolCall[] {
  const noteLeniency: NoteLeniency = (leniency) => note(leniency, messageId);
  return values.flatMap((item, index) => {
    if (!isJsonObject(item)) {
      note('malformed_event', messageId);
      return [];
    }
    const value = readLeniently(item, noteLeniency);
    // 1.0 nests name and arguments in `function`; hand-written servers write them beside the id.
    const call = isJsonObject(value.function) ? readLeniently(value.function, noteLeniency) : value;
    const args = call.arguments ?? call.args;
    return {
      id: typeof value.id === 'string' ? value.id : `${messageId}.${index + 1}`,
      ...(typeof call.name === 'string' ? { name: call.name } : {}),
      arguments: typeof args === 'string' ? args : readContent(args).text,
    };
  });
}

const DERIVED = 'derived-';

/** True for an id that was made from a message's words because its sender gave none: equal words, equal id. */
export const isDerivedId = (id: string): boolean => id.startsWith(DERIVED);

/**
 * Ids for messages that came without one (thin clients send none): equal for equal messages at the same repetition, so a
 * client that sends its whole history again gets the same ids again.
 */
function idDeriver(): (message: WireMessage) => string {
  const repetitions = new Map<string, number>();
  return (message) => {
    const words = JSON.stringify([message.role, message.text, message.toolCallId, message.calls]);
    const hash = digest('sha256', words, 'hex').slice(0, 16);
    const repetition = (repetitions.get(hash) ?? 0) + 1;
    repetitions.set(hash, repetition);
    return `${DERIVED}${hash}${repetition === 1 ? '' : `-${repetition}`}`;
  };
}
