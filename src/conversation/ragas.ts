import type { JsonArray, JsonObject, JsonValue } from '../lib/json.ts';
import { arrayAt, objectAt, refuseOtherForm, stringAt, unexpected } from './message-fields.ts';
import { isUnparsed, type Message, type ToolCall } from './message.ts';

/** A message in the form that Ragas reads. Every `ai` message has `tool_calls`, null when it made none. */
export type RagasMessage =
  | { readonly type: 'human'; readonly content: string }
  | { readonly type: 'ai'; readonly content: string; readonly tool_calls: readonly RagasToolCall[] | null }
  | { readonly type: 'tool'; readonly content: string };

interface RagasToolCall {
  readonly name: string;
  /** Arguments that were no JSON object stand as their text under `raw_args`. */
  readonly args: JsonObject;
}

/**
 * A conversation in the Ragas form. Assistant messages that follow each other directly, one of them without text, become
 * one; empty assistant messages without calls are dropped; system and developer messages are left out.
 */
export function toRagasMessages(messages: readonly Message[]): RagasMessage[] {
  const rows: RagasMessage[] = [];
  let turn: AssistantTurn | undefined;
  const endTurn = (): void => {
    if (turn) rows.push({ type: 'ai', content: turn.text, tool_calls: turn.calls.length > 0 ? turn.calls : null });
    turn = undefined;
  };
  for (const message of messages) {
    switch (message.role) {
      case 'assistant': {
        const calls = message.toolCalls.map(toRagasCall);
        if (message.text === '' && calls.length === 0) break;
        if (turn && turn.text !== '' && message.text !== '') endTurn();
        turn ??= { text: '', calls: [] };
        turn.text ||= message.text;
        for (const call of calls) turn.calls.push(call);
        break;
      }
      case 'user':
        endTurn();
        rows.push({ type: 'human', content: message.text });
        break;
      case 'tool':
        endTurn();
        rows.push({ type: 'tool', content: message.text || (message.error ?? '') });
        break;
      case 'system':
      case 'developer':
        break;
    }
  }
  endTurn();
  return rows;
}

interface AssistantTurn {
  text: string;
  readonly calls: RagasToolCall[];
}

const toRagasCall = ({ name, args }: ToolCall): RagasToolCall => ({
  name,
  args: isUnparsed(args) ? { raw_args: args.unparsed } : { ...args },
});

/**
 * Reads the Ragas form. It has no ids, so they are made up, and each tool message answers the earliest call that has no
 * result yet.
 *
 * @throws {MessageFormatError}
 */
export function fromRagasMessages(rows: JsonArray, path: string): Message[] {
  const messages: Message[] = [];
  const callIds: string[] = [];
  const answered = new Set<string>();
  let sinceUser = 0;
  for (const [index, value] of rows.entries()) {
    const at = `${path}[${index}]`;
    const row = objectAt(value, at);
    refuseOtherForm(row, at, 'ragas');
    const id = `message-${index + 1}`;
    const readText = (): string => stringAt(row.content, `${at}.content`);
    switch (row.type) {
      case 'human':
        messages.push({ role: 'user', id, text: readText() });
        sinceUser = callIds.length;
        break;
      case 'ai': {
        const toolCalls = arrayAt(row.tool_calls, `${at}.tool_calls`).map((call, place): ToolCall => {
          const callId = `call-${callIds.length + 1}`;
          callIds.push(callId);
          return { id: callId, ...readCall(call, `${at}.tool_calls[${place}]`), state: 'complete' };
        });
        messages.push({ role: 'assistant', id, text: readText(), toolCalls });
        break;
      }
      case 'tool': {
        // In order; but a call that the user has spoken after is the answer's own only if there is none since.
        const open = (callId: string): boolean => !answered.has(callId);
        const toolCallId = callIds.slice(sinceUser).find(open) ?? callIds.find(open) ?? `call-of-${id}`;
        answered.add(toolCallId);
        messages.push({ role: 'tool', id, text: readText(), toolCallId });
        break;
      }
      default:
        throw unexpected(`${at}.type`, row.type, 'human, ai or tool');
    }
  }
  return messages.map((message) => markAnswered(message, answered));
}

function markAnswered(message: Message, answered: ReadonlySet<string>): Message {
  if (message.role !== 'assistant' || !message.toolCalls.some(({ id }) => answered.has(id))) return message;
  const toolCalls = message.toolCalls.map((call) =>
    answered.has(call.id) ? { ...call, state: 'answered' as const } : call,
  );
  return { ...message, toolCalls };
}

function readCall(value: JsonValue, path: string): Pick<ToolCall, 'name' | 'args'> {
  const call = objectAt(value, path, 'an object with name and args');
  const args = objectAt(call.args ?? {}, `${path}.args`);
  const raw = Object.keys(args).length === 1 ? args.raw_args : undefined;
  return { name: stringAt(call.name, `${path}.name`), args: typeof raw === 'string' ? { unparsed: raw } : args };
}
