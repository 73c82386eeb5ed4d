import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentThat, ask, closedPort, POST_JSON, rawClient, RUN_REQUEST, startProxy } from './support.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const COUNTED = `${HEAD}Content-Length: 100\r\n\r\n`;

const FAILURES: { name: string; fail: (socket: Socket) => void }[] = [
  { name: 'a reset', fail: (socket) => socket.resetAndDestroy() },
  { name: 'an early end', fail: (socket) => socket.end() },
];

const POSITIONS = [
  { position: 'before the first chunk', sent: CHUNKED, seen: 'text/event-stream' },
  { position: 'between two chunks', sent: `${CHUNKED}9\r\ndata: 1\n\n\r\n`, seen: 'data: 1\n\n' },
  { position: 'inside a chunk', sent: `${CHUNKED}ff\r\ndata: 1\n\n`, seen: 'data: 1\n\n' },
  { position: 'before the last line', sent: `${CHUNKED}9\r\ndata: 1\n\n\r\n0\r\n`, seen: 'data: 1\n\n' },
  { position: 'inside a counted body', sent: `${COUNTED}data: 1\n\n`, seen: 'data: 1\n\n' },
];

describe.each(FAILURES)('$name of the agent', ({ fail }) => {
  it.each(POSITIONS)('$position cuts the client`s connection and adds no byte', async ({ sent, seen }) => {
    const clientHasIt = Promise.withResolvers<void>();
    const agent = await agentThat(async (socket) => {
      socket.write(sent);
      await clientHasIt.promise;
      fail(socket);
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await client.until(seen);
    clientHasIt.resolve();

    await client.closed;

    expect(client.received()).not.toMatch(/\r\n0\r\n/);
    expect(client.received()).toMatch(seen.startsWith('data') ? /data: 1\n\n(\r\n)?$/ : /\r\n\r\n$/);
    expect((await sidecar.ended()).end).toMatchObject({
      transport: 'upstream_error',
      errorCode: 'upstream_reset',
      status: 200,
    });
  });

  it('is an error for an HTTP client, never a clean end', async () => {
    const agent = await agentThat((socket) => {
      socket.write(`${CHUNKED}9\r\ndata: 1\n\n\r\n`, () => fail(socket));
    });
    const sidecar = await startProxy(agent.url);

    await expect(ask(sidecar.url, POST_JSON, RUN_REQUEST)).rejects.toThrow('aborted');
    await expect(fetch(sidecar.url).then((response) => response.text())).rejects.toThrow('terminated');
  });

  it('before the head is a 502', async () => {
    const agent = await agentThat((socket) => fail(socket));
    const sidecar = await startProxy(agent.url);

    const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body.toString()).error.code).toBe('upstream_reset');
    expect(await sidecar.ended()).toMatchObject({
      end: { transport: 'upstream_error', errorCode: 'upstream_reset', status: 502 },
      capture: { transport: 'upstream_error' },
    });
  });

  it('inside the head is a 502', async () => {
    const agent = await agentThat((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Ty', () => fail(socket));
    });
    const sidecar = await startProxy(agent.url);

    expect((await ask(sidecar.url)).status).toBe(502);
  });
});

describe('a reset where only the end of the connection delimits the body', () => {
  it('resets an HTTP/1.0 client, which would take an end for a clean one', async () => {
    const agent = await agentThat((socket) => socket.write(`${CHUNKED}9\r\ndata: 1\n\n\r\n`));
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.0\r\n\r\n');
    await client.until('data: 1\n\n');
    for (const socket of agent.sockets) socket.destroy();

    expect(await client.closed).toBe('ECONNRESET');
  });
});

describe('an agent that is down', () => {
  it('is a 502 that says which agent and what to check, and nothing secret', async () => {
    const port = await closedPort();
    const sidecar = await startProxy(`http://127.0.0.1:${port}/token-in-path`);

    const answer = await ask(
      `${sidecar.url}/?key=secret`,
      { method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer secret' } },
      RUN_REQUEST,
    );

    expect(answer).toMatchObject({ status: 502, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(answer.body.toString())).toEqual({
      error: { code: 'upstream_unreachable', message: expect.stringMatching(/^Agent "agent" .*\(ECONNREFUSED\)/) },
    });
    expect(answer.body.toString()).not.toMatch(/secret|token|127\.0\.0\.1/);
    const { end, capture } = await sidecar.ended();
    expect(end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_unreachable', status: 502 });
    expect(Buffer.from(capture!.request.body!).toString()).toBe(RUN_REQUEST);
    expect(capture).not.toHaveProperty('response');
  });

  it('answers a burst of 200 requests with 200 times 502, and works once the agent is there', async () => {
    const sidecar = await startProxy(`http://127.0.0.1:${await closedPort()}`);

    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(sidecar.url, POST_JSON, RUN_REQUEST)));

    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 200 }, () => 502));
    await sidecar.ended(199);
    expect(sidecar.endings()).toBe(200);
    expect(sidecar.faults).toEqual([]);
  });

  it('lets a client use its connection again after a 502 to a large upload', async () => {
    const sidecar = await startProxy(`http://127.0.0.1:${await closedPort()}`);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());

    for (let round = 0; round < 3; round += 1) {
      const answer = await ask(sidecar.url, { method: 'POST', agent }, Buffer.alloc(1024 * 1024));
      expect(answer.status).toBe(502);
    }
  });
});

describe('an agent that does not speak HTTP', () => {
  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['a head that is too large', `HTTP/1.1 200 OK\r\nX-Big: ${'x'.repeat(40_000)}\r\n\r\n`],
    ['a status below 100', 'HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n'],
    [
      'an upgrade that nobody asked for',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    ],
  ])('is a 502: %s', async (_name, bytes) => {
    const agent = await agentThat((socket) => socket.write(bytes));
    const sidecar = await startProxy(agent.url);

    const answer = await ask(sidecar.url);

    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body.toString()).error.code).toBe('upstream_invalid');
  });

  it('may send more than it announced: the client gets what was announced', async () => {
    const agent = await agentThat((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more'));
    const sidecar = await startProxy(agent.url);

    expect((await ask(sidecar.url)).body.toString()).toBe('ok');
    expect((await ask(sidecar.url)).body.toString()).toBe('ok');
  });
});
