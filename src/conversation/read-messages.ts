import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import { arrayAt, objectAt, optionalStringAt, refuseOtherForm, stringAt, unexpected } from './message-fields.ts';
import type { Attachment, Message, ToolCall } from './message.ts';
import { fromRagasMessages } from './ragas.ts';

/**
 * Reads the messages of a row: our own form, whose ids and call states may be left out, or the Ragas form. The first
 * message decides which: Ragas messages have a `type`, ours a `role`.
 *
 * @param path how the list is called in errors.
 * @throws {MessageFormatError} naming the place, as in `messages[3].role`.
 */
export function readMessages(value: JsonValue | undefined, path = 'messages'): Message[] {
  if (!Array.isArray(value)) throw unexpected(path, value, 'a list of messages');
  const rows: readonly JsonValue[] = value;
  const first = rows[0];
  if (isJsonObject(first) && first.type !== undefined && first.role === undefined) return fromRagasMessages(rows, path);

  const answered = new Set(rows.flatMap((row) => (isJsonObject(row) && row.role === 'tool' ? [row.toolCallId] : [])));
  return rows.map((row, index) => readMessage(row, `${path}[${index}]`, index, answered));
}

function readMessage(
  value: JsonValue,
  path: string,
  index: number,
  answered: ReadonlySet<JsonValue | undefined>,
): Message {
  const row = objectAt(value, path);
  refuseOtherForm(row, path, 'own');
  const { role } = row;
  const subagent = optionalStringAt(row.subagent, `${path}.subagent`);
  const base = {
    id: optionalStringAt(row.id, `${path}.id`) ?? `message-${index + 1}`,
    ...(row.snapshotOmits === true ? { snapshotOmits: true as const } : {}),
    ...(subagent === undefined ? {} : { subagent }),
  };
  switch (role) {
    case 'system':
    case 'developer':
    case 'user':
      return { role, ...base, text: stringAt(row.text, `${path}.text`), ...readAttachments(row, path) };
    case 'assistant': {
      const toolCalls = arrayAt(row.toolCalls, `${path}.toolCalls`).map((call, place) =>
        readToolCall(call, `${path}.toolCalls[${place}]`, `call-${index + 1}-${place + 1}`, answered),
      );
      const text = toolCalls.length > 0 ? (row.text ?? '') : row.text;
      const partial = row.partial === true ? { partial: true as const } : {};
      return { role, ...base, text: stringAt(text, `${path}.text`), toolCalls, ...partial };
    }
    case 'tool': {
      const error = optionalStringAt(row.error, `${path}.error`);
      return {
        role,
        ...base,
        text: stringAt(error === undefined ? row.text : (row.text ?? ''), `${path}.text`),
        toolCallId: stringAt(row.toolCallId, `${path}.toolCallId`),
        ...(error === undefined ? {} : { error }),
        ...readAttachments(row, path),
      };
    }
    default:
      throw unexpected(`${path}.role`, role, 'system, developer, user, assistant or tool');
  }
}

function readToolCall(
  value: JsonValue,
  path: string,
  fallbackId: string,
  answered: ReadonlySet<JsonValue | undefined>,
): ToolCall {
  const call = objectAt(value, path, 'an object with name and args');
  const id = optionalStringAt(call.id, `${path}.id`) ?? fallbackId;
  const state = call.state ?? (answered.has(id) ? 'answered' : 'complete');
  if (state !== 'open' && state !== 'complete' && state !== 'answered') {
    throw unexpected(`${path}.state`, state, 'open, complete or answered');
  }
  return { id, name: stringAt(call.name, `${path}.name`), args: objectAt(call.args ?? {}, `${path}.args`), state };
}

function readAttachments(row: JsonObject, path: string): { attachments?: readonly Attachment[] } {
  const attachments = arrayAt(row.attachments, `${path}.attachments`).map((value, place): Attachment => {
    const at = `${path}.attachments[${place}]`;
    const part = objectAt(value, at);
    const mimeType = optionalStringAt(part.mimeType, `${at}.mimeType`);
    return {
      type: stringAt(part.type, `${at}.type`),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(typeof part.bytes === 'number' ? { bytes: part.bytes } : {}),
    };
  });
  return attachments.length > 0 ? { attachments } : {};
}
