import { setTimeout as pause } from 'node:timers/promises';
import { HttpAgent } from '@ag-ui/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveConfig } from '../src/config/resolve.ts';
import { startSidecar } from '../src/main.ts';
import { METRICS } from '../src/metrics/registry.ts';
import { createLog, type Log } from '../src/telemetry/log.ts';
import { ask, closedPort, POST_JSON, RUN_REQUEST } from './proxy/support.ts';
import { startTideAgent } from './support/tide-agent.ts';
import { virtualClock } from './support/virtual-clock.ts';

const IDLE_MS = 60_000;

async function start(
  agentUrl: string,
  sets: readonly string[] = ['shutdown.grace=0s'],
  log: Log = createLog({ level: 'silent' }),
) {
  process.env['OTEL_SDK_DISABLED'] = 'true';
  const env = {
    AGENT_URL: agentUrl,
    AGENT_NAME: 'harbour',
    HOST: '127.0.0.1',
    ADMIN_HOST: '127.0.0.1',
    CLOSING_IDLE: '60s',
  };
  const result = resolveConfig(
    { env, sets: ['listen.port=0', 'admin.port=0', 'tap.max_loop_delay=0s', 'tap.read_delay=0s', ...sets] },
    METRICS,
  );
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const clock = virtualClock();
  const sidecar = await startSidecar(result.config, { log, clock });
  onTestFinished(() => sidecar.stop());
  const adminUrl = `http://127.0.0.1:${sidecar.adminPort}`;
  const metrics = async () => (await fetch(`${adminUrl}/metrics`)).text();
  /** Waits until the sidecar's metrics hold this line. */
  const shows = async (line: string) => {
    while (!(await metrics()).split('\n').includes(line)) await pause(10);
    return true;
  };
  const url = `http://127.0.0.1:${sidecar.proxyPort}`;
  return {
    clock,
    url,
    shows,
    metrics,
    stop: () => sidecar.stop(),
    readyz: async () => (await fetch(`${adminUrl}/readyz`)).status,
  };
}

const turns = () => new Promise((resolve) => setTimeout(resolve, 0));

it('closes a thread once, although a run of it lasts longer than the idle time', async () => {
  const hold = Promise.withResolvers<void>();
  await using agent = await startTideAgent(hold.promise);
  const { clock, url, shows } = await start(agent.url);
  const read = (runs: number) => shows(`agui_stream_exchanges_total{agent="harbour",kind="run"} ${runs}`);
  const closed = (count: number) => shows(`agui_eval_closings_total{agent="harbour"} ${count}`);

  const client = new HttpAgent({ url, threadId: 'slow' });
  client.addMessage({ id: 'u1', role: 'user', content: 'When is high water?' });
  await client.runAgent();
  await read(1);
  client.addMessage({ id: 'u2', role: 'user', content: 'take your time' });
  const slow = client.runAgent();
  await agent.holding;
  clock.advance(IDLE_MS - 1);

  // Another thread closes meanwhile, so the time has come; the one with a run under way has not.
  const other = new HttpAgent({ url, threadId: 'other' });
  other.addMessage({ id: 'u1', role: 'user', content: 'When is high water?' });
  await other.runAgent();
  await read(2);
  clock.advance(IDLE_MS);
  expect(await closed(1)).toBe(true);

  hold.resolve();
  await slow;
  await read(3);
  clock.advance(IDLE_MS);
  expect(await closed(2)).toBe(true);
});

describe('a start', () => {
  it.each([
    ['listen.host=999.1.1.1', /^the proxy cannot listen on 999\.1\.1\.1:0 .* set listen\.host or HOST$/],
    [
      'listen.socket=/nowhere/x.sock',
      /^the proxy cannot listen on \/nowhere\/x\.sock .* set listen\.socket or LISTEN_SOCKET$/,
    ],
    ['admin.host=999.1.1.1', /^the admin listener cannot listen on 999\.1\.1\.1:0 .* set admin\.host or ADMIN_HOST$/],
  ])('that fails names the setting that is wrong: %s', async (set, message) => {
    await expect(start('http://127.0.0.1:9', [set])).rejects.toThrow(message);
  });
});

describe('a stop', () => {
  const QUIET_MS = 1000;
  const DELAY = ['shutdown.delay=1h', 'shutdown.grace=2h'];
  const HOUR_MS = 60 * 60_000;

  /** Posts on a connection of its own: `close` as its answer says, or `refused`. */
  const post = (url: string) =>
    ask(url, POST_JSON, RUN_REQUEST).then(
      ({ headers }) => headers.connection,
      (error: NodeJS.ErrnoException) => (error.code === 'ECONNREFUSED' ? 'refused' : Promise.reject(error)),
    );

  /** Resolves once connections are refused; meanwhile there may be some that are not. */
  async function isRefusing(url: string) {
    while ((await post(url)) !== 'refused') await turns();
    return true;
  }

  it('refuses connections at once when nobody has ever asked whether it is ready', async () => {
    await using agent = await startTideAgent();
    const { url, stop } = await start(agent.url, DELAY);
    const stopped = stop();
    expect(await isRefusing(url)).toBe(true);
    await stopped;
  });

  it('goes on to accept until a prober has seen it fail and nobody has come for a second', async () => {
    await using agent = await startTideAgent();
    const { clock, url, readyz, stop } = await start(agent.url, DELAY);
    expect(await readyz()).toBe(200);
    const stopped = stop();
    clock.advance(HOUR_MS - 100 * QUIET_MS);
    await turns();
    expect(await post(url)).toBe('close');

    expect(await readyz()).toBe(503);
    for (let second = 0; second < 10; second++) {
      await turns();
      expect(await post(url)).toBe('close');
      clock.advance(QUIET_MS);
    }

    // A look at the end of the second with the last request, and one at the end of the next.
    for (let second = 0; second < 2; second++) {
      await turns();
      clock.advance(QUIET_MS);
    }
    expect(await isRefusing(url)).toBe(true);
    await stopped;
  });

  it('waits no longer than it was told to when nobody asks again', async () => {
    await using agent = await startTideAgent();
    const { clock, url, readyz, stop } = await start(agent.url, DELAY);
    await readyz();
    const stopped = stop();
    clock.advance(HOUR_MS - 1);
    await turns();
    expect(await post(url)).toBe('close');
    clock.advance(1);
    expect(await isRefusing(url)).toBe(true);
    await stopped;
  });

  it('waits no longer than half of the grace, so that what comes last can end', async () => {
    await using agent = await startTideAgent();
    const { clock, url, readyz, stop } = await start(agent.url, ['shutdown.delay=1h', 'shutdown.grace=2s']);
    await readyz();
    const stopped = stop();
    clock.advance(1000);
    expect(await isRefusing(url)).toBe(true);
    await stopped;
  });

  it('is over at once when it is to have no delay, and the same when it is asked for again', async () => {
    await using agent = await startTideAgent();
    const { readyz, stop } = await start(agent.url, ['shutdown.delay=0s']);
    await readyz();
    const stopped = stop();
    expect(stop()).toBe(stopped);
    await stopped;
  });
});

it('tells the log of an agent that is down, once a minute', async () => {
  const lines: { readonly level: number }[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const port = await closedPort();
  const { clock, url } = await start(`http://127.0.0.1:${port}`, undefined, log);
  const fail = async () => expect((await ask(url, POST_JSON, RUN_REQUEST)).status).toBe(502);
  for (let request = 0; request < 3; request += 1) await fail();
  clock.advance(60_000);
  await fail();

  const failure = {
    agent: 'harbour',
    upstream: `127.0.0.1:${port}`,
    code: 'upstream_unreachable',
    cause: 'ECONNREFUSED',
  };
  expect(lines.filter(({ level }) => level >= 40)).toMatchObject([failure, { ...failure, similarSince: 2 }]);
});

it('copies nothing new while the event loop runs late, says so, and judges no thread of which it left something out', async () => {
  await using agent = await startTideAgent();
  const lines: unknown[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const { clock, url, metrics, shows } = await start(agent.url, ['tap.max_loop_delay=1ms', 'shutdown.grace=0s'], log);
  const isShedding = async () => /^agui_tee_shed_exchanges_total [1-9]/m.test(await metrics());
  const body = JSON.stringify({
    ...JSON.parse(RUN_REQUEST),
    messages: [{ id: 'u1', role: 'user', content: 'tides?' }],
  });
  while (!(await isShedding())) {
    const end = performance.now() + 50;
    while (performance.now() < end);
    expect((await ask(url, POST_JSON, body)).status).toBe(200);
  }
  clock.advance(IDLE_MS);

  expect(await shows('agui_eval_conversations_total{agent="harbour",decision="incomplete"} 1')).toBe(true);
  expect(lines).toContainEqual(
    expect.objectContaining({ level: 40, msg: expect.stringContaining('raise tap.max_loop_delay') }),
  );
});
