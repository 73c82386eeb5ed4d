import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { AgentSocket } from '../../src/proxy/agent-socket.ts';
import { agentThat, PASS_THROUGH, rawClient, startProxy } from './support.ts';
import { until } from './turns.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

/** Both ends of a connection to a server that says what it is told to. */
async function connected() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = new AgentSocket();
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  socket.connect(port, '127.0.0.1');
  const [peer] = await accepted;
  onTestFinished(() => {
    socket.destroy();
    peer.destroy();
    server.close();
  });
  return { socket, peer };
}

it('what was read before the stream flows comes by the stream, and what comes then is taken, in order', async () => {
  const { socket, peer } = await connected();
  const came: string[] = [];
  socket.takeRead = (bytes) => came.push(`taken ${bytes.toString()}`);
  socket.read(0);
  peer.write('one');
  await until(() => socket.readableLength > 0);
  expect(came).toEqual([]);

  socket.on('data', (bytes: Buffer) => came.push(`data ${bytes.toString()}`));
  await until(() => came.length === 1);
  peer.write('two');
  await until(() => came.length === 2);

  expect(came).toEqual(['data one', 'taken two']);
});

it('nothing is taken while the socket is paused, and all of it afterwards', async () => {
  const { socket, peer } = await connected();
  let taken = '';
  socket.resume();
  socket.takeRead = (bytes) => {
    taken += bytes.toString();
    socket.pause();
  };
  peer.write('one');
  await until(() => taken === 'one');
  await new Promise<void>((resolve) => {
    peer.write('two', () => resolve());
  });
  expect(taken).toBe('one');

  socket.resume();
  await until(() => taken === 'onetwo');
});

it.runIf(PASS_THROUGH)('the plain chunks of an answer are taken before they are a stream', async () => {
  const pushes = vi.spyOn(AgentSocket.prototype, 'push');
  onTestFinished(() => pushes.mockRestore());
  let talk = (_text: string): void => expect.unreachable();
  const agent = await agentThat((socket) => {
    talk = (text) => void socket.write(text);
    socket.write(HEAD);
  });
  const sidecar = await startProxy(agent.url);
  const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
  await client.until('\r\n\r\n');
  const before = pushes.mock.calls.length;

  for (const text of ['one', 'two', 'six']) {
    talk(`3\r\n${text}\r\n`);
    await client.until(text);
  }

  expect(pushes.mock.calls.length).toBe(before);
});
