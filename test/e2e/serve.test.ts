import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { HttpAgent } from '@ag-ui/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startJudgeServer } from '../support/judge-server.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { startServe } from '../support/serve.ts';
import { startTideAgent } from '../support/tide-agent.ts';

const SCRIPTS = {
  goal_and_end_state: { user_goal: 'know when high water is', end_state: 'told so (turn 2)' },
  outcome_comparison: { reason: 'turn 2 tells it', verdict: '1' },
  topic_outcomes: {
    topics: [{ topic: 'tides', on_topic: true, refused: false, turn: 1, evidence: 'When is high water?' }],
  },
} as const;

async function ask(url: string, threadId: string, ...questions: readonly string[]) {
  const agent = new HttpAgent({ url, threadId });
  for (const [at, content] of questions.entries()) {
    agent.addMessage({ id: `${threadId}-u${at}`, role: 'user', content });
    await agent.runAgent();
  }
  return agent.messages.map(({ role }) => role);
}

/** Everything that a closing can come to, so that a sum over it stands for all closings. */
const decided = { agent: 'harbour' };

describe('a conversation through the sidecar', () => {
  let receiver: OtlpReceiver;
  let agent: Awaited<ReturnType<typeof startTideAgent>>;
  let judge: Awaited<ReturnType<typeof startJudgeServer>>;
  let sidecar: Awaited<ReturnType<typeof startServe>>;

  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    agent = await startTideAgent();
    judge = await startJudgeServer({ scripts: SCRIPTS });
    sidecar = await startServe({
      AGENT_URL: agent.url,
      AGENT_NAME: 'harbour',
      REFERENCE_TOPICS: 'tides',
      OPENAI_BASE_URL: judge.baseUrl,
      JUDGE_MODEL: 'scripted',
      SAMPLE_RATE: '1',
      CLOSING_IDLE: '50ms',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_BSP_SCHEDULE_DELAY: '50',
    });
  });

  afterAll(async () => {
    for (const part of [sidecar, judge, agent, receiver]) await part[Symbol.asyncDispose]();
  });

  it('reaches the client, is judged, and its scores reach Prometheus', async () => {
    expect(await ask(sidecar.url, 'thread-1', 'When is high water?')).toEqual(['user', 'assistant']);

    const metrics = await sidecar.scrape(({ sum }) => sum('agui_eval_conversations_total', decided) > 0);
    expect(metrics.sum('agui_eval_closings_total', decided)).toBe(1);
    expect(metrics.sum('agui_eval_conversations_total', { ...decided, decision: 'scored' })).toBe(1);
    for (const metric of ['agent_goal_accuracy', 'topic_adherence']) {
      expect(metrics.sum('agui_eval_scores_total', { metric })).toBe(1);
      expect(metrics.sum('agui_eval_score_sum_total', { metric })).toBe(1);
      expect(metrics.sum('agui_eval_passes_total', { metric })).toBe(1);
    }
    expect(metrics.sum('agui_proxy_requests_total', { code: '200', outcome: 'completed' })).toBe(1);
    expect(metrics.sum('agui_eval_topic_outcomes_total', { outcome: 'on_topic_answered' })).toBe(1);
  });

  it('hangs its scores below the run in the trace that the agent was given', async () => {
    const isEvaluation = ({ name }: { readonly name: string }) => name.startsWith('evaluation ');
    await receiver.until(() => receiver.spans.filter(isEvaluation).length >= 2);

    const server = receiver.spans.find(({ kind }) => kind === 'server');
    const run = receiver.spans.find(({ name }) => name === 'invoke_agent harbour');
    expect(server).toMatchObject({ name: 'POST /', parentSpanId: '' });
    expect(run).toMatchObject({ kind: 'client', parentSpanId: server?.spanId, traceId: server?.traceId });
    expect(agent.seen[0]?.traceparent).toBe(`00-${run?.traceId}-${run?.spanId}-01`);
    const evaluations = receiver.spans.filter(isEvaluation);
    for (const evaluation of evaluations) {
      expect(evaluation).toMatchObject({ parentSpanId: run?.spanId, traceId: run?.traceId });
      expect(evaluation.attributes).toMatchObject({
        'gen_ai.evaluation.score.value': 1,
        'gen_ai.evaluation.score.label': 'pass',
        'gen_ai.conversation.id': 'thread-1',
      });
      expect(evaluation.events.map(({ name }) => name)).toEqual(['gen_ai.evaluation.result']);
    }
    expect(JSON.stringify(receiver.spans)).not.toContain('High water is at');
  });

  it('is nothing that the probes and the proxy port of the admin listener depend on', async () => {
    const status = async (path: string) => (await fetch(`${sidecar.adminUrl}${path}`)).status;
    expect(await Promise.all(['/livez', '/readyz', '/metrics', '/nothing'].map(status))).toEqual([200, 200, 200, 404]);
    const throughProxy = await fetch(`${sidecar.url}/metrics`, { method: 'POST', body: '{"messages":[]}' });
    expect(await throughProxy.text()).not.toContain('agui_eval');
  });

  it('logs nothing of what was said', () => {
    const log = JSON.stringify(sidecar.log);
    for (const content of ['High water', 'high water', 'thread-1']) expect(log).not.toContain(content);
  });
});

it('counts a judge that fails, and scores nothing', async () => {
  await using agent = await startTideAgent();
  await using judge = await startJudgeServer({ scripts: { '*': [{ status: 401 }, { status: 401 }] } });
  await using sidecar = await startServe({
    AGENT_URL: agent.url,
    AGENT_NAME: 'harbour',
    OPENAI_BASE_URL: judge.baseUrl,
    SAMPLE_RATE: '1',
    CLOSING_IDLE: '10ms',
    // A collector that is not there slows nothing and stops nothing.
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
  });
  await ask(sidecar.url, 't', 'When is high water?');
  const metrics = await sidecar.scrape(({ sum }) => sum('agui_eval_conversations_total', decided) > 0);
  expect(metrics.sum('agui_eval_conversations_total', { decision: 'judge_failed' })).toBe(1);
  expect(metrics.sum('agui_eval_judge_requests_total', { outcome: 'unauthorized' })).toBe(1);
  expect(metrics.sum('agui_eval_verdicts_total', { kind: 'failed' })).toBe(1);
  expect(metrics.sum('agui_eval_scores_total')).toBe(0);
});

it('proxies without a judge, says what was not judged, and ends with status 0', async () => {
  await using agent = await startTideAgent();
  await using sidecar = await startServe({
    AGENT_URL: agent.url,
    AGENT_NAME: 'harbour',
    OTEL_SDK_DISABLED: 'true',
    SHUTDOWN_OPEN_CONVERSATIONS: 'expire',
  });
  expect(sidecar.log.map(({ msg }) => msg).join()).toContain('nothing is judged');
  await ask(sidecar.url, 't', 'When is high water?');
  sidecar.signal('SIGTERM');
  expect(await sidecar.exited).toBe(0);
  expect(sidecar.log).toContainEqual(expect.objectContaining({ expired: 1 }));
});

it('says which port it cannot have, and ends', async () => {
  await using agent = await startTideAgent();
  const port = new URL(agent.url).port;
  for (const setting of ['PORT', 'ADMIN_PORT']) {
    const env = { AGENT_URL: 'http://127.0.0.1:9', [setting]: port, OTEL_SDK_DISABLED: 'true' };
    await expect(startServe(env)).rejects.toThrow(
      new RegExp(`ended with 1: .*127\\.0\\.0\\.1:${port}.*set .*${setting}`, 'u'),
    );
  }
});

describe('a configuration that does not hold', () => {
  it('starts nothing and lists every problem', async () => {
    const failure = await startServe({ AGENT_URL: 'ftp://x', SAMPLE_RATE: '7', CLOSING_IDLE: 'soon' }).then(
      (started) => {
        onTestFinished(() => started[Symbol.asyncDispose]());
        return new Error('it started');
      },
      (error: Error) => error,
    );
    expect(failure.message).toContain('ended with 2');
    for (const given of ['ftp://x', '7', 'soon']) expect(failure.message).toContain(given);
  });
});

it('takes clients on a unix socket, and reaches its agent by one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agui-'));
  const agent = createServer((request, response) => response.end(`${request.method} ${request.url}`));
  agent.listen(join(folder, 'agent.sock'));
  await once(agent, 'listening');
  onTestFinished(() => void agent.close());
  const socketPath = join(folder, 'sidecar.sock');
  await using serve = await startServe({ AGENT_URL: `unix:${join(folder, 'agent.sock')}`, LISTEN_SOCKET: socketPath });

  const request = get({ socketPath, path: '/run?x=1', agent: false });
  const [response] = await once(request, 'response');

  expect(serve.log.at(-1)).toMatchObject({ msg: 'ready', proxy: socketPath });
  expect(await text(response)).toBe('GET /run?x=1');
  serve.signal('SIGTERM');
  expect(await serve.exited).toBe(0);
});
