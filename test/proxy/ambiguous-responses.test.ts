import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ask, rawAgent, rawClient, startProxy, type FakeAgent, type TestProxy } from './support.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

/** What a client must never take for the answer to its own request. */
const STRAY = `${OK}Content-Length: 5\r\n\r\nstray`;

/** Heads that two readers could take for two different responses, or that are none at all. */
const HEADS: readonly (readonly [name: string, bytes: string])[] = [
  ['a length and a coding', `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a coding and a length', `${OK}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`],
  ['two lengths', `${OK}Content-Length: 2\r\nContent-Length: 40\r\n\r\nok`],
  ['one length twice', `${OK}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`],
  ['a list of lengths', `${OK}Content-Length: 2, 2\r\n\r\nok`],
  ['a length with a plus', `${OK}Content-Length: +2\r\n\r\nok`],
  ['a length with a minus', `${OK}Content-Length: -2\r\n\r\nok`],
  ['a length in hexadecimal', `${OK}Content-Length: 0x2\r\n\r\nok`],
  ['a length with a space in it', `${OK}Content-Length: 2 2\r\n\r\nok`],
  ['an empty length', `${OK}Content-Length:\r\n\r\nok`],
  ['a length over 64 bits', `${OK}Content-Length: 18446744073709551618\r\n\r\nok`],
  ['an empty coding', `${OK}Transfer-Encoding:\r\n\r\n0\r\n\r\n`],
  ['a coding on a folded line', `${OK}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
  ['a space in front of a colon', `${OK}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
  ['a folded line', `${OK}X-A: b\r\n c\r\nContent-Length: 2\r\n\r\nok`],
  ['lines that end in LF', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
  ['a CR inside a value', `${OK}X-A: b\rContent-Length: 2\r\n\r\nok`],
  ['a NUL in a value', `${OK}X-A: b\0c\r\nContent-Length: 2\r\n\r\nok`],
  ['a control character in a value', `${OK}X-A: b\x01c\r\nContent-Length: 2\r\n\r\nok`],
  ['a control character in the reason', 'HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\nok'],
  ['a CR in the reason', 'HTTP/1.1 200 O\rK\r\nContent-Length: 2\r\n\r\nok'],
  ['a field without a colon', `${OK}X-A\r\nContent-Length: 2\r\n\r\nok`],
  ['a field without a name', `${OK}: b\r\nContent-Length: 2\r\n\r\nok`],
  ['a version that does not exist', 'HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nok'],
  ['no version', '<h1>200 OK</h1>\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 99 OK\r\nContent-Length: 2\r\n\r\nok'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok'],
  ['the preface of HTTP/2', '\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64'],
  ['a TLS alert', '\x15\x03\x01\0\x02\x02\x46'],
];

/**
 * Codings that nobody asked for. Where the last is not chunked, Node takes the end of the connection for that of the body;
 * with a tab behind it too, though it then calls it `chunked`.
 */
const OTHER_CODINGS = [
  'gzip',
  'identity',
  'xchunked',
  'chunked, gzip',
  'chunked, chunked',
  'chunked\t',
  'chunked;a=b',
  '"chunked"',
];

/** Bodies behind `CHUNKED` that leave open where they end; `passed` of them is beyond doubt. */
const CHUNKS: readonly (readonly [name: string, bytes: string, passed: string])[] = [
  ['a size over 64 bits', '10000000000000002\r\nok\r\n0\r\n\r\n', ''],
  ['a size with a plus', '+2\r\nok\r\n0\r\n\r\n', ''],
  ['a size with a minus', '-2\r\nok\r\n0\r\n\r\n', ''],
  ['a size with 0x', '0x2\r\nok\r\n0\r\n\r\n', ''],
  ['a size with a space in front', ' 2\r\nok\r\n0\r\n\r\n', ''],
  ['a size with a space behind', '2 \r\nok\r\n0\r\n\r\n', ''],
  ['a size that is no number', 'g\r\nok\r\n0\r\n\r\n', ''],
  ['no size', '\r\nok\r\n0\r\n\r\n', ''],
  ['a size line that ends in LF', '2\nok\r\n0\r\n\r\n', ''],
  ['an extension that ends in LF', '2;a\nok\r\n0\r\n\r\n', ''],
  ['an extension of 20 KB', `2;a=${'b'.repeat(20_000)}\r\nok\r\n0\r\n\r\n`, ''],
  ['data that ends in LF', '2\r\nok\n0\r\n\r\n', 'ok'],
  ['data that is longer than its size', '2\r\nokay\r\n0\r\n\r\n', 'ok'],
  ['data that does not end', '2\r\nok0\r\n\r\n', 'ok'],
  ['a status line in place of a size', `2\r\nok\r\n${STRAY}`, 'ok'],
  ['nonsense behind chunks in order', '2\r\nok\r\n2\r\nok\r\n-1\r\nok\r\n0\r\n\r\n', 'okok'],
  ['a trailer that is no field', '2\r\nok\r\n0\r\nno field\r\n\r\n', 'ok'],
  ['a trailer on a folded line', '2\r\nok\r\n0\r\nX-A: b\r\n c\r\n\r\n', 'ok'],
  ['a trailer of 20 KB', `2\r\nok\r\n0\r\nX-A: ${'b'.repeat(20_000)}\r\n\r\n`, 'ok'],
];

/** Answers with bytes behind their end; `body` is what was framed. */
const OVERLONG: readonly (readonly [name: string, method: string, bytes: string, body: string])[] = [
  ['a counted answer and another', 'GET', `${OK}Content-Length: 2\r\n\r\nok${STRAY}`, 'ok'],
  ['a counted answer and nonsense', 'GET', `${OK}Content-Length: 2\r\n\r\nok and more`, 'ok'],
  ['a counted answer and an empty line', 'GET', `${OK}Content-Length: 2\r\n\r\nok\r\n`, 'ok'],
  ['an empty answer and another', 'GET', `${OK}Content-Length: 0\r\n\r\n${STRAY}`, ''],
  ['a chunked answer and another', 'GET', `${CHUNKED}2\r\nok\r\n0\r\n\r\n${STRAY}`, 'ok'],
  ['a chunked answer and a chunk', 'GET', `${CHUNKED}2\r\nok\r\n0\r\n\r\n2\r\nok\r\n0\r\n\r\n`, 'ok'],
  ['a 204 with a body', 'GET', `HTTP/1.1 204 No Content\r\n\r\n${STRAY}`, ''],
  ['a 204 with a counted body', 'GET', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nstray', ''],
  [
    'a 204 with chunks',
    'GET',
    'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nstray\r\n0\r\n\r\n',
    '',
  ],
  ['a 304 with its body', 'GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nstray', ''],
  [
    'a 304 with chunks',
    'GET',
    'HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nstray\r\n0\r\n\r\n',
    '',
  ],
  ['a HEAD with its body', 'HEAD', `${OK}Content-Length: 5\r\n\r\nstray`, ''],
  ['a HEAD with chunks', 'HEAD', `${CHUNKED}5\r\nstray\r\n0\r\n\r\n`, ''],
];

/** An agent that answers `/odd` with these bytes and all else as it should. */
async function agentAnsweringOdd(bytes: string): Promise<FakeAgent> {
  return rawAgent((socket) => {
    socket.on('data', (request) => {
      const [, path] = request.toString('latin1').split(' ');
      if (path === '/odd') socket.write(bytes, 'latin1');
      else socket.write(`${OK}Content-Length: ${path!.length}\r\n\r\n${path}`);
    });
  });
}

/** Whatever became of the connections before: each request is answered with what belongs to it. */
async function expectOwnAnswers(sidecar: TestProxy): Promise<void> {
  for (const path of ['/one', '/two', '/three']) {
    expect((await ask(sidecar.url + path)).body.toString()).toBe(path);
  }
}

const ODD = 'GET /odd HTTP/1.1\r\nHost: c\r\nTE: trailers\r\n\r\n';

describe('a response that could be read in two ways is a 502, and the next request has its own answer', () => {
  it.each(HEADS)('%s', async (_, bytes) => {
    const sidecar = await startProxy((await agentAnsweringOdd(bytes)).url);

    const answer = await ask(`${sidecar.url}/odd`);

    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body.toString()).error.code).toBe('upstream_invalid');
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_invalid' });
    await expectOwnAnswers(sidecar);
  });

  /** What the client reads of an answer in that coding. */
  async function answerIn(coding: string): Promise<string> {
    const bytes = `${OK}Transfer-Encoding: ${coding}\r\n\r\n2\r\nok\r\n0\r\n\r\n`;
    const sidecar = await startProxy((await agentAnsweringOdd(bytes)).url);
    const client = rawClient(sidecar.port, ODD);
    await client.until('\r\n\r\n');
    await expectOwnAnswers(sidecar);
    return client.received();
  }

  it.each(OTHER_CODINGS)('a coding other than chunked: %j', async (coding) => {
    expect(await answerIn(coding)).toMatch(/^HTTP\/1\.1 502 /);
  });
});

describe('a body whose chunks could be read in two ways is never taken for whole', () => {
  it.each(CHUNKS)('%s', async (_, bytes, passed) => {
    const sidecar = await startProxy((await agentAnsweringOdd(CHUNKED + bytes)).url);
    const client = rawClient(sidecar.port, ODD);

    await client.closed;

    const received = client.received();
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(received).not.toMatch(/\r\n0\r\n|stray/);
    const data = received.slice(received.indexOf('\r\n\r\n') + 4).replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n|\r\n$/g, '');
    expect(passed.startsWith(data)).toBe(true);
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_invalid' });
    await expectOwnAnswers(sidecar);
  });

  it.each(['1fffffffffffff', '7fffffffffffffff', 'ffffffffffffffff'])(
    'a size of %s, which no body reaches: what follows belongs to it for as long as the connection lasts',
    async (size) => {
      const agent = await agentAnsweringOdd(`${CHUNKED}${size}\r\nok\r\n0\r\n\r\n${STRAY}`);
      const sidecar = await startProxy(agent.url);
      const client = rawClient(sidecar.port, ODD);
      await client.until('stray');
      for (const socket of agent.sockets) socket.end();

      await client.closed;

      expect((await sidecar.ended()).end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_reset' });
      await expectOwnAnswers(sidecar);
    },
  );
});

describe('bytes behind the end of an answer belong to nobody', () => {
  it.each(OVERLONG)('%s', async (_, method, bytes, body) => {
    const sidecar = await startProxy((await agentAnsweringOdd(bytes)).url);

    const answer = await ask(`${sidecar.url}/odd`, { method });

    expect(answer.body.toString()).toBe(body);
    await expectOwnAnswers(sidecar);
  });

  it.each(OVERLONG)('also on a connection on which the client goes on: %s', async (_, method, bytes) => {
    const sidecar = await startProxy((await agentAnsweringOdd(bytes)).url);
    const client = rawClient(sidecar.port, ODD.replace('GET', method));
    await sidecar.ended();

    client.socket.write('GET /next HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');

    expect(await client.closed).toBe('end');
    expect(client.received()).not.toContain('stray');
    expect(client.received()).toMatch(/\r\n\r\n\/next$/);
  });

  it('an answer that comes while nothing was asked is not taken for the next one`s', async () => {
    const agent = await agentAnsweringOdd('');
    const sidecar = await startProxy(agent.url);
    await ask(`${sidecar.url}/first`);
    const [idle] = agent.sockets;
    idle!.write(STRAY);
    await once(idle!, 'close');

    expect(agent.sockets.size).toBe(0);
    await expectOwnAnswers(sidecar);
  });
});

describe('a response that can be read in one way only passes, however it is written', () => {
  it.each([
    ['spaces and tabs around a length', `${OK}Content-Length:\t 2 \t\r\n\r\nok`],
    ['a coding in odd case', `${OK}Transfer-Encoding: ChUnKeD\r\n\r\n2\r\nok\r\n0\r\n\r\n`],
    ['a coding behind a tab', `${OK}Transfer-Encoding:\tchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`],
    ['extensions of chunks', `${CHUNKED}1;a=b;c="d;e"\r\no\r\n1\r\nk\r\n0;f\r\n\r\n`],
    ['sizes with leading zeros', `${CHUNKED}${'0'.repeat(100)}2\r\nok\r\n000\r\n\r\n`],
    ['sizes in upper case', `${CHUNKED}0B\r\n${'k'.repeat(11)}\r\n0\r\n\r\n`.replace('kkkkkkkkkkk', 'okkkkkkkkkk')],
    ['trailers', `${CHUNKED}2\r\nok\r\n0\r\nX-A: b\r\nX-B: c\r\n\r\n`],
    ['no reason', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok'],
    ['a status that nobody knows', 'HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nok'],
    ['empty lines in front', `\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`],
    ['what looks like an answer in its body', `${OK}Content-Length: ${2 + STRAY.length}\r\n\r\nok${STRAY}`],
    ['what looks like an answer in a chunk', `${CHUNKED}${(2 + STRAY.length).toString(16)}\r\nok${STRAY}\r\n0\r\n\r\n`],
  ])('%s', async (_, bytes) => {
    const sidecar = await startProxy((await agentAnsweringOdd(bytes)).url);

    expect((await ask(`${sidecar.url}/odd`)).body.toString()).toMatch(/^ok/);
    expect((await sidecar.ended()).end.transport).toBe('complete');
    await expectOwnAnswers(sidecar);
  });
});
