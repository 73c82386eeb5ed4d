import { HttpAgent, type AgentSubscriber, type Message } from '@ag-ui/client';
import { EventType, type BaseEvent } from '@ag-ui/core';
import { AGUI_MEDIA_TYPE, decode } from '@ag-ui/proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHarbourAgent } from '../../examples/agent/server.ts';
import type { RunningServer } from '../../examples/lib/listen.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await startHarbourAgent({ port: 0, gapMs: 0 });
});
afterAll(() => server[Symbol.asyncDispose]());

function client(): HttpAgent {
  return new HttpAgent({ url: server.url, threadId: 'thread-1' });
}

/** Says `text` and returns what the client holds afterwards, in one line a message. */
async function say(agent: HttpAgent, text: string, subscriber?: AgentSubscriber): Promise<string[]> {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
  await agent.runAgent({}, subscriber);
  return agent.messages.map(line);
}

function line(message: Message): string {
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => call.function.name) : [];
  return `${message.role}: ${[message.content, ...calls].filter(Boolean).join(' | ')}`;
}

function input(text: string): object {
  const messages = [{ id: 'u1', role: 'user', content: text }];
  return { threadId: 't', runId: 'r', messages, tools: [], context: [], state: {}, forwardedProps: {} };
}

function post(body: unknown, accept: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept };
  return fetch(server.url, { method: 'POST', headers, body: JSON.stringify(body) });
}

describe('the harbour agent', () => {
  it('answers from a tool', async () => {
    expect(await say(client(), 'When is high tide at Port Merrow tomorrow?')).toEqual([
      'user: When is high tide at Port Merrow tomorrow?',
      'assistant: tide_times',
      'tool: {"high":["04:52","17:20"],"low":["11:06","23:31"]}',
      'assistant: High tide at Port Merrow tomorrow is at 04:52 and again at 17:20.',
    ]);
  });

  it('tries another desk when the first fails', async () => {
    const lines = await say(client(), 'Please buy one adult ticket for the 14:10 ferry to Skerry Island.');
    expect(lines.slice(2)).toEqual([
      'tool: {"error":"ticket desk east does not answer, nothing was sold"}',
      'assistant: buy_ferry_ticket',
      'tool: {"ticket":"FT-2041","sailing":"14:10","adults":1}',
      'assistant: Done: ticket FT-2041 for the 14:10 ferry to Skerry Island.',
    ]);
  });

  it('calls two tools at once and matches their results by id', async () => {
    const agent = client();
    await say(agent, 'I want to sail on Sunday: what are the tides and the weather?');
    const calls = agent.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
    const results = agent.messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
    expect(calls.map((call) => call.function.name)).toEqual(['tide_times', 'harbour_weather']);
    expect(results).toEqual(calls.map((call) => call.id));
  });

  it('stops for approval and acts on it in the next run', async () => {
    const agent = client();
    await say(agent, 'Please reserve berth D07 for three nights.');
    const [interrupt] = agent.pendingInterrupts;
    expect(interrupt?.message).toBe('Reserve berth D07 for 93 euros?');

    await agent.runAgent({ resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved' }] });
    expect(agent.messages.map(line).slice(-2)).toEqual([
      'tool: {"booking":"B-204","berth":"D07","nights":3}',
      'assistant: Berth D07 is yours for 3 nights; the booking is B-204.',
    ]);
  });

  it('reserves nothing when approval is declined', async () => {
    const agent = client();
    await say(agent, 'Please reserve berth D07 for three nights.');
    const interruptId = agent.pendingInterrupts[0]?.id ?? '';
    await agent.runAgent({ resume: [{ interruptId, status: 'cancelled' }] });
    expect(agent.messages.map(line).slice(-2)).toEqual([
      'tool: {"error":"declined by the user"}',
      'assistant: All right, I have not reserved anything.',
    ]);
  });

  it('ends a run that it cannot go on with by RUN_ERROR', async () => {
    const codes: unknown[] = [];
    await say(client(), 'Show me the weather camera.', {
      onRunErrorEvent: ({ event }) => void codes.push(event.code),
    }).catch(() => undefined);
    expect(codes).toEqual(['camera_offline']);
  });

  it('streams protobuf frames to a client that accepts them, with the same events', async () => {
    const question = input('When is high tide tomorrow?');
    const sse = await (await post(question, 'text/event-stream')).text();
    const response = await post(question, AGUI_MEDIA_TYPE);
    expect(response.headers.get('content-type')).toBe(AGUI_MEDIA_TYPE);

    const types = frames(new Uint8Array(await response.arrayBuffer())).map(({ type }) => type);
    expect(types[0]).toBe(EventType.RUN_STARTED);
    expect(types.at(-1)).toBe(EventType.RUN_FINISHED);
    expect(types).toEqual([...sse.matchAll(/"type":"(\w+)"/g)].map((match) => match[1]));
  });

  it('refuses a body that is not a RunAgentInput', async () => {
    const response = await post({ messages: 'none' }, 'text/event-stream');
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ error: 'the body is not a RunAgentInput' });
  });
});

/** Frames of the binary transport: a big-endian length of four bytes, then the event. */
function frames(bytes: Uint8Array): BaseEvent[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const events: BaseEvent[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = view.getUint32(at);
    events.push(decode(bytes.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return events;
}
