import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { watchServer, watchSockets } from './socket-watch.ts';
import { agentThat, rawClient, startProxy, type FakeAgent } from './support.ts';
import { until } from './turns.ts';

const HOUR_MS = 3_600_000;
const CHUNKED = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const COUNTED = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 18\r\n\r\n';
const UNFRAMED = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';

// The sidecar's own limits run on the test's time. Node's do not: of those it is asked whether they are set.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function say(agent: FakeAgent, bytes: string, end = false): void {
  for (const socket of agent.sockets) {
    socket.write(bytes, 'latin1');
    if (end) socket.end();
  }
}

/** The idle timers that Node was told to run on sockets, in milliseconds; 0 for none. */
function timersOf(...sockets: readonly (readonly Socket[])[]): readonly number[] {
  return sockets.flat().map((socket) => socket.timeout ?? 0);
}

const SILENCES = [
  {
    name: 'before the head',
    before: '',
    seen: '',
    after: `${CHUNKED}9\r\ndata: 1\n\n\r\n0\r\n\r\n`,
    end: /\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n$/,
  },
  {
    name: 'inside the head',
    before: CHUNKED.slice(0, 30),
    seen: '',
    after: `${CHUNKED.slice(30)}9\r\ndata: 1\n\n\r\n0\r\n\r\n`,
    end: /\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n$/,
  },
  {
    name: 'between the head and the first event',
    before: CHUNKED,
    seen: '\r\n\r\n',
    after: '9\r\ndata: 1\n\n\r\n0\r\n\r\n',
    end: /\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n$/,
  },
  {
    name: 'between two events of a chunked stream',
    before: `${CHUNKED}9\r\ndata: 1\n\n\r\n`,
    seen: 'data: 1\n\n',
    after: '9\r\ndata: 2\n\n\r\n0\r\n\r\n',
    end: /data: 1\n\n[^]*data: 2\n\n\r\n0\r\n\r\n$/,
  },
  {
    name: 'inside a chunk',
    before: `${CHUNKED}9\r\ndata`,
    seen: 'data',
    after: ': 1\n\n\r\n0\r\n\r\n',
    end: /data[^]*: 1\n\n\r\n0\r\n\r\n$/,
  },
  {
    name: 'between two events of a counted stream',
    before: `${COUNTED}data: 1\n\n`,
    seen: 'data: 1\n\n',
    after: 'data: 2\n\n',
    end: /\r\n\r\ndata: 1\n\ndata: 2\n\n$/,
  },
  {
    name: 'between two events of a stream that the end of the connection delimits',
    before: `${UNFRAMED}data: 1\n\n`,
    seen: 'data: 1\n\n',
    after: 'data: 2\n\n',
    end: /data: 1\n\n[^]*data: 2\n\n\r\n0\r\n\r\n$/,
    closes: true,
  },
];

describe('an agent that is silent for hours', () => {
  it.each(SILENCES)('$name is waited for, under no timer at all', async ({ before, seen, after, end, closes }) => {
    const sockets = watchSockets();
    const asked = Promise.withResolvers<void>();
    const agent = await agentThat((socket) => {
      if (before !== '') socket.write(before, 'latin1');
      asked.resolve();
    });
    // Limits on other things must not end it: the connection stands, and the head, once it has begun to come, is due.
    const sidecar = await startProxy(agent.url, { connectTimeoutMs: 1 });
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');
    await asked.promise;
    await client.until(seen);

    for (let hour = 0; hour < 24; hour += 1) {
      vi.advanceTimersByTime(HOUR_MS);
      await turn();
    }
    const timers = timersOf(sockets.toClients(sidecar), sockets.toAgent(agent));
    say(agent, after, closes);

    expect(await client.closed).toBe('end');
    expect(client.received()).toMatch(end);
    expect(timers).toEqual([0, 0]);
    expect((await sidecar.ended()).end.transport).toBe('complete');
  });

  it('on a connection that was used before is waited for just as long: the timer of an idle one is taken off', async () => {
    const sockets = watchSockets();
    let requests = 0;
    const asked = Promise.withResolvers<void>();
    const agent = await agentThat((socket) => {
      socket.on('data', () => asked.resolve());
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      requests += 1;
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await client.until('ok');
    client.socket.write('GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');
    await asked.promise;

    vi.advanceTimersByTime(HOUR_MS);
    await turn();
    const timers = timersOf(sockets.toClients(sidecar), sockets.toAgent(agent));
    say(agent, 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate');

    await client.until('late');
    expect(requests).toBe(1);
    expect(timers).toEqual([0, 0]);
  });

  it('except for an event now and then goes on, whatever the limits on connection and first byte', async () => {
    const agent = await agentThat((socket) => socket.write(CHUNKED));
    const sidecar = await startProxy(agent.url, { connectTimeoutMs: 5_000, firstByteTimeoutMs: 5_000 });
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');
    await client.until('\r\n\r\n');

    for (let event = 0; event < 60; event += 1) {
      vi.advanceTimersByTime(10_000);
      say(agent, `b\r\ndata: ${String(event).padStart(3, '0')}\n\n\r\n`);
      await client.until(`data: ${String(event).padStart(3, '0')}\n\n`);
    }
    say(agent, '0\r\n\r\n');

    expect(await client.closed).toBe('end');
  });
});

describe('a client that is slow to send its body', () => {
  it('has all the time it wants: the server has no limit on requests', async () => {
    let received = '';
    const begun = Promise.withResolvers<void>();
    const agent = await agentThat((socket, head) => {
      received = head;
      begun.resolve();
      socket.on('data', (bytes) => {
        received += bytes.toString('latin1');
        if (received.endsWith('0123456789')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const sockets = watchSockets();
    const server = watchServer(() => sidecar);
    const sidecar = await startProxy(agent.url, { connectTimeoutMs: 1, firstByteTimeoutMs: 1_000 });
    const client = rawClient(sidecar.port, 'POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 10\r\n\r\n');
    await begun.promise;
    let timers: readonly number[] = [];

    for (const digit of '0123456789') {
      vi.advanceTimersByTime(HOUR_MS);
      client.socket.write(digit);
      await until(() => received.endsWith(digit));
      timers = timersOf(sockets.toClients(sidecar), sockets.toAgent(agent));
    }

    await client.until('\r\n\r\nok');
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 /);
    expect(server()).toMatchObject({ requestTimeout: 0, timeout: 0 });
    expect(timers).toEqual([0, 0]);
  });
});

describe('the limit on the first byte', () => {
  it('runs out on time while an agent sends its head byte by byte', async () => {
    const asked = Promise.withResolvers<void>();
    const agent = await agentThat(() => asked.resolve());
    const sidecar = await startProxy(agent.url, { firstByteTimeoutMs: 30_000 });
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await asked.promise;

    for (let second = 1; second < 30; second += 1) {
      vi.advanceTimersByTime(1_000);
      say(agent, CHUNKED.charAt(second - 1));
      await turn();
    }
    vi.advanceTimersByTime(999);
    await turn();
    expect(client.received()).toBe('');
    vi.advanceTimersByTime(1);

    await client.until('504');
    await client.until('no response within 30000 ms');
  });
});
