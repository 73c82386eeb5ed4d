import { existsSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { watchSockets } from './socket-watch.ts';
import { agentOfStaleConnection, ask, POST_JSON, quietAgent, rawClient, RUN_REQUEST, startProxy } from './support.ts';

const CONNECTIONS = '/proc/net/tcp';

/** Timers that Linux runs on a connection, by their number in its table. */
const TIMERS: Readonly<Record<string, string>> = { '00': 'none', '01': 'retransmission', '02': 'keep-alive' };

function hexPort(port: number | undefined): string {
  return (port ?? 0).toString(16).toUpperCase().padStart(4, '0');
}

/** The timer on a connection once all that was sent has been confirmed. */
async function timerOf(socket: Socket): Promise<string> {
  const [local, remote] = [hexPort(socket.localPort), hexPort(socket.remotePort)];
  const line = new RegExp(`:${local} [0-9A-F]+:${remote} [0-9A-F]+ [0-9A-F:]+ (?<timer>\\d\\d):`);
  for (;;) {
    const timer = line.exec(readFileSync(CONNECTIONS, 'utf8'))?.groups?.['timer'] ?? '';
    if (timer !== '01') return TIMERS[timer] ?? timer;
    await turn();
  }
}

describe.skipIf(!existsSync(CONNECTIONS))(
  'a peer that vanishes without a word, while nothing is sent, is found out',
  () => {
    /** A stream that is silent behind its first event, through a sidecar whose sockets are watched. */
    async function silentStream() {
      const sockets = watchSockets();
      const agent = await quietAgent();
      const sidecar = await startProxy(agent.url);
      const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
      await client.until('data: 1');
      return { sockets, agent, sidecar };
    }

    it('when it is the agent of a silent stream: the system asks after it', async () => {
      const { sockets, agent } = await silentStream();

      expect(await Promise.all(sockets.toAgent(agent).map(timerOf))).toEqual(['keep-alive']);
    });

    it('when it is the client of a silent stream: the system asks after it', async () => {
      const { sockets, sidecar } = await silentStream();

      expect(await Promise.all(sockets.toClients(sidecar).map(timerOf))).toEqual(['keep-alive']);
    });

    it('when it is an agent on the fresh connection that replaced one found closed', async () => {
      const sockets = watchSockets();
      const agent = await agentOfStaleConnection();
      const sidecar = await startProxy(agent.url);
      await ask(sidecar.url, POST_JSON, RUN_REQUEST);
      const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
      await client.until('data');

      const fresh = sockets.toAgent(agent).filter((socket) => !socket.destroyed);
      expect(await Promise.all(fresh.map(timerOf))).toEqual(['keep-alive']);
    });
  },
);
