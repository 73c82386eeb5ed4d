import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Client, startClient } from '../../bench/proxy/client.ts';
import { startModule, stop } from '../../bench/proxy/processes.ts';
import type { Outcome } from '../../bench/proxy/plan.ts';

const AGENT = new URL('../../bench/proxy/agent.ts', import.meta.url);
const RUN = { kind: 'paced', events: 3, everyMs: 1, deltaLength: 5 } as const;
/** Those of the plan, and two at either end. */
const EVENTS_A_RUN = RUN.events + 4;

describe('a load that goes on', () => {
  let agent: Awaited<ReturnType<typeof startModule<{ port: number; acknowledgementPort: number }>>>;
  let client: Client;

  beforeEach(async () => {
    agent = await startModule(AGENT, [], undefined);
    client = await startClient(agent.announcement, undefined);
  });
  afterEach(async () => {
    await Promise.all([client.stop(), stop(agent.child)]);
  });

  const direct = () => ({ name: 'direct', port: agent.announcement.port });

  /** The first slice in which a run has ended. */
  async function sliceWithRuns(): Promise<Outcome> {
    for (;;) {
      const { direct: outcome } = await client.slice();
      if (outcome && outcome.runs > 0) return outcome;
    }
  }

  it('tells of each slice what came since the last one, until it is to finish', async () => {
    await client.begin({ targets: [direct()], lanes: 2, run: RUN });
    for (let slice = 0; slice < 3; slice += 1) {
      const { events, runs, latenciesUs } = await sliceWithRuns();
      expect(latenciesUs).toHaveLength(events);
      // Of runs that go on through the end of a slice some events are in the next.
      expect(Math.abs(events - runs * EVENTS_A_RUN)).toBeLessThanOrEqual(2 * EVENTS_A_RUN);
    }
    await client.finish();
    await expect(client.slice()).rejects.toThrow('No load was begun.');
  });

  it('fails the slice, the end, and nothing after that when a run fails', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => gone.once('listening', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));

    await client.begin({ targets: [direct(), { name: 'gone', port }], lanes: 1, run: RUN });
    await expect(
      (async () => {
        for (;;) await client.slice();
      })(),
    ).rejects.toThrow('gone failed a run');
    await expect(client.finish()).rejects.toThrow('gone failed a run');
    await client.begin({ targets: [direct()], lanes: 1, run: RUN });
    expect((await sliceWithRuns()).events).toBeGreaterThan(0);
    await client.finish();
  });
});
