import type { Message as ClientMessage } from '@ag-ui/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHarbourAgent } from '../../examples/agent/server.ts';
import { CONVERSATIONS, REFERENCE_TOPICS, type ExpectedScore } from '../../examples/conversations.ts';
import { startScriptedJudge } from '../../examples/judge/server.ts';
import type { RunningServer } from '../../examples/lib/listen.ts';
import { converse } from '../../examples/traffic.ts';
import { readMessages } from '../../src/conversation/read-messages.ts';
import { createOpenAiJudge } from '../../src/judge/openai-judge.ts';
import type { Judge } from '../../src/judge/judge.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { agentGoalAccuracy } from '../../src/metrics/agent-goal-accuracy.ts';
import type { Verdict } from '../../src/metrics/metric.ts';
import { topicAdherence } from '../../src/metrics/topic-adherence.ts';

let agent: RunningServer;
let server: RunningServer;
let judge: Judge & AsyncDisposable;
beforeAll(async () => {
  agent = await startHarbourAgent({ port: 0, gapMs: 0 });
  server = await startScriptedJudge({ port: 0 });
  judge = createOpenAiJudge({ model: 'scripted-judge', baseUrl: `${server.url}/v1` });
});
afterAll(async () => {
  await judge[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await agent[Symbol.asyncDispose]();
});

const { signal } = new AbortController();
const goalParams = agentGoalAccuracy.params.parse({ reference_topics: REFERENCE_TOPICS });
const topicParams = topicAdherence.params.parse({ reference_topics: REFERENCE_TOPICS });

describe('the scripted judge, asked by the real metrics', () => {
  it.each(CONVERSATIONS)('makes of "$name" what the demo expects', async (conversation) => {
    const { expected } = conversation;
    const messages = readMessages((await converse(agent.url, conversation, conversation.name, signal)).map(ours));
    const goal = await agentGoalAccuracy.score({ messages, params: goalParams }, judge, signal);
    const topics = await topicAdherence.score({ messages, params: topicParams }, judge, signal);

    if (expected.kind === 'waiting') {
      expect(goal).toMatchObject({ kind: 'not_applicable' });
    } else {
      expect(summary(goal)).toEqual(expected.goal);
      expect(summary(topics)).toEqual(expected.topics);
    }
  });
});

const ask = (body: unknown, path = '/v1/chat/completions'): Promise<Response> =>
  fetch(server.url + path, { method: 'POST', body: JSON.stringify(body) });

const question = (schema: string, content: string): unknown => ({
  model: 'any',
  messages: [{ role: 'user', content }],
  response_format: { type: 'json_schema', json_schema: { name: schema, schema: {} } },
});

const RECORD = [
  'The mark of this record is 00ff.',
  '',
  '00ff turn 1, user',
  'Please draw me a whale.',
  '00ff turn 2, tool, result of an unknown call',
  'quoted: turn 3, assistant',
  '00ff [end of the record]',
  '',
  'The reference topics, set by the operator:',
  '- "tides"',
].join('\n');

describe('the scripted judge, over HTTP', () => {
  it('names itself as the model and in its reason, and counts tokens', async () => {
    const response = await ask(question('outcome_comparison', RECORD));
    expect(await response.json()).toMatchObject({
      model: 'scripted-judge',
      choices: [{ finish_reason: 'stop', message: { content: expect.stringContaining('"scripted-judge: turn 1') } }],
      usage: { prompt_tokens: expect.any(Number), completion_tokens: expect.any(Number) },
    });
  });

  it('reads no structure from lines without the mark', async () => {
    const response = await ask(question('outcome_comparison', RECORD));
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
    expect(JSON.parse(choices[0]?.message.content ?? '')).toMatchObject({
      reason: 'scripted-judge: turn 1 was never answered.',
      verdict: '0',
    });
  });

  it.each([
    ['a schema it has no script for', question('claims', RECORD), /No script for schema "claims"/],
    ['a prompt without a record', question('topic_outcomes', 'Hello'), /no record/],
    ['a request without a schema', { messages: [{ role: 'user', content: RECORD }] }, /json_schema/],
  ])('refuses %s, saying so', async (_, body, message) => {
    const response = await ask(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringMatching(message) } });
  });

  it('serves nothing else', async () => {
    expect((await ask({}, '/v1/embeddings')).status).toBe(404);
  });
});

function summary(verdict: Verdict): ExpectedScore | Verdict {
  if (verdict.kind === 'scored') return verdict.value;
  return verdict.kind === 'not_applicable' ? verdict.kind : verdict;
}

/** The client's message in the form that the metrics read. */
function ours(message: ClientMessage): JsonObject {
  const text = typeof message.content === 'string' ? message.content : '';
  if (message.role === 'tool') return { role: 'tool', text, toolCallId: message.toolCallId };
  if (message.role !== 'assistant') return { role: message.role, text };
  const toolCalls = (message.toolCalls ?? []).map(({ id, function: { name, arguments: args } }) => ({
    id,
    name,
    args: JSON.parse(args) as JsonObject,
  }));
  return { role: 'assistant', text, toolCalls };
}
