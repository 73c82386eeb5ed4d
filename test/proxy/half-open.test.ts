import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentThat, ask, httpAgent, POST_JSON, RUN_REQUEST, startProxy } from './support.ts';

/** Sends the request and the end of its own side, as `nc -N` does with a file, and reads to the end of the other. */
async function halfClosingClient(port: number, request: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => {
    socket.destroy();
  });
  socket.end(request);
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
  });
  await once(socket, 'end');
  return received;
}

describe('a client that ends its side behind its requests, where that is no leaving', () => {
  it('is given the answer to each of them, and then the end', async () => {
    const agent = await httpAgent((request, response) => response.end(request.url));
    const sidecar = await startProxy(agent.url, { halfClose: 'answer' });

    const received = await halfClosingClient(
      sidecar.port,
      'GET /one HTTP/1.1\r\nHost: c\r\n\r\nGET /two HTTP/1.1\r\nHost: c\r\n\r\n',
    );

    expect(received).toMatch(/\r\n\r\n\/one[^]*\r\n\r\n\/two$/);
  });
});

describe('an agent that ends its side behind its answer', () => {
  it.each([
    ['a counted one', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'],
    ['a counted one, said before', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok'],
    ['a chunked one', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
    [
      'a chunked one, said before',
      'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    ['one that ends with the connection', 'HTTP/1.1 200 OK\r\n\r\nok'],
  ])('has answered: %s', async (_name, answer) => {
    const agent = await agentThat((socket) => socket.end(answer));
    const sidecar = await startProxy(agent.url);

    expect(await ask(sidecar.url, POST_JSON, RUN_REQUEST)).toMatchObject({ status: 200, body: Buffer.from('ok') });

    expect((await sidecar.ended()).end.transport).toBe('complete');
    expect(sidecar.faults).toEqual([]);
  });

  it('and whose own request is still coming in has answered all the same', async () => {
    const agent = await agentThat((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
    const sidecar = await startProxy(agent.url);
    const socket = connect({ port: sidecar.port, host: '127.0.0.1' });
    onTestFinished(() => {
      socket.destroy();
    });
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
    });
    socket.write('POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 1000\r\n\r\nhalf');
    while (!received.endsWith('\r\n\r\nok')) await once(socket, 'data');

    expect((await sidecar.ended()).end).toMatchObject({ transport: 'complete', status: 200 });
  });
});
