import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { agentThat, ask, POST_JSON, rawAgent, rawClient, RUN_REQUEST, startProxy } from './support.ts';

const CHUNKED = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const HOUR_MS = 3_600_000;

// Node's own timers are not among these: the sockets are real, only the sidecar's limits run on the test's time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Lets the test's time run, step by step between turns of the event loop, until `settled` is. */
async function passTimeUntil<Result>(settled: Promise<Result>): Promise<Result> {
  for (;;) {
    const turn = new Promise<'turn'>((resolve) => setImmediate(resolve, 'turn'));
    const first = await Promise.race([settled, turn]);
    if (first !== 'turn') return settled;
    vi.advanceTimersByTime(10);
  }
}

describe('by default', () => {
  it('an agent may be silent for hours, before its head and in its stream', async () => {
    const asked = Promise.withResolvers<() => void>();
    const agent = await agentThat((socket) => asked.resolve(() => socket.write(CHUNKED)));
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');
    const sendHead = await asked.promise;
    vi.advanceTimersByTime(HOUR_MS);
    sendHead();
    await client.until('text/event-stream');
    vi.advanceTimersByTime(HOUR_MS);
    for (const socket of agent.sockets) socket.write('2\r\nok\r\n0\r\n\r\n');

    expect(await client.closed).toBe('end');
    expect(client.received()).toMatch(/2\r\nok\r\n0\r\n\r\n$/);
  });
});

describe('a first-byte limit', () => {
  it('answers 504 when no response comes in time, and cancels the agent`s request', async () => {
    const asked = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const agent = await rawAgent((socket) => {
      socket.on('data', (bytes) => {
        if (bytes.includes('threadId')) asked.resolve();
      });
      socket.on('close', () => cancelled.resolve());
    });
    const sidecar = await startProxy(agent.url, { firstByteTimeoutMs: 30_000 });

    const answer = ask(sidecar.url, POST_JSON, RUN_REQUEST);
    await asked.promise;
    vi.advanceTimersByTime(30_000);

    const { status, body } = await answer;
    expect(status).toBe(504);
    expect(JSON.parse(body.toString()).error).toEqual({
      code: 'upstream_timeout',
      message: 'Agent "agent" did not answer in time: no response within 30000 ms.',
    });
    await cancelled.promise;
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_timeout' });
  });

  it('does not count the time that the client takes to send its body', async () => {
    const begun = Promise.withResolvers<void>();
    const agent = await agentThat((socket) => {
      begun.resolve();
      socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    });
    const sidecar = await startProxy(agent.url, { firstByteTimeoutMs: 1_000 });
    const client = rawClient(sidecar.port, 'POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 3\r\n\r\n');
    await begun.promise;
    vi.advanceTimersByTime(HOUR_MS);
    client.socket.write('end');

    await client.until('\r\n\r\n');
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('runs while an agent does not take the body it is sent', async () => {
    const agent = await rawAgent((socket) => socket.pause());
    const sidecar = await startProxy(agent.url, { firstByteTimeoutMs: 1_000 });

    const { status } = await passTimeUntil(ask(sidecar.url, { method: 'POST' }, Buffer.alloc(64 * 1024 * 1024)));

    expect(status).toBe(504);
  });

  it('does not cut a stream that has begun', async () => {
    const agent = await agentThat((socket) => socket.write(CHUNKED));
    const sidecar = await startProxy(agent.url, { firstByteTimeoutMs: 1_000 });
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');
    await client.until('text/event-stream');
    vi.advanceTimersByTime(HOUR_MS);
    for (const socket of agent.sockets) socket.write('2\r\nok\r\n0\r\n\r\n');

    expect(await client.closed).toBe('end');
  });
});

describe('a limit on the head, and none on the stream', () => {
  it('ends with 504 what never answers, while a stream that is silent for longer lives', async () => {
    const silentAsked = Promise.withResolvers<void>();
    const agent = await agentThat((socket, head) => {
      if (head.startsWith('GET /stream')) socket.write(`${CHUNKED}2\r\nok\r\n`);
      else silentAsked.resolve();
    });
    const sidecar = await startProxy(agent.url, { firstByteTimeoutMs: 1_000 });
    const stream = rawClient(sidecar.port, 'GET /stream HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');
    await stream.until('ok');
    const silent = rawClient(sidecar.port, 'GET /silent HTTP/1.1\r\nHost: c\r\n\r\n');
    await silentAsked.promise;

    vi.advanceTimersByTime(1_000);
    await silent.until('504 Gateway Timeout');
    vi.advanceTimersByTime(HOUR_MS);
    for (const socket of agent.sockets) socket.write('3\r\nend\r\n0\r\n\r\n');

    expect(await stream.closed).toBe('end');
    expect(stream.received()).toMatch(/ok\r\n3\r\nend\r\n0\r\n\r\n$/);
  });
});

describe('the connect limit', () => {
  it('answers 504 when no connection comes about', async () => {
    // 192.0.2.0/24 is for documentation (RFC 5737): at best nobody answers, at worst the network says so at once.
    const sidecar = await startProxy('http://192.0.2.1:9', { connectTimeoutMs: 10_000 });

    const { status, body } = await passTimeUntil(ask(sidecar.url));
    expect([502, 504]).toContain(status);
    if (status === 504) expect(body.toString()).toContain('no connection within 10000 ms');
  });
});
