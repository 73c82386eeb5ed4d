import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { copiedBody } from '../support/captured.ts';
import { agentThat, ask, httpAgent, muteAgent, rawClient, RUN_REQUEST, startProxy } from './support.ts';
import { standstill, until } from './turns.ts';

const RUN = `POST /run HTTP/1.1\r\nHost: c\r\nContent-Type: application/json\r\nContent-Length: ${RUN_REQUEST.length}\r\n\r\n${RUN_REQUEST}`;

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const WAYS = ['destroy', 'resetAndDestroy', 'end'] as const;

/** TCP connections of this process that are open: the sidecar's, its clients' and its agents'. */
function openConnections(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'TCPSocketWrap').length;
}

// The sidecar's time stands still: what happens all the same waits for nothing but the client's leaving.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a client that leaves', () => {
  it.each(WAYS)('cancels the agent`s request at once before the head came (%s)', async (leave) => {
    const agent = await muteAgent();
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, RUN);
    await agent.asked;

    client.socket[leave]();

    await agent.left;
    const { end, capture } = await sidecar.ended();
    expect(end).toMatchObject({ transport: 'client_aborted', responseBytes: 0 });
    expect(end).not.toHaveProperty('status');
    expect(end).not.toHaveProperty('errorCode');
    expect(Buffer.from(capture!.request.body!).toString()).toBe(RUN_REQUEST);
    expect(capture).not.toHaveProperty('response');
  });

  it.each(WAYS)('cancels the agent`s request at once while it is answering (%s)', async (leave) => {
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
    expect(copiedBody(capture).toString()).toBe('data: 1\n\n');
  });

  it.each(['before the head came', 'while it is answering'] as const)(
    'cancels the agent`s request %s when its fetch is aborted, and its process lives on',
    async (phase) => {
      const asked = Promise.withResolvers<void>();
      const cancelled = Promise.withResolvers<void>();
      const agent = await httpAgent((_request, response) => {
        response.on('close', () => cancelled.resolve());
        if (phase === 'while it is answering') {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
        }
        asked.resolve();
      });
      const sidecar = await startProxy(agent.url);
      const controller = new AbortController();
      const answer = fetch(sidecar.url, { method: 'POST', body: RUN_REQUEST, signal: controller.signal });
      await asked.promise;
      const text = phase === 'while it is answering' ? answer.then((response) => response.text()) : answer;
      if (phase === 'while it is answering') await answer;

      controller.abort();

      await expect(text).rejects.toThrow('aborted');
      await cancelled.promise;
      expect((await sidecar.ended()).end.transport).toBe('client_aborted');
    },
  );

  it.each(['chunked', 'counted'] as const)(
    'cancels the agent`s request while the agent cannot write more (%s)',
    async (framing) => {
      const cancelled = Promise.withResolvers<void>();
      let written = 0;
      const agent = await httpAgent((_request, response) => {
        response.writeHead(200, {
          'content-type': 'text/event-stream',
          ...(framing === 'counted' && { 'content-length': 1e9 }),
        });
        const flood = () => {
          do written += 64 * 1024;
          while (response.write(Buffer.alloc(64 * 1024)));
        };
        response.on('drain', flood);
        response.on('close', () => cancelled.resolve());
        flood();
      });
      const sidecar = await startProxy(agent.url);
      const client = rawClient(sidecar.port, RUN);
      client.socket.pause();
      await standstill(() => written);

      client.socket.destroy();

      await cancelled.promise;
      expect((await sidecar.ended()).end.transport).toBe('client_aborted');
    },
  );

  it('cancels the agent`s request in the middle of its upload', async () => {
    const agent = await muteAgent();
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 1000\r\n\r\nhalf');
    await agent.asked;

    client.socket.destroy();

    await agent.left;
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'client_aborted' });
  });

  it('500 times, in every way and phase, leaves nothing open', async () => {
    const agent = await agentThat((socket, head) => {
      if (head.startsWith('POST /run')) socket.write(`${HEAD}9\r\ndata: 1\n\n\r\n`);
      asked += 1;
    });
    let asked = 0;
    const sidecar = await startProxy(agent.url);
    const connectionsBefore = openConnections();

    for (let round = 1; round <= 10; round += 1) {
      const answered = Array.from({ length: 25 }, () => rawClient(sidecar.port, RUN));
      const waiting = Array.from({ length: 25 }, () => rawClient(sidecar.port, RUN.replace('/run', '/silent')));
      await Promise.all(answered.map((client) => client.until('data: 1')));
      await until(() => asked === round * 50);
      for (const [index, { socket }] of [...answered, ...waiting].entries()) socket[WAYS[index % WAYS.length]!]();
      await sidecar.ended(round * 50 - 1);
    }

    await until(() => agent.sockets.size === 0 && openConnections() <= connectionsBefore);
    expect(sidecar.endings()).toBe(500);
    // Nothing is under way: otherwise this would wait for a grace that does not run out.
    await sidecar.proxy.close({ graceMs: 60_000 });
  });

  it('takes no connection to the agent with it that another request could get', async () => {
    const agent = await httpAgent((request, response) => {
      if (request.url === '/next') return response.end('ok');
      return response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    });
    const sidecar = await startProxy(agent.url);
    for (let round = 0; round < 20; round += 1) {
      const client = rawClient(sidecar.port, RUN);
      await client.until('data: 1');
      client.socket.destroy();

      expect((await ask(`${sidecar.url}/next`)).body.toString()).toBe('ok');
    }
  });
});
