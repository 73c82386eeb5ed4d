import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { agentThat, httpAgent, rawAgent, rawClient, RUN_REQUEST, startProxy } from './support.ts';

const RUN = `POST /run HTTP/1.1\r\nHost: c\r\nContent-Type: application/json\r\nContent-Length: ${RUN_REQUEST.length}\r\n\r\n${RUN_REQUEST}`;

/** What the sidecar promises. A busy machine may need another try to show it. */
const CANCELLED_WITHIN_MS = 100;
const RETRY = { retry: 4 };

describe('a client that leaves', () => {
  it.each(['destroy', 'resetAndDestroy', 'end'] as const)(
    'cancels the agent`s request before the head came (%s)',
    RETRY,
    async (leave) => {
      const asked = Promise.withResolvers<void>();
      const cancelled = Promise.withResolvers<number>();
      const agent = await agentThat((socket) => {
        asked.resolve();
        socket.on('close', () => cancelled.resolve(performance.now()));
      });
      const sidecar = await startProxy(agent.url);
      const client = rawClient(sidecar.port, RUN);
      await asked.promise;

      const left = performance.now();
      client.socket[leave]();

      expect((await cancelled.promise) - left).toBeLessThan(CANCELLED_WITHIN_MS);
      const { end, capture } = await sidecar.ended();
      expect(end).toMatchObject({ transport: 'client_aborted', responseBytes: 0 });
      expect(end).not.toHaveProperty('status');
      expect(end).not.toHaveProperty('errorCode');
      expect(Buffer.from(capture!.request.body!).toString()).toBe(RUN_REQUEST);
      expect(capture).not.toHaveProperty('response');
    },
  );

  it.each(['destroy', 'resetAndDestroy', 'end'] as const)(
    'cancels the agent`s request while it is answering (%s)',
    RETRY,
    async (leave) => {
      const cancelled = Promise.withResolvers<number>();
      const agent = await httpAgent((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: 1\n\n');
        response.on('close', () => cancelled.resolve(performance.now()));
      });
      const sidecar = await startProxy(agent.url);
      const client = rawClient(sidecar.port, RUN);
      await client.until('data: 1');

      const left = performance.now();
      client.socket[leave]();

      expect((await cancelled.promise) - left).toBeLessThan(CANCELLED_WITHIN_MS);
      const { end, capture } = await sidecar.ended();
      expect(end).toMatchObject({ transport: 'client_aborted', status: 200, responseBytes: 9 });
      expect(capture).toMatchObject({ transport: 'client_aborted', truncated: false });
      expect(Buffer.from(capture!.response!.body).toString()).toBe('data: 1\n\n');
    },
  );

  it('cancels the agent`s request while the agent cannot write more', async () => {
    const cancelled = Promise.withResolvers<void>();
    const agent = await httpAgent((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      while (response.write(Buffer.alloc(64 * 1024)));
      const flood = setInterval(() => response.write(Buffer.alloc(64 * 1024)), 1);
      response.on('close', () => {
        clearInterval(flood);
        cancelled.resolve();
      });
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, RUN);
    await client.until('text/event-stream');
    client.socket.pause();

    client.socket.destroy();

    await cancelled.promise;
    expect((await sidecar.ended()).end.transport).toBe('client_aborted');
  });

  it('cancels the agent`s request in the middle of its upload', async () => {
    const cancelled = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const agent = await rawAgent((socket) => {
      socket.once('data', () => asked.resolve());
      socket.on('close', () => cancelled.resolve());
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 1000\r\n\r\nhalf');
    await asked.promise;

    client.socket.destroy();

    await cancelled.promise;
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'client_aborted' });
  });

  it('leaves nothing open, however often it happens', async () => {
    const agent = await httpAgent((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
    });
    const sidecar = await startProxy(agent.url);
    for (let round = 0; round < 5; round += 1) {
      const clients = Array.from({ length: 20 }, () => rawClient(sidecar.port, RUN));
      await Promise.all(clients.map((client) => client.until('data: 1')));
      expect(sidecar.proxy.activeStreams().get('agent')).toBe(20);
      const agentSockets = [...agent.sockets].map((socket) => once(socket, 'close'));
      for (const { socket } of clients) socket.destroy();
      await Promise.all(agentSockets);
      await sidecar.ended(round * 20 + 19);
    }

    expect(agent.sockets.size).toBe(0);
    expect(sidecar.proxy.activeStreams().get('agent')).toBe(0);
    expect(sidecar.endings()).toBe(100);
  });
});
