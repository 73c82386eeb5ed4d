import { AbstractAgent, type RunAgentInput } from '@ag-ui/client';
import { EventType, type Message as WireMessage } from '@ag-ui/core';
import { from } from 'rxjs';
import { parseToolArguments } from '../../src/agui/tool-arguments.ts';
import type { Message } from '../../src/conversation/message.ts';
import { isJsonObject, type JsonObject } from '../../src/lib/json.ts';

/** An event as a test writes it down. */
export type WireEvent = JsonObject & { readonly type: string };

/** A message as far as the collector and the reference client must agree. */
export interface Compared {
  readonly role: string;
  readonly id: string;
  readonly text: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly args: unknown }[];
  readonly toolCallId: string;
}

type EventStream = ReturnType<AbstractAgent['run']>;

class ReplayingAgent extends AbstractAgent {
  readonly #events: readonly WireEvent[];

  constructor(events: readonly WireEvent[], messages: readonly JsonObject[]) {
    super({ threadId: 'thread', initialMessages: messages as unknown as WireMessage[] });
    this.#events = events;
  }

  override run(_input: RunAgentInput): EventStream {
    // The client may bring an RxJS of its own, whose types are not ours.
    return from(structuredClone(this.#events)) as unknown as EventStream;
  }
}

/** The messages that `@ag-ui/client` holds after a run with this stream. Rejects when it refuses the stream. */
export async function referenceMessages(
  events: readonly WireEvent[],
  request: readonly JsonObject[] = [],
): Promise<JsonObject[]> {
  const agent = new ReplayingAgent(events, structuredClone(request));
  await agent.runAgent({ runId: 'run' });
  return JSON.parse(JSON.stringify(agent.messages)) as JsonObject[];
}

/** Wire messages in compared form; reasoning and activity are left out. */
export function fromReference(messages: readonly JsonObject[]): Compared[] {
  return messages.filter(({ role }) => role !== 'reasoning' && role !== 'activity').map(compareWire);
}

function compareWire(message: JsonObject): Compared {
  const calls = Array.isArray(message.toolCalls) ? message.toolCalls.filter(isJsonObject) : [];
  return {
    role: String(message.role),
    id: String(message.id),
    text: textOf(message.content),
    toolCalls: calls.map((call) => {
      const made = isJsonObject(call.function) ? call.function : {};
      return { id: String(call.id), name: String(made.name), args: parseToolArguments(String(made.arguments)) };
    }),
    toolCallId: message.role === 'tool' ? String(message.toolCallId) : '',
  };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: JsonObject) => (part.type === 'text' ? String(part.text) : '')).join('');
}

/** The collector's messages in compared form; what a snapshot left out is left out here too. */
export function fromCollector(messages: readonly Message[]): Compared[] {
  return messages
    .filter(({ snapshotOmits }) => snapshotOmits !== true)
    .map((message) => ({
      role: message.role,
      id: message.id,
      text: message.text,
      toolCalls:
        message.role === 'assistant' ? message.toolCalls.map(({ id, name, args }) => ({ id, name, args })) : [],
      toolCallId: message.role === 'tool' ? message.toolCallId : '',
    }));
}

export const runStarted = (runId = 'run', more: JsonObject = {}): WireEvent => ({
  type: EventType.RUN_STARTED,
  threadId: 'thread',
  runId,
  ...more,
});

export const runFinished = (runId = 'run', more: JsonObject = {}): WireEvent => ({
  type: EventType.RUN_FINISHED,
  threadId: 'thread',
  runId,
  ...more,
});
