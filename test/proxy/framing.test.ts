import { setImmediate as nextTurn } from 'node:timers/promises';
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

/** The body that chunks carry; nothing else may stand between or behind them. */
function decodeChunks(bytes: string): string {
  let body = '';
  for (let rest = bytes; rest !== '0\r\n\r\n';) {
    const size = Number.parseInt(rest, 16);
    const at = rest.indexOf('\r\n') + 2;
    body += rest.slice(at, at + size);
    expect(rest.slice(at + size, at + size + 2)).toBe('\r\n');
    rest = rest.slice(at + size + 2);
  }
  return body;
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

  it('sends no chunks to an HTTP/1.0 client that would keep its connection', async () => {
    const received = await bytesAtClient(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
      'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
    );
    expect(received).not.toMatch(/transfer-encoding/i);
    expect(received).toContain('Connection: close');
    expect(received).toMatch(/\r\n\r\nhello$/);
  });

  it.each(['204 No Content', '304 Not Modified'])('leaves a %s without a body', async (status) => {
    const received = await bytesAtClient(`HTTP/1.1 ${status}\r\nETag: "1"\r\n\r\n`);
    expect(received).not.toMatch(/transfer-encoding|content-length/i);
    expect(received).toMatch(/ETag: "1"[^]*\r\n\r\n$/);
  });

  it.each([
    { name: 'a counted HEAD', request: 'HEAD', head: '200 OK\r\nContent-Length: 99', seen: 'Content-Length: 99' },
    {
      name: 'a chunked HEAD',
      request: 'HEAD',
      head: '200 OK\r\nTransfer-Encoding: chunked',
      seen: 'Transfer-Encoding: chunked',
    },
    { name: 'a HEAD without a length', request: 'HEAD', head: '200 OK', seen: '200 OK' },
    { name: 'a 204', request: 'GET', head: '204 No Content', seen: '204 No Content' },
    {
      name: 'a counted 304',
      request: 'GET',
      head: '304 Not Modified\r\nContent-Length: 99',
      seen: 'Content-Length: 99',
    },
    { name: 'a chunked 304', request: 'GET', head: '304 Not Modified\r\nTransfer-Encoding: chunked', seen: '304' },
  ])('ends $name with its head, and the next answer is the next one`s', async ({ request, head, seen }) => {
    const agent = await rawAgent((socket) => {
      socket.on('data', (bytes) => {
        const isNext = bytes.toString('latin1').includes('/next');
        socket.write(`HTTP/1.1 ${isNext ? '200 OK\r\nContent-Length: 4\r\n\r\nnext' : `${head}\r\n\r\n`}`);
      });
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, `${request} / HTTP/1.1\r\nHost: c\r\n\r\n`);
    await client.until('\r\n\r\n');
    expect(client.received()).toContain(seen);
    const first = client.received().length;

    client.socket.write('GET /next HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');

    expect(await client.closed).toBe('end');
    expect(client.received().slice(first)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nnext$/);
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

  it.each(['trailers', 'Trailers', 'gzip, trailers;q=0.5', 'deflate,\ttrailers ,'])(
    'relays trailers that were not announced, all of them, as they are, to a client that says TE: %s',
    async (te) => {
      const received = await bytesAtClient(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\nx-sUM: \xe9\r\nX-Last: 1\r\n\r\n',
        `GET / HTTP/1.1\r\nHost: c\r\nTE: ${te}\r\nConnection: close\r\n\r\n`,
      );
      expect(received).toMatch(/2\r\nok\r\n0\r\nX-Sum: 7\r\nx-sUM: \xe9\r\nX-Last: 1\r\n\r\n$/);
    },
  );

  it('lets no trailer pass that is for one connection or would change how the message is read', async () => {
    const barred = [
      'Connection: x',
      'Keep-Alive: x',
      'Proxy-Authenticate: x',
      'Upgrade: x',
      'Set-Cookie: a=b',
      'Host: x',
    ];
    const received = await bytesAtClient(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${barred.join('\r\n')}\r\nX-Sum: 7\r\n\r\n`,
      'GET / HTTP/1.1\r\nHost: c\r\nTE: trailers\r\nConnection: close\r\n\r\n',
    );
    expect(received).toMatch(/2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n$/);
  });

  it('has no trailers for an HTTP/1.0 client, which has no chunks to end', async () => {
    const received = await bytesAtClient(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n',
      'GET / HTTP/1.0\r\nTE: trailers\r\n\r\n',
    );
    expect(received).toMatch(/\r\n\r\nok$/);
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

  it.each([
    ['counted', 'Content-Length: 4', 'body'],
    ['chunked', 'Transfer-Encoding: chunked', '4\r\nbody\r\n0\r\n\r\n'],
  ])(
    'does not wait for a 100 of an agent that sends none: a %s body passes when it comes',
    async (_, framing, body) => {
      const asked = Promise.withResolvers<void>();
      let received = '';
      const agent = await rawAgent((socket) => {
        socket.on('data', (bytes) => {
          received += bytes.toString('latin1');
          if (received.includes('\r\n\r\n')) asked.resolve();
          if (received.endsWith(body)) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
        });
      });
      const sidecar = await startProxy(agent.url);
      const client = rawClient(
        sidecar.port,
        `POST / HTTP/1.1\r\nHost: c\r\nExpect: 100-continue\r\n${framing}\r\n\r\n`,
      );
      await asked.promise;
      expect(received).toContain('Expect: 100-continue');
      expect(client.received()).toBe('');

      client.socket.write(body);

      await client.until('204 No Content');
      expect(client.received()).toMatch(/^HTTP\/1\.1 204 /);
    },
  );

  it('passes an expectation that the sidecar does not know: what to make of it is the agent`s', async () => {
    const received = await bytesAtAgent(
      'POST / HTTP/1.1\r\nHost: c\r\nExpect: tea\r\nContent-Length: 2\r\n\r\nhi',
      'hi',
    );
    expect(received).toContain('Expect: tea');
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

  it.each([
    ['of a status that nobody knows', 'HTTP/1.1 104 New\r\nX-A: 1\r\n\r\nHTTP/1.1 199 Newer\r\n\r\n'],
    ['with a length, though it has no body', 'HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n'],
    ['with a coding, though it has no body', 'HTTP/1.1 102 Processing\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['with links that are none', 'HTTP/1.1 103 Early Hints\r\nLink: nonsense\r\n\r\n'],
    ['a hundred times', 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n'.repeat(100)],
    ['of 102', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(3)],
  ])('do no harm to the final one: %s', async (_, interim) => {
    for (const framed of ['Content-Length: 2\r\n\r\nok', 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n']) {
      const received = await bytesAtClient(`${interim}HTTP/1.1 200 OK\r\nX-Final: 1\r\n${framed}`);
      const [final, ...more] = received.split('HTTP/1.1 200 OK\r\n').slice(1);
      expect(final).toContain('X-Final: 1\r\n');
      expect(final?.endsWith(framed.slice(framed.indexOf('\r\n\r\n')))).toBe(true);
      expect(more).toEqual([]);
      expect(received).toMatch(/^(HTTP\/1\.1 10[23] [^]*\r\n\r\n)?HTTP\/1\.1 200 OK/);
    }
  });

  it('that come byte by byte do no harm either', async () => {
    const answer =
      'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n';
    const agent = await agentThat(async (socket) => {
      for (const byte of answer) {
        socket.write(byte);
        await nextTurn();
      }
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');

    expect(await client.closed).toBe('end');
    expect(client.received()).toMatch(/^HTTP\/1\.1 102 Processing\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    expect(decodeChunks(client.received().split('\r\n\r\n').slice(2).join('\r\n\r\n'))).toBe('ok');
  });

  it('are for no HTTP/1.0 client, which knows none', async () => {
    const received = await bytesAtClient(
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      'POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi',
    );
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('do not stand for the final one: an agent that leaves behind them is a 502', async () => {
    const received = await bytesAtClient('HTTP/1.1 102 Processing\r\n\r\n');
    expect(received).toMatch(/^HTTP\/1\.1 102 Processing\r\n\r\nHTTP\/1\.1 502 [^]*upstream_reset/);
  });

  it('passes on what a 103 says besides its links, but for what is for one connection or says how to read the final one', async () => {
    const hints = [
      'X-Trace: 1',
      'Link: </a.css>; rel=preload, </b.js>; rel=preload; as=script',
      'X-CaSe: one, two',
      'lInK: </c.woff>; rel=preload',
      'x-case: three',
      'Content-Security-Policy: default-src "self"',
      'Connection: X-Own',
      'X-Own: 1',
      'Keep-Alive: timeout=5',
      'Content-Type: text/css',
      'Set-Cookie: a=1',
      '__proto__: p',
    ];
    const received = await bytesAtClient(
      `HTTP/1.1 103 Early Hints\r\n${hints.join('\r\n')}\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
    );
    expect(received.slice(0, received.indexOf('\r\n\r\n')).split('\r\n')).toEqual([
      'HTTP/1.1 103 Early Hints',
      'Link: </a.css>; rel=preload, </b.js>; rel=preload; as=script, </c.woff>; rel=preload',
      'X-Trace: 1',
      'X-CaSe: one, two, three',
      'Content-Security-Policy: default-src "self"',
      '__proto__: p',
    ]);
    expect(received).toMatch(/\r\n\r\nHTTP\/1\.1 200 OK\r\n[^]*ok$/);
  });

  it('leaves out a 100 that the client did not ask for and a 103 without links', async () => {
    const received = await bytesAtClient(
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    );
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});
