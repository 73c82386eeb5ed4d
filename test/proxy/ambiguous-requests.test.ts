import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { rawAgent, rawClient, startProxy } from './support.ts';

/** What a smuggler wants an agent to take for a request of its own. */
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: c\r\n\r\n';

const POST = 'POST / HTTP/1.1\r\nHost: c\r\n';
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`;

/** Heads that two readers could take for two different requests, or that are none at all. */
const HEADS: readonly (readonly [name: string, bytes: string])[] = [
  ['a length and a coding', `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a coding and a length', `${POST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`],
  ['two lengths', `${POST}Content-Length: 2\r\nContent-Length: 40\r\n\r\nhi`],
  ['one length twice', `${POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi`],
  ['a list of lengths', `${POST}Content-Length: 2, 2\r\n\r\nhi`],
  ['a length with a plus', `${POST}Content-Length: +2\r\n\r\nhi`],
  ['a length with a minus', `${POST}Content-Length: -2\r\n\r\nhi`],
  ['a length in hexadecimal', `${POST}Content-Length: 0x2\r\n\r\nhi`],
  ['a length with a space in it', `${POST}Content-Length: 2 2\r\n\r\nhi`],
  ['a length with a fraction', `${POST}Content-Length: 2.0\r\n\r\nhi`],
  ['an empty length', `${POST}Content-Length:\r\n\r\nhi`],
  ['a length over 64 bits', `${POST}Content-Length: 18446744073709551618\r\n\r\nhi`],
  ['a coding that is not chunked', `${POST}Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n`],
  ['the coding identity', `${POST}Transfer-Encoding: identity\r\n\r\n0\r\n\r\n`],
  ['an empty coding', `${POST}Transfer-Encoding:\r\n\r\n0\r\n\r\n`],
  ['a coding that is only like chunked', `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ['a coding in quotes', `${POST}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`],
  ['a coding with a parameter', `${POST}Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n`],
  ['a coding behind chunked', `${POST}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`],
  ['chunked twice', `${POST}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
  ['chunked twice in two fields', `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['chunked, then identity', `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`],
  ['a coding on a folded line', `${POST}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
  ['a coding with a vertical tab', `${POST}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
  ['a coding with a tab behind it', `${POST}Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n`],
  ['a coding in HTTP/1.0', 'POST / HTTP/1.0\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a space in front of a colon', `${POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
  ['a tab in front of a colon', `${POST}Content-Length\t: 2\r\n\r\nhi`],
  ['a folded line', `${POST}X-A: b\r\n c\r\nContent-Length: 2\r\n\r\nhi`],
  ['a first field that is folded', 'POST / HTTP/1.1\r\n Host: c\r\nContent-Length: 2\r\n\r\nhi'],
  ['lines that end in LF', 'POST / HTTP/1.1\nHost: c\nContent-Length: 2\n\nhi'],
  ['one line that ends in LF', `${POST}X-A: b\nContent-Length: 2\r\n\r\nhi`],
  ['a head that ends in LF', `${POST}Content-Length: 2\r\n\nhi`],
  ['a CR inside a value', `${POST}X-A: b\rContent-Length: 2\r\n\r\nhi`],
  ['a CR twice', `${POST}X-A: b\r\r\nContent-Length: 2\r\n\r\nhi`],
  ['a NUL in a value', `${POST}X-A: b\0c\r\nContent-Length: 2\r\n\r\nhi`],
  ['a NUL in a name', `${POST}X\0A: b\r\nContent-Length: 2\r\n\r\nhi`],
  ['a control character in a value', `${POST}X-A: b\x01c\r\nContent-Length: 2\r\n\r\nhi`],
  ['a name that is no token', `${POST}X\xe9: b\r\nContent-Length: 2\r\n\r\nhi`],
  ['a field without a colon', `${POST}X-A\r\nContent-Length: 2\r\n\r\nhi`],
  ['a field without a name', `${POST}: b\r\nContent-Length: 2\r\n\r\nhi`],
  ['no host', 'POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi'],
  ['two hosts', 'POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 2\r\n\r\nhi'],
  ['a space in the target', 'POST /a b HTTP/1.1\r\nHost: c\r\nContent-Length: 2\r\n\r\nhi'],
  ['a version that does not exist', 'POST / HTTP/1.2\r\nHost: c\r\nContent-Length: 2\r\n\r\nhi'],
  ['a version in lower case', 'POST / http/1.1\r\nHost: c\r\nContent-Length: 2\r\n\r\nhi'],
  ['no version', 'GET /\r\n\r\n'],
];

/** Bodies behind `CHUNKED` that leave open where they end. */
const CHUNKS: readonly (readonly [name: string, bytes: string])[] = [
  ['a size over 64 bits', '10000000000000002\r\nhi\r\n0\r\n\r\n'],
  ['a size with a plus', '+2\r\nhi\r\n0\r\n\r\n'],
  ['a size with a minus', '-2\r\nhi\r\n0\r\n\r\n'],
  ['a size with 0x', '0x2\r\nhi\r\n0\r\n\r\n'],
  ['a size with a space in front', ' 2\r\nhi\r\n0\r\n\r\n'],
  ['a size with a space behind', '2 \r\nhi\r\n0\r\n\r\n'],
  ['a size with an underscore', '0_2\r\nhi\r\n0\r\n\r\n'],
  ['a size that is no number', 'g\r\nhi\r\n0\r\n\r\n'],
  ['no size', '\r\nhi\r\n0\r\n\r\n'],
  ['a size line that ends in LF', '2\nhi\r\n0\r\n\r\n'],
  ['an extension that ends in LF', '2;a\nhi\r\n0\r\n\r\n'],
  ['an extension with a CR in it', '2;a="b\rc"\r\nhi\r\n0\r\n\r\n'],
  ['an extension of 20 KB', `2;a=${'b'.repeat(20_000)}\r\nhi\r\n0\r\n\r\n`],
  ['data that ends in LF', '2\r\nhi\n0\r\n\r\n'],
  ['data that is longer than its size', '2\r\nhello\r\n0\r\n\r\n'],
  ['data that does not end', '2\r\nhi0\r\n\r\n'],
  ['a trailer that sets a length', '2\r\nhi\r\n0\r\nContent-Length: 99\r\n\r\n'],
  ['a trailer that is no field', '2\r\nhi\r\n0\r\nno field\r\n\r\n'],
  ['a trailer on a folded line', '2\r\nhi\r\n0\r\nX-A: b\r\n c\r\n\r\n'],
  ['a trailer that ends in LF', '2\r\nhi\r\n0\r\nX-A: b\n\r\n\r\n'],
];

/** An agent that answers whatever comes, and all that its connections received. */
async function listeningAgent() {
  const received = new Map<Socket, string>();
  const agent = await rawAgent((socket) => {
    received.set(socket, '');
    socket.on('data', (bytes) => {
      received.set(socket, received.get(socket)! + bytes.toString('latin1'));
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  return { url: agent.url, received: () => [...received.values()].filter((bytes) => bytes !== '') };
}

/** What a client is told that sends these bytes, up to the end of its connection, and what of them an agent is sent. */
async function sent(bytes: string) {
  const agent = await listeningAgent();
  const sidecar = await startProxy(agent.url);
  const client = rawClient(sidecar.port, bytes);
  await client.closed;
  return { answered: client.received(), received: agent.received() };
}

/** One refusal, and nothing behind it. */
function expectRefusal(answered: string): void {
  expect([...answered.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)).toEqual([
    expect.stringMatching(/^(?:4\d\d|50[15])$/),
  ]);
  expect(answered).toMatch(/^HTTP\/1\.1 [^]*\r\nConnection: close\r\n/i);
}

describe('a request that could be read in two ways is refused, and nothing of it is forwarded', () => {
  it.each(HEADS)('%s', async (_, bytes) => {
    const { answered, received } = await sent(bytes + SMUGGLED);

    expectRefusal(answered);
    expect(received).toEqual([]);
  });

  it('a target in which a second request is hidden', async () => {
    const { answered, received } = await sent(`GET /\r\nHost: c\r\n\r\n${SMUGGLED}`);

    expectRefusal(answered);
    expect(received).toEqual([]);
  });
});

describe('a body whose chunks could be read in two ways is never taken for whole', () => {
  it.each(CHUNKS)('%s', async (_, body) => {
    const { answered, received } = await sent(CHUNKED + body + SMUGGLED);

    expectRefusal(answered);
    expect(received.join('')).not.toMatch(/smuggled|\r\n0\r\n\r\n$/);
  });

  it('when its first chunks had been forwarded: the agent sees it cut, the client is refused', async () => {
    const forwarded = Promise.withResolvers<void>();
    const cut = Promise.withResolvers<void>();
    let received = '';
    const agent = await rawAgent((socket) => {
      socket.on('data', (bytes) => {
        received += bytes.toString('latin1');
        if (received.includes('hi\r\n')) forwarded.resolve();
      });
      socket.on('close', () => cut.resolve());
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, `${CHUNKED}2\r\nhi\r\n`);
    await forwarded.promise;

    client.socket.write(`-2\r\nho\r\n0\r\n\r\n${SMUGGLED}`);

    await client.closed;
    await cut.promise;
    expectRefusal(client.received());
    expect(received).toMatch(/\r\n\r\n2\r\nhi\r\n$/);
    expect((await sidecar.ended()).end.transport).toBe('client_aborted');
  });

  it('when the agent is answering already: the answer is cut, and no byte of a refusal is put into it', async () => {
    const agent = await rawAgent((socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n'));
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, CHUNKED);
    await client.until('ok\r\n');

    client.socket.write(`-2\r\nho\r\n0\r\n\r\n${SMUGGLED}`);

    await client.closed;
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n(2\r\nok\r\n)+$/);
  });
});

describe('a request that can be read in one way only passes, however it is written', () => {
  it.each([
    ['spaces and tabs around a length', `${POST}Content-Length:\t 2 \t\r\n\r\nhi`, 'hi'],
    ['a length with leading zeros', `${POST}Content-Length: 002\r\n\r\nhi`, 'hi'],
    ['a coding in odd case', `${POST}Transfer-Encoding: ChUnKeD\r\n\r\n2\r\nhi\r\n0\r\n\r\n`, '2\r\nhi\r\n0\r\n\r\n'],
    ['a coding behind a tab', `${POST}Transfer-Encoding:\tchunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`, '2\r\nhi\r\n0\r\n\r\n'],
    ['extensions of chunks', `${CHUNKED}2;a=b;c="d;e"\r\nhi\r\n0;f\r\n\r\n`, '2\r\nhi\r\n0\r\n\r\n'],
    ['sizes with leading zeros', `${CHUNKED}${'0'.repeat(100)}2\r\nhi\r\n000\r\n\r\n`, '2\r\nhi\r\n0\r\n\r\n'],
    ['sizes in upper case', `${CHUNKED}A\r\n0123456789\r\n0\r\n\r\n`, 'a\r\n0123456789\r\n0\r\n\r\n'],
    ['empty lines in front', `\r\n\r\n${POST}Content-Length: 2\r\n\r\nhi`, 'hi'],
    ['what looks like a request in its body', `${POST}Content-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`, SMUGGLED],
    [
      'what looks like a request in the body of a GET',
      `GET / HTTP/1.1\r\nHost: c\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
      SMUGGLED,
    ],
    [
      'what looks like a request in a chunk',
      `${CHUNKED}${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`,
      `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`,
    ],
  ])('%s', async (_, bytes, body) => {
    const whole = Promise.withResolvers<void>();
    let received = '';
    const agent = await rawAgent((socket) => {
      socket.on('data', (piece) => {
        received += piece.toString('latin1');
        if (received.endsWith(`\r\n\r\n${body}`)) {
          whole.resolve();
          socket.write('HTTP/1.1 204 No Content\r\n\r\n');
        }
      });
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, bytes);

    await whole.promise;
    await client.until('204 No Content');
    await sidecar.ended();
    expect(sidecar.endings()).toBe(1);
  });
});
