import { EventEmitter, once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { json } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { ask, POST_JSON } from '../proxy/support.ts';
import { startJudgeServer } from '../support/judge-server.ts';
import { type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { startServe } from '../support/serve.ts';

const STREAMS = 500;

const SCRIPTS = {
  goal_and_end_state: { user_goal: 'know when high water is', end_state: 'told so (turn 2)' },
  outcome_comparison: { reason: 'turn 2 tells it', verdict: '1' },
} as const;

const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

/** A run on the agent's side: it has begun, and goes on and ends when the test says so. */
interface HeldRun {
  say(delta: string): void;
  end(): void;
}

/** An agent that answers `short` at once, and holds every other run. */
async function startHeldAgent() {
  const held: HeldRun[] = [];
  const server = createServer((request, response: ServerResponse) => {
    void (async () => {
      const { threadId, runId, messages } = (await json(request)) as {
        threadId: string;
        runId: string;
        messages: { content: string }[];
      };
      const messageId = `${runId}-m`;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event({ type: 'RUN_STARTED', threadId, runId }));
      response.write(event({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }));
      const run: HeldRun = {
        say: (delta) => response.write(event({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta })),
        end() {
          response.write(event({ type: 'TEXT_MESSAGE_END', messageId }));
          response.end(event({ type: 'RUN_FINISHED', threadId, runId }));
        },
      };
      run.say('High water');
      if (messages.at(-1)?.content === 'short') run.end();
      else held.push(run);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    held,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const runRequest = (threadId: string, runId: string, content: string) =>
  JSON.stringify({
    threadId,
    runId,
    messages: [{ id: `${runId}-u`, role: 'user', content }],
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
  });

/** A stream on the client's side. */
interface OpenStream {
  /** Resolves when what was received contains `text`. */
  until(text: string): Promise<void>;
  /** How it ended: `whole`, or the error's code. */
  readonly closed: Promise<string>;
  received(): string;
}

async function openStream(url: string, threadId: string): Promise<OpenStream> {
  const request = httpRequest(url, { ...POST_JSON, agent: false });
  request.end(runRequest(threadId, `${threadId}-r`, 'take your time'));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let received = '';
  response.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  const closed = new Promise<string>((resolve) => {
    response.on('end', () => resolve('whole'));
    response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
  return {
    closed,
    received: () => received,
    async until(text) {
      while (!received.includes(text)) await once(response, 'data');
    },
  };
}

async function openStreams(url: string, count: number): Promise<readonly OpenStream[]> {
  const streams = await Promise.all(Array.from({ length: count }, (_, at) => openStream(url, `held-${at}`)));
  await Promise.all(streams.map((stream) => stream.until('High water')));
  return streams;
}

/** Connects, and says nothing, until that is refused. */
async function untilRefused(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const isRefused = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.destroy());
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
      socket.on('close', () => resolve(false));
    });
  while (!(await isRefused()));
}

const named = (spans: readonly ReceivedSpan[], name: string) => spans.filter((span) => span.name.startsWith(name));

describe('a stop with 500 open streams, clients that post in a loop and a prober', { timeout: 300_000 }, () => {
  it('refuses nobody before readiness was seen to fail, breaks nothing, and accounts for everything', async () => {
    const judging = Promise.withResolvers<void>();
    await using receiver = await startOtlpReceiver();
    await using agent = await startHeldAgent();
    await using judge = await startJudgeServer({
      scripts: {
        ...SCRIPTS,
        goal_and_end_state: async () => {
          await judging.promise;
          return { value: SCRIPTS.goal_and_end_state };
        },
      },
    });
    await using sidecar = await startServe({
      AGENT_URL: agent.url,
      AGENT_NAME: 'harbour',
      OPENAI_BASE_URL: judge.baseUrl,
      JUDGE_CONCURRENCY: '32',
      SAMPLE_RATE: '0.2',
      CLOSING_IDLE: '1h',
      // Nothing here is to be decided by the clock: not when the listener closes, nor when a stream is cut.
      SHUTDOWN_DELAY: '1h',
      SHUTDOWN_GRACE: '2h',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BSP_MAX_QUEUE_SIZE: '50000',
    });
    const streams = await openStreams(sidecar.url, STREAMS);

    const probe = async () => (await fetch(`${sidecar.adminUrl}/readyz`)).status;
    expect(await probe()).toBe(200);

    // Clients that do not hear of the prober's finding before they have posted a while longer.
    let seen = false;
    const progress = new EventEmitter();
    const morePosts = async (count: number) => {
      for (let more = 0; more < count; more++) await once(progress, 'post');
    };
    async function postInALoop(threadId: string, agentOption: Agent | false) {
      const outcomes = { whole: 0, refusedBefore: 0, refusedAfter: 0, dismissed: 0, broken: [] as unknown[] };
      for (let after = 0, at = 0; after < 20; after += Number(seen), at++) {
        const options = { ...POST_JSON, agent: agentOption };
        try {
          const { status, body, headers } = await ask(
            sidecar.url,
            options,
            runRequest(threadId, `${threadId}-${at}`, 'short'),
          );
          const whole = status === 200 && body.includes('RUN_FINISHED');
          if (whole) outcomes.whole++;
          else outcomes.broken.push({ status, body: body.toString() });
          if (headers.connection === 'close') outcomes.dismissed++;
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') outcomes.broken.push(error);
          else if (seen) outcomes.refusedAfter++;
          else outcomes.refusedBefore++;
        }
        progress.emit('post');
      }
      return outcomes;
    }
    const keepAlive = new Agent({ keepAlive: true, maxSockets: 1 });
    const looping = Promise.all([postInALoop('kept', keepAlive), postInALoop('fresh', false)]);
    await morePosts(40);

    sidecar.signal('SIGTERM');
    await sidecar.logged('stopping');
    await morePosts(40);
    expect(await probe()).toBe(503);
    seen = true;
    const [kept, fresh] = await looping;
    keepAlive.destroy();
    for (const { refusedBefore, broken } of [kept, fresh])
      expect({ refusedBefore, broken }).toEqual({ refusedBefore: 0, broken: [] });
    expect(kept.dismissed).toBeGreaterThan(0);

    await sidecar.logged('no connection is taken any more');
    await untilRefused(sidecar.url);

    for (const run of agent.held) run.say(' is at 14:20.');
    await Promise.all(streams.map((stream) => stream.until(' is at 14:20.')));
    for (const run of agent.held) run.end();
    expect(new Set(await Promise.all(streams.map(({ closed }) => closed)))).toEqual(new Set(['whole']));
    for (const stream of streams) expect(stream.received()).toContain('RUN_FINISHED');

    // The judge has not answered yet, so the process is still there to be asked.
    const runs = STREAMS + kept.whole + fresh.whole;
    const threads = STREAMS + 2;
    const metrics = await sidecar.scrape(({ sum }) => sum('agui_eval_closings_total') === threads);
    expect(metrics.sum('agui_stream_exchanges_total', { kind: 'run' })).toBe(runs);
    expect(metrics.sum('agui_proxy_requests_total', { outcome: 'completed' })).toBeGreaterThanOrEqual(runs);
    expect(metrics.sum('agui_proxy_requests_total', { outcome: 'client_disconnect' })).toBe(0);
    const sampledOut = metrics.sum('agui_eval_conversations_total', { decision: 'sampled_out' });
    const judged = metrics.sum('agui_eval_queue_length') + metrics.sum('agui_eval_in_flight');
    expect(judged).toBeGreaterThan(0);
    expect(judged + sampledOut).toBe(threads);
    judging.resolve();
    expect(await sidecar.exited).toBe(0);

    expect(
      sidecar.log.filter(({ msg, decision }) => msg === 'judged a conversation' && decision === 'scored'),
    ).toHaveLength(judged);
    expect(named(receiver.spans, 'invoke_agent')).toHaveLength(runs);
    const evaluations = named(receiver.spans, 'evaluation');
    expect(evaluations).toHaveLength(judged);
    for (const { attributes } of evaluations) {
      expect(attributes).toMatchObject({
        'ag_ui.evaluation.closing.cause': 'shutdown',
        'gen_ai.evaluation.score.value': 1,
      });
    }
  });

  it('resets what is open when the grace is over, counts it, and is done with status 0', async () => {
    await using receiver = await startOtlpReceiver();
    await using agent = await startHeldAgent();
    await using judge = await startJudgeServer({ scripts: SCRIPTS });
    await using sidecar = await startServe({
      AGENT_URL: agent.url,
      AGENT_NAME: 'harbour',
      OPENAI_BASE_URL: judge.baseUrl,
      SAMPLE_RATE: '1',
      SHUTDOWN_GRACE: '100ms',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    });
    const streams = await openStreams(sidecar.url, STREAMS);

    sidecar.signal('SIGTERM');

    expect(new Set(await Promise.all(streams.map(({ closed }) => closed)))).toEqual(new Set(['ECONNRESET']));
    expect(await sidecar.exited).toBe(0);
    const endings = named(receiver.spans, 'invoke_agent').map(({ attributes }) => attributes['ag_ui.run.ending']);
    expect(endings).toEqual(Array(STREAMS).fill('client_aborted'));
    expect(sidecar.log).toContainEqual(expect.objectContaining({ requests: STREAMS }));
    expect(sidecar.log).toContainEqual(expect.objectContaining({ expired: STREAMS }));
    expect(judge.requests).toEqual([]);
  });
});

describe('a stop', () => {
  it('ends with status 0 although neither the judge nor the collector ever answers', async () => {
    await using receiver = await startOtlpReceiver();
    receiver.behave('hang');
    await using agent = await startHeldAgent();
    await using judge = await startJudgeServer({ scripts: { '*': () => ({ hang: true }) } });
    await using sidecar = await startServe({
      AGENT_URL: agent.url,
      AGENT_NAME: 'harbour',
      OPENAI_BASE_URL: judge.baseUrl,
      SAMPLE_RATE: '1',
      SHUTDOWN_GRACE: '0s',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    });
    await ask(sidecar.url, POST_JSON, runRequest('t', 'r', 'short'));

    sidecar.signal('SIGTERM');

    expect(await sidecar.exited).toBe(0);
    expect(judge.requests.length).toBeGreaterThan(0);
    expect(sidecar.log).toContainEqual(expect.objectContaining({ expired: 1 }));
    expect(sidecar.log.at(-1)).toMatchObject({ msg: 'stopped' });
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('is cut short by a second signal: %s, status %i', async (signal, status) => {
    await using agent = await startHeldAgent();
    await using sidecar = await startServe({
      AGENT_URL: agent.url,
      SHUTDOWN_GRACE: '2h',
      OTEL_SDK_DISABLED: 'true',
    });
    const [stream] = await openStreams(sidecar.url, 1);

    sidecar.signal('SIGTERM');
    await sidecar.logged('stopping');
    sidecar.signal(signal);

    expect(await sidecar.exited).toBe(status);
    expect(await stream?.closed).toBe('ECONNRESET');
    expect(sidecar.log.at(-1)?.['msg']).toContain(`a second signal, ${signal}`);
  });
});
