import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { watchSockets } from './socket-watch.ts';
import { agentThat, rawClient, startProxy } from './support.ts';
import { until } from './turns.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';

/** An agent that sends the next part of its answer whenever it is told. */
async function steeredAgent() {
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const parts: PromiseWithResolvers<string>[] = [Promise.withResolvers(), Promise.withResolvers()];
  const agent = await agentThat(async (socket) => {
    socket.on('close', () => left.resolve());
    asked.resolve();
    for (const part of parts) socket.write(await part.promise);
  });
  return {
    url: agent.url,
    asked: asked.promise,
    left: left.promise,
    send: (index: 0 | 1, text: string) => parts[index]!.resolve(text),
  };
}

const REQUESTS = [
  { version: 'HTTP/1.1', text: 'GET / HTTP/1.1\r\nHost: c\r\n\r\n' },
  { version: 'HTTP/1.1 with a body', text: 'POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 2\r\n\r\n{}' },
  { version: 'HTTP/1.0', text: 'GET / HTTP/1.0\r\n\r\n' },
];

it.each(REQUESTS)(
  'a client that ends its side behind its request ($version) still reads its answer, if it is to be so',
  async ({ text }) => {
    const agent = await steeredAgent();
    const sidecar = await startProxy(agent.url, { halfClose: 'answer' });
    const client = rawClient(sidecar.port, text);
    client.socket.end();
    await agent.asked;
    agent.send(0, `${HEAD}5\r\nfirst\r\n`);
    await client.until('first');
    agent.send(1, '6\r\nsecond\r\n0\r\n\r\n');

    expect(await client.closed).toBe('end');
    expect(client.received()).toContain('second');
    expect((await sidecar.ended()).end.transport).toBe('complete');
  },
);

it('a client that left is noticed, if it is to be so, when something is sent to it', async () => {
  const asked = Promise.withResolvers<void>();
  const talk = Promise.withResolvers<void>();
  const agent = await agentThat(async (socket) => {
    asked.resolve();
    await talk.promise;
    socket.write(HEAD);
    while (!socket.destroyed) {
      socket.write('4\r\nmore\r\n');
      await nextTurn();
    }
  });
  const sidecar = await startProxy(agent.url, { halfClose: 'answer' });
  const client = rawClient(sidecar.port, REQUESTS[0]!.text);
  await asked.promise;
  client.socket.destroy();
  await once(client.socket, 'close');
  talk.resolve();

  expect((await sidecar.ended()).end.transport).toBe('client_aborted');
});

it('by default a client that ends its side has left', async () => {
  const agent = await steeredAgent();
  const sidecar = await startProxy(agent.url);
  const client = rawClient(sidecar.port, REQUESTS[0]!.text);
  await agent.asked;
  client.socket.end();

  await agent.left;
  expect((await sidecar.ended()).end.transport).toBe('client_aborted');
});

it('by default a client that ends its side while it does not read still gets what waited for it then', async () => {
  const sockets = watchSockets();
  const chunk = `400\r\n${'x'.repeat(1024)}\r\n`;
  let talk = (_text: string): void => expect.unreachable();
  const agent = await agentThat((socket) => {
    talk = (text) => void socket.write(text);
    socket.write(HEAD);
  });
  const sidecar = await startProxy(agent.url);
  const client = rawClient(sidecar.port, REQUESTS[0]!.text);
  await client.until('\r\n\r\n');
  client.socket.pause();
  const [toClient] = sockets.toClients(sidecar);
  let sent = 0;
  // Less than would hold the agent back.
  while ((toClient?.writableLength ?? 0) < 4 * chunk.length) {
    talk(chunk);
    sent += 1;
    await nextTurn();
  }

  client.socket.end();
  await until(() => toClient?.writable === false);
  talk('5\r\nafter\r\n');
  for (let turns = 0; turns < 20; turns += 1) await nextTurn();
  client.socket.resume();
  await client.closed;

  expect(client.received().split(chunk).length - 1).toBe(sent);
  expect(client.received()).not.toContain('after');
  expect((await sidecar.ended()).end.transport).toBe('client_aborted');
});
