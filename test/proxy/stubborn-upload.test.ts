import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentThat, closedPort, startProxy } from './support.ts';

const MIB = 1024 * 1024;
const UPLOAD_BYTES = 8 * MIB;
const REFUSAL = 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\n\r\ntoo large';

/** A client that uploads without looking at the answer, as most do, and reads only when it has sent all it can. */
async function stubbornUpload(port: number, connection: string): Promise<{ received: string; closed: string }> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let received = '';
  let ended = false;
  let error: NodeJS.ErrnoException | undefined;
  socket.on('data', (bytes) => (received += bytes.toString('latin1')));
  socket.on('end', () => (ended = true));
  socket.on('error', (cause) => (error = cause));
  const closed = new Promise<string>((resolve) => {
    socket.on('close', () => resolve(error?.code ?? (ended ? 'end' : 'closed')));
  });
  socket.pause();
  socket.write(`POST / HTTP/1.1\r\nHost: c\r\n${connection}Content-Length: ${UPLOAD_BYTES}\r\n\r\n`);
  await send(socket, UPLOAD_BYTES);
  socket.resume();
  if (connection === '') {
    while (!received.includes('}') && !received.includes('too large')) await nextTurn();
    socket.end();
  }
  return { received: (await closed, received), closed: await closed };
}

async function send(socket: Socket, bytes: number): Promise<void> {
  const piece = Buffer.alloc(64 * 1024);
  for (let sent = 0; sent < bytes && !socket.destroyed; sent += piece.length) {
    await new Promise((resolve) => socket.write(piece, resolve));
  }
}

describe.each([
  ['keeps its connection', ''],
  ['closes its connection', 'Connection: close\r\n'],
])('a client that %s and sends on behind an early answer', (_, connection) => {
  it('reads a refusal of an agent that closes', async () => {
    const agent = await agentThat((socket) => socket.end(REFUSAL));
    const sidecar = await startProxy(agent.url);

    const { received, closed } = await stubbornUpload(sidecar.port, connection);

    expect(received).toMatch(/^HTTP\/1\.1 413 .*\r\n\r\ntoo large$/s);
    expect(closed).toBe('end');
  });

  it('reads that the agent is down', async () => {
    const sidecar = await startProxy(`http://127.0.0.1:${await closedPort()}`);

    const { received, closed } = await stubbornUpload(sidecar.port, connection);

    expect(received).toMatch(/^HTTP\/1\.1 502 .*"upstream_unreachable"/s);
    expect(closed).toBe('end');
  });
});
