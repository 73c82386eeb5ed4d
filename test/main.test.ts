import { setTimeout as pause } from 'node:timers/promises';
import { HttpAgent } from '@ag-ui/client';
import { expect, it, onTestFinished } from 'vitest';
import { resolveConfig } from '../src/config/resolve.ts';
import { startSidecar } from '../src/main.ts';
import { METRICS } from '../src/metrics/registry.ts';
import { createLog } from '../src/telemetry/log.ts';
import { startTideAgent } from './support/tide-agent.ts';
import { virtualClock } from './support/virtual-clock.ts';

const IDLE_MS = 60_000;

async function start(agentUrl: string) {
  process.env['OTEL_SDK_DISABLED'] = 'true';
  const env = {
    AGENT_URL: agentUrl,
    AGENT_NAME: 'harbour',
    HOST: '127.0.0.1',
    ADMIN_HOST: '127.0.0.1',
    CLOSING_IDLE: '60s',
  };
  const result = resolveConfig({ env, sets: ['listen.port=0', 'admin.port=0', 'shutdown.grace=0s'] }, METRICS);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const clock = virtualClock();
  const sidecar = await startSidecar(result.config, { log: createLog({ level: 'silent' }), clock });
  onTestFinished(() => sidecar.stop());
  const metrics = async () => (await fetch(`http://127.0.0.1:${sidecar.adminPort}/metrics`)).text();
  /** Waits until the sidecar's metrics hold this line. */
  const shows = async (line: string) => {
    while (!(await metrics()).split('\n').includes(line)) await pause(10);
    return true;
  };
  return { clock, url: `http://127.0.0.1:${sidecar.proxyPort}`, shows };
}

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
