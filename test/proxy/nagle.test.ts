import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { watchSockets } from './socket-watch.ts';
import { ask, httpAgent, POST_JSON, rawAgent, rawClient, RUN_REQUEST, startProxy } from './support.ts';

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
    const agent = await httpAgent((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await client.until('data: 1');

    expect(sockets.toClients(sidecar).map(isUndelayed)).toEqual([true]);
    expect(sockets.toAgent(agent).map(isUndelayed)).toEqual([true]);
  });

  it('on the fresh connection that replaces one found closed', async () => {
    const isUndelayed = await watchNoDelay();
    const sockets = watchSockets();
    let connections = 0;
    const agent = await rawAgent((socket) => {
      const isFirst = (connections += 1) === 1;
      let requests = 0;
      socket.on('data', () => {
        if (isFirst && (requests += 1) === 2) socket.resetAndDestroy();
        // The third one stays unanswered: its connection is to be looked at while it is in use.
        else if (isFirst) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndata');
      });
    });
    const sidecar = await startProxy(agent.url);
    await ask(sidecar.url, POST_JSON, RUN_REQUEST);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await client.until('data');

    expect(connections).toBe(2);
    expect(
      sockets
        .toAgent(agent)
        .filter((socket) => !socket.destroyed)
        .map(isUndelayed),
    ).toEqual([true]);
  });
});
