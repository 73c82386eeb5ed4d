import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createConnections } from '../../src/proxy/connections.ts';
import { rawClient } from './support.ts';

const SIZE = 64 * 1024 * 1024;

async function start(answer: (response: ServerResponse) => void) {
  const connections = createConnections(() => {});
  const answered = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    connections.ask(request, response, () => {
      answer(response);
      answered.resolve();
    });
  });
  server.on('connection', (socket) => connections.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    connections.cut();
    server.close();
  });
  return { connections, answered: answered.promise, port: (server.address() as AddressInfo).port };
}

it('leaves a connection open until its client has read the answer to the last byte', async () => {
  // More than the kernel takes: the answer is ended, and most of it still in this process.
  const { connections, answered, port } = await start((response) => response.end(Buffer.alloc(SIZE, 'a')));
  const client = rawClient(port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
  client.socket.pause();
  await answered;

  for (let look = 0; look < 3; look++) connections.closeIdle();
  client.socket.removeAllListeners('data');
  client.socket.resume();
  while (client.socket.bytesRead < SIZE) await once(client.socket, 'data');

  // It is idle now, at the latest when its last bytes have been acknowledged.
  for (let closed = false; !closed;) {
    connections.closeIdle();
    closed = await Promise.race([
      client.closed.then(() => true),
      new Promise<false>((next) => void setImmediate(next, false)),
    ]);
  }
  expect(client.socket.bytesRead).toBeGreaterThan(SIZE);
});

it('cuts what is added after the cut', async () => {
  const { connections, port } = await start(() => {});
  connections.cut();
  const client = rawClient(port, '');
  expect(await client.closed).toMatch(/end|ECONNRESET/);
});
