import { describe, expect, it } from 'vitest';
import { agentThat, httpAgent, rawAgent, rawClient, startProxy } from './support.ts';

/** What the agent receives, byte for byte, up to `until`, when a client sends `bytes`. */
async function bytesAtAgent(bytes: string, until: string): Promise<string> {
  let received = '';
  const agent = await rawAgent((socket) => {
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (received.includes(until)) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    });
  });
  const sidecar = await startProxy(agent.url);
  const client = rawClient(sidecar.port, bytes);
  await client.until('204 No Content');
  return received;
}

/** What a client receives, to the end of its connection, when the agent sends `answer` and closes. */
async function bytesAtClient(
  answer: string,
  request = 'GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n',
): Promise<string> {
  const agent = await agentThat((socket) => socket.end(answer, 'latin1'));
  const sidecar = await startProxy(agent.url);
  const client = rawClient(sidecar.port, request);
  await client.closed;
  return client.received();
}

describe('the request`s framing', () => {
  it('keeps a counted body counted', async () => {
    const received = await bytesAtAgent('POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 5\r\n\r\nhello', 'hello');
    expect(received).toContain('Content-Length: 5');
    expect(received).not.toMatch(/transfer-encoding/i);
    expect(received).toMatch(/\r\n\r\nhello$/);
  });

  it('keeps a chunked body chunked, and its trailers', async () => {
    const received = await bytesAtAgent(
      'POST / HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\nAuthorization: 9\r\n\r\n',
      'X-Sum: 1\r\n\r\n',
    );
    expect(received).toMatch(/\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n$/);
    expect(received).not.toMatch(/content-length|authorization/i);
  });

  it.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'leaves a %s without a body without one',
    async (method) => {
      const received = await bytesAtAgent(`${method} / HTTP/1.1\r\nHost: c\r\nX-A: 1\r\n\r\n`, '\r\n\r\n');
      expect(received).not.toMatch(/transfer-encoding|content-length/i);
      expect(received).toMatch(/X-A: 1\r\n/);
      expect(received).toMatch(/\r\n\r\n$/);
    },
  );

  it('forwards a DELETE with a body', async () => {
    const received = await bytesAtAgent('DELETE / HTTP/1.1\r\nHost: c\r\nContent-Length: 2\r\n\r\nhi', 'hi');
    expect(received).toContain('Content-Length: 2');
  });

  it('refuses a body that is framed twice (request smuggling)', async () => {
    const agent = await rawAgent(() => expect.unreachable());
    const sidecar = await startProxy(agent.url);
    const client = rawClient(
      sidecar.port,
      'POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    );
    await client.closed;
    expect(client.received()).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('the response`s framing', () => {
  it('keeps a counted body counted', async () => {
    const received = await bytesAtClient('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello');
    expect(received).toContain('Content-Length: 5');
    expect(received).not.toMatch(/transfer-encoding/i);
    expect(received).toMatch(/\r\n\r\nhello$/);
  });

  it('keeps a chunked body chunked, also when the agent closes behind it', async () => {
    const received = await bytesAtClient(
      'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    );
    expect(received).toContain('Transfer-Encoding: chunked');
    expect(received).toMatch(/\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/);
  });

  it('ends a body that the end of the agent`s connection delimits', async () => {
    const received = await bytesAtClient('HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\nhello');
    expect(received).toMatch(/\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/);
  });

  it('sends no chunks to an HTTP/1.0 client', async () => {
    const received = await bytesAtClient(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
      'GET / HTTP/1.0\r\n\r\n',
    );
    expect(received).not.toMatch(/transfer-encoding/i);
    expect(received).toMatch(/\r\n\r\nhello$/);
  });

  it.each(['204 No Content', '304 Not Modified'])('leaves a %s without a body', async (status) => {
    const received = await bytesAtClient(`HTTP/1.1 ${status}\r\nETag: "1"\r\n\r\n`);
    expect(received).not.toMatch(/transfer-encoding|content-length/i);
    expect(received).toMatch(/ETag: "1"[^]*\r\n\r\n$/);
  });

  it('relays trailers to a client that reads them, and not to others', async () => {
    const answer =
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n';
    const asking = await bytesAtClient(
      answer,
      'GET / HTTP/1.1\r\nHost: c\r\nTE: trailers\r\nConnection: close\r\n\r\n',
    );
    const silent = await bytesAtClient(answer);

    expect(asking).toContain('Trailer: X-Sum');
    expect(asking).toMatch(/2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n$/);
    expect(silent).not.toContain('X-Sum');
    expect(silent).toMatch(/2\r\nok\r\n0\r\n\r\n$/);
  });
});

describe('interim responses', () => {
  it('passes Expect: 100-continue to the agent and its 100 to the client', async () => {
    const agent = await httpAgent((request, response) => {
      request.on('data', (chunk) => response.end(chunk));
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(
      sidecar.port,
      'POST / HTTP/1.1\r\nHost: c\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n',
    );
    await client.until('HTTP/1.1 100 Continue\r\n\r\n');
    client.socket.write('body');
    await client.until('\r\n\r\nbody');
    expect(client.received()).toContain('HTTP/1.1 200 OK');
  });

  it('lets the agent refuse before the body is sent', async () => {
    const agent = await agentThat((socket) => socket.write('HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n'));
    const sidecar = await startProxy(agent.url);
    const client = rawClient(
      sidecar.port,
      'POST / HTTP/1.1\r\nHost: c\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n',
    );
    await client.until('417 No');
    expect(client.received()).not.toContain('100 Continue');
  });

  it('relays 102 and 103 in front of the final head', async () => {
    const received = await bytesAtClient(
      'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    );
    expect(received).toMatch(
      /^HTTP\/1\.1 102 Processing\r\n\r\nHTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>; rel=preload\r\n\r\nHTTP\/1\.1 200 OK\r\n[^]*ok$/,
    );
  });

  it('leaves out a 100 that the client did not ask for and a 103 without links', async () => {
    const received = await bytesAtClient(
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    );
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});
