import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Capture } from '../../src/agui/capture.ts';
import { readCapture } from '../../src/agui/read-capture.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { RequestEnd } from '../../src/proxy/observer.ts';
import { createProxyServer } from '../../src/proxy/server.ts';
import { BOUNDS } from '../../test/agui/captures.ts';
import { assertPlainJson } from '../checks.ts';
import { copiedBody, keptCapture } from '../../test/support/captured.ts';

interface Observed {
  readonly end: RequestEnd;
  readonly capture?: Capture;
}

/** An agent with the sidecar in front of it, its tap on. */
export interface Sidecar extends AsyncDisposable {
  readonly agentPort: number;
  readonly port: number;
  /**
   * What was observed since it was asked last, when all of it has ended and every capture has been read.
   *
   * @throws when something on the observing side failed.
   */
  observed(): Promise<readonly Observed[]>;
}

const HOST = '127.0.0.1';

export async function openSidecar(agent: Server): Promise<Sidecar> {
  const sockets = new Set<Socket>();
  agent.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  agent.listen(0, HOST);
  await once(agent, 'listening');
  const agentPort = portOf(agent.address());

  let pending: Promise<Observed>[] = [];
  let faults: unknown[] = [];
  const proxy = createProxyServer({
    agents: [{ name: 'agent', url: `http://${HOST}:${agentPort}`, match: '/' }],
    observe: () => {
      const { promise, resolve } = Promise.withResolvers<Observed>();
      pending.push(promise);
      return {
        trace: { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 0 },
        finished: async (end, capture) => {
          // The copy is lent until this is over.
          if (capture) await assertReadable(capture).catch((fault: unknown) => faults.push(fault));
          resolve({ end, ...(capture && { capture: keptCapture(capture) }) });
        },
      };
    },
    // So little in all that a copy which is not given back would soon be missed.
    tap: { maxExchangeBytes: 512 * 1024, maxTotalBytes: 4 * 1024 * 1024 },
    connectTimeoutMs: 10_000,
    // A client that has written its bytes ends its side at once, and is to be served all the same.
    halfClose: 'answer',
    onTapDropped: () => {},
    onTapShed: () => {},
    onFault: (fault) => faults.push(fault),
    now: () => systemClock.now(),
  });
  const port = portOf(await proxy.listen({ port: 0, host: HOST }));

  return {
    agentPort,
    port,
    async observed() {
      const observed = await Promise.all(pending);
      const [fault] = faults;
      pending = [];
      faults = [];
      if (fault !== undefined) throw fault;
      return observed;
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      for (const socket of sockets) socket.destroy();
      agent.close();
      await once(agent, 'close');
    },
  };
}

async function assertReadable(capture: Capture): Promise<void> {
  const exchange = await readCapture(capture, BOUNDS);
  if (exchange) assertPlainJson(exchange);
  assert.ok(!capture.truncated || copiedBody(capture).length > 100_000, 'a small exchange was not copied whole');
}

function portOf(address: AddressInfo | string | null): number {
  if (typeof address !== 'object' || address === null) throw new TypeError('the server listens on no port');
  return address.port;
}
