import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { watchSockets } from './socket-watch.ts';
import { ask, httpAgent, POST_JSON, RUN_REQUEST, startProxy } from './support.ts';

/** More than the most requests that common servers and proxies allow on one connection (1,000). */
const MANY = 2_000;

describe('one connection carries any number of requests', () => {
  it('from a client, and to an agent', { timeout: 60_000 }, async () => {
    const fromSidecar = new Set<Socket>();
    const agent = await httpAgent((request, response) => {
      fromSidecar.add(request.socket);
      response.end(request.url);
    });
    const sidecar = await startProxy(agent.url, { tap: undefined });
    const client = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => client.destroy());
    const sockets = watchSockets();

    for (let round = 0; round < MANY; round += 1) {
      const { headers, body } = await ask(`${sidecar.url}/${round}`, { agent: client });
      expect(body.toString()).toBe(`/${round}`);
      expect(headers.connection).toBe('keep-alive');
      expect(headers['keep-alive']).not.toContain('max');
    }

    expect(sockets.toClients(sidecar)).toHaveLength(1);
    expect(fromSidecar.size).toBe(1);
  });
});

describe('a connection to an agent', () => {
  it('is not taken again behind an answer that said it was the last', async () => {
    const used = new Set<Socket>();
    const agent = await httpAgent((request, response) => {
      used.add(request.socket);
      response.setHeader('connection', 'close');
      request.resume().on('end', () => response.end('ok'));
    });
    const sidecar = await startProxy(agent.url);

    for (let round = 0; round < 3; round += 1) await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect(used.size).toBe(3);
  });
});
