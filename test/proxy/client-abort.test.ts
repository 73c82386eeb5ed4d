import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { agentThat, httpAgent, rawAgent, rawClient, RUN_REQUEST, startProxy } from './support.ts';

const RUN = `POST /run HTTP/1.1\r\nHost: c\r\nContent-Type: application/json\r\nContent-Length: ${RUN_REQUEST.length}\r\n\r\n${RUN_REQUEST}`;

// The sidecar's time stands still: what happens all the same waits for nothing but the client's leaving.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a client that leaves', () => {
  it.each(['destroy', 'resetAndDestroy', 'end'] as const)(
    'cancels the agent`s request at once before the head came (%s)',
    async (leave) => {
      const asked = Promise.withResolvers<void>();
      const cancelled = Promise.withResolvers<void>();
      const agent = await agentThat((socket) => {
        asked.resolve();
        socket.on('close', () => cancelled.resolve());
      });
      const sidecar = await startProxy(agent.url);
      const client = rawClient(sidecar.port, RUN);
      await asked.promise;

      client.socket[leave]();

      await cancelled.promise;
      const { end, capture } = await sidecar.ended();
      expect(end).toMatchObject({ transport: 'client_aborted', responseBytes: 0 });
      expect(end).not.toHaveProperty('status');
      expect(end).not.toHaveProperty('errorCode');
      expect(Buffer.from(capture!.request.body!).toString()).toBe(RUN_REQUEST);
      expect(capture).not.toHaveProperty('response');
    },
  );

  it.each(['destroy', 'resetAndDestroy', 'end'] as const)(
    'cancels the agent`s request at once while it is answering (%s)',
    async (leave) => {
      const cancelled = Promise.withResolvers<void>();
      const agent = await httpAgent((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: 1\n\n');
        response.on('close', () => cancelled.resolve());
      });
      const sidecar = await startProxy(agent.url);
      const client = rawClient(sidecar.port, RUN);
      await client.until('data: 1');

      client.socket[leave]();

      await cancelled.promise;
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
      response.on('drain', () => {
        while (response.write(Buffer.alloc(64 * 1024)));
      });
      response.on('close', () => cancelled.resolve());
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
      const agentSockets = [...agent.sockets].map((socket) => once(socket, 'close'));
      for (const { socket } of clients) socket.destroy();
      await Promise.all(agentSockets);
      await sidecar.ended(round * 20 + 19);
    }

    expect(agent.sockets.size).toBe(0);
    expect(sidecar.endings()).toBe(100);
    // Nothing is under way: otherwise this would wait for a grace that does not run out.
    await sidecar.proxy.close({ graceMs: 60_000 });
  });
});
