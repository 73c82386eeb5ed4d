import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchSockets } from './socket-watch.ts';
import { agentThat, httpAgent, startProxy, type FakeAgent } from './support.ts';
import { standstill, until } from './turns.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const HOUR_MS = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function connectionsOf(agent: FakeAgent): Promise<Socket[]> {
  await until(() => agent.sockets.size > 0);
  return [...agent.sockets];
}

/** A client that reads only what it is told to. */
function slowReader(port: number) {
  const socket = connect(port, '127.0.0.1').pause();
  onTestFinished(() => {
    socket.destroy();
  });
  socket.write('GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');
  let ended = false;
  socket.on('end', () => {
    ended = true;
  });
  return {
    socket,
    hasEnded: () => ended,
    /** Resolves with up to `bytes` bytes; with none once the connection has ended. */
    async read(bytes: number): Promise<Buffer> {
      for (;;) {
        const piece = (socket.read(Math.min(bytes, socket.readableLength || bytes)) ?? undefined) as Buffer | undefined;
        if (piece || ended) return piece ?? Buffer.alloc(0);
        await Promise.race([once(socket, 'readable'), once(socket, 'end')]);
      }
    },
  };
}

describe('a client that reads slowly', () => {
  it.each(['chunked', 'counted'] as const)(
    'is never cut, though hours pass between its reads (%s)',
    async (framing) => {
      const size = 24 * MIB;
      const sockets = watchSockets();
      const agent = await httpAgent((_request, response) => {
        response.writeHead(200, {
          'content-type': 'text/event-stream',
          ...(framing === 'counted' && { 'content-length': size }),
        });
        response.end(Buffer.alloc(size, 'data: x\n\n'));
      });
      const sidecar = await startProxy(agent.url, { connectTimeoutMs: 1_000, firstByteTimeoutMs: 1_000 });
      const client = slowReader(sidecar.port);

      let received = 0;
      for (let read = 0; read < 50; read += 1) {
        received += (await client.read(KIB)).length;
        vi.advanceTimersByTime(HOUR_MS);
        await turn();
      }
      const pairs = [...sockets.toClients(sidecar), ...sockets.toAgent(agent)];
      expect(pairs.map((socket) => socket.timeout ?? 0)).toEqual([0, 0]);
      expect(received).toBeLessThanOrEqual(50 * KIB);

      client.socket.on('data', (bytes) => {
        received += bytes.length;
      });
      client.socket.resume();
      await once(client.socket, 'end');

      expect(received).toBeGreaterThan(size);
      expect((await sidecar.ended()).end).toMatchObject({ transport: 'complete', responseBytes: size });
    },
  );

  it('whose agent then stalls ends the agent`s request by leaving', async () => {
    const cancelled = Promise.withResolvers<void>();
    const agent = await agentThat((socket) => {
      socket.on('close', () => cancelled.resolve());
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write(`${(5 * MIB).toString(16)}\r\n`);
      // The chunk announces more than ever comes.
      socket.write(Buffer.alloc(5 * MIB - 1, 'x'));
    });
    const sidecar = await startProxy(agent.url);
    const client = slowReader(sidecar.port);
    await client.read(KIB);
    vi.advanceTimersByTime(24 * HOUR_MS);
    await turn();
    expect(client.hasEnded()).toBe(false);

    client.socket.destroy();

    await cancelled.promise;
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'client_aborted' });
  });

  it('is given all that had come, and no end, when the agent broke off in the meantime', async () => {
    const agent = await agentThat((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (let chunk = 0; chunk < 256; chunk += 1) {
        socket.write(`${(64 * KIB).toString(16)}\r\n`);
        socket.write(Buffer.alloc(64 * KIB, 'x'));
        socket.write('\r\n');
      }
    });
    const sidecar = await startProxy(agent.url);
    const client = slowReader(sidecar.port);
    const [agentSocket] = await connectionsOf(agent);
    await standstill(() => agentSocket!.bytesWritten - agentSocket!.writableLength);
    agentSocket!.resetAndDestroy();
    vi.advanceTimersByTime(HOUR_MS);

    let received = '';
    client.socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
    });
    client.socket.resume();
    await once(client.socket, 'close');

    expect(received.length).toBeGreaterThan(64 * KIB);
    expect(received).not.toMatch(/\r\n0\r\n/);
    expect(received.split('\r\n\r\n')[1]).toMatch(/^([0-9a-f]+\r\nx+\r\n)+/);
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_reset' });
  });
});
