import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentThat, ask, rawAgent, startProxy } from './support.ts';

const MIB = 1024 * 1024;
const UPLOAD = Buffer.alloc(5 * MIB, 'x');

const REFUSAL = 'HTTP/1.1 413 Payload Too Large\r\nContent-Length: 8\r\n';

/** What an agent may do that answers when it has seen the head of an upload, and wants no more of it. */
const AGENTS: readonly { readonly name: string; readonly answer: (socket: Socket) => void }[] = [
  { name: 'reads on', answer: (socket) => socket.write(`${REFUSAL}\r\ntoo much`) },
  { name: 'ends its side and reads on', answer: (socket) => socket.end(`${REFUSAL}Connection: close\r\n\r\ntoo much`) },
  {
    name: 'ends its side and reads no more',
    answer: (socket) => socket.pause().end(`${REFUSAL}Connection: close\r\n\r\ntoo much`),
  },
];

/** Those that close with an upload on its way to them: their system answers the rest of it with a reset. */
const CLOSING_AGENTS: typeof AGENTS = [
  {
    name: 'closes',
    answer(socket) {
      socket.pause().write(`${REFUSAL}Connection: close\r\n\r\ntoo much`);
      socket.destroySoon();
    },
  },
  {
    name: 'closes without saying so',
    answer(socket) {
      socket.pause().write(`${REFUSAL}\r\ntoo much`);
      socket.destroySoon();
    },
  },
  {
    name: 'resets',
    answer(socket) {
      socket.pause().write(`${REFUSAL}Connection: close\r\n\r\ntoo much`, () => socket.resetAndDestroy());
    },
  },
];

const CLIENTS = ['keep-alive', 'close'].flatMap((connection) =>
  ['counted', 'chunked'].map((framing) => ({ connection, framing })),
);

/** Uploads to such an agent; the client reads while it sends. */
async function upload(answer: (socket: Socket) => void, { connection, framing }: (typeof CLIENTS)[number]) {
  const agent = await agentThat(answer);
  const sidecar = await startProxy(agent.url);
  const pool = new Agent({ keepAlive: connection === 'keep-alive' });
  onTestFinished(() => pool.destroy());
  const headers = framing === 'counted' ? { 'content-length': UPLOAD.length } : { 'transfer-encoding': 'chunked' };
  return ask(sidecar.url, { method: 'POST', agent: pool, headers }, UPLOAD);
}

describe('a refusal that the agent sends while the client is still sending reaches it', () => {
  describe.each(CLIENTS)('$connection, $framing', (client) => {
    it.each([...AGENTS, ...CLOSING_AGENTS])('of an agent that then $name', async ({ answer }) => {
      expect(await upload(answer, client)).toMatchObject({ status: 413, body: Buffer.from('too much') });
    });
  });
});

/** A client whose sides close one by one, and which reads only when told to. */
function halfOpenClient(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).pause();
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

/** Writes all of it, piece by piece, as the other side takes it; rejects when it is reset. */
async function send(socket: Socket, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; at += 64 * 1024) {
    if (!socket.write(bytes.subarray(at, at + 64 * 1024))) await once(socket, 'drain');
    await turn();
  }
}

async function rest(socket: Socket, until: string): Promise<string> {
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
  });
  socket.resume();
  while (!received.includes(until)) await once(socket, 'data');
  return received;
}

const head = (length: number, connection = 'keep-alive') =>
  `POST / HTTP/1.1\r\nHost: c\r\nConnection: ${connection}\r\nContent-Length: ${length}\r\n\r\n`;

describe('an upload that was answered early', () => {
  it('goes on to an agent that goes on reading, from a client that reads only when it has sent all', async () => {
    let received = 0;
    const agent = await rawAgent((socket) => {
      socket.on('data', (bytes) => {
        if (received === 0) socket.write(`${REFUSAL}\r\ntoo much`);
        received += bytes.length;
      });
    });
    const sidecar = await startProxy(agent.url);
    const client = halfOpenClient(sidecar.port);
    client.write(head(UPLOAD.length));
    await sidecar.ended();

    await send(client, UPLOAD);
    client.write('GET /next HTTP/1.1\r\nHost: c\r\n\r\n');

    expect(await rest(client, 'too much')).toMatch(/^HTTP\/1\.1 413 /);
    expect(received).toBeGreaterThan(UPLOAD.length);
  });

  it('is read to its end though the client asked to close: a reset would take the answer with it', async () => {
    const agent = await agentThat((socket) => socket.write(`${REFUSAL}\r\ntoo much`));
    const sidecar = await startProxy(agent.url);
    const client = halfOpenClient(sidecar.port);
    client.write(head(UPLOAD.length, 'close'));
    await sidecar.ended();

    await send(client, UPLOAD);
    client.end();

    expect(await rest(client, 'too much')).toMatch(/^HTTP\/1\.1 413 [^]*\r\nConnection: close\r\n/);
  });
});
