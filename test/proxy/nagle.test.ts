import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchSockets } from './socket-watch.ts';
import { agentOfStaleConnection, ask, POST_JSON, quietAgent, rawClient, RUN_REQUEST, startProxy } from './support.ts';

/** What is below a socket. Node says nowhere else which options the connection was given. */
interface Handle {
  setNoDelay(enable: boolean): unknown;
}

const handleOf = (socket: Socket): Handle => (socket as unknown as Readonly<Record<'_handle', Handle>>)['_handle'];

/** The connections on which small writes go out at once, from now to the end of the test. */
async function watchNoDelay(): Promise<(socket: Socket) => boolean> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const prototype = Object.getPrototypeOf(handleOf(server as unknown as Socket)) as Handle;
  const spy = vi.spyOn(prototype, 'setNoDelay');
  server.close();
  onTestFinished(() => spy.mockRestore());
  return (socket) =>
    spy.mock.contexts.some((handle, call) => handle === handleOf(socket) && spy.mock.calls[call]?.[0] === true) &&
    !spy.mock.contexts.some((handle, call) => handle === handleOf(socket) && spy.mock.calls[call]?.[0] === false);
}

describe('two small writes in a row are not held together', () => {
  it('on either leg', async () => {
    const isUndelayed = await watchNoDelay();
    const sockets = watchSockets();
    const agent = await quietAgent();
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await client.until('data: 1');

    expect(sockets.toClients(sidecar).map(isUndelayed)).toEqual([true]);
    expect(sockets.toAgent(agent).map(isUndelayed)).toEqual([true]);
  });

  it('on the fresh connection that replaces one found closed', async () => {
    const isUndelayed = await watchNoDelay();
    const sockets = watchSockets();
    const agent = await agentOfStaleConnection();
    const sidecar = await startProxy(agent.url);
    await ask(sidecar.url, POST_JSON, RUN_REQUEST);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await client.until('data');

    expect(agent.connections()).toBe(2);
    expect(
      sockets
        .toAgent(agent)
        .filter((socket) => !socket.destroyed)
        .map(isUndelayed),
    ).toEqual([true]);
  });
});
