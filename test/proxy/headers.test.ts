import { describe, expect, it } from 'vitest';
import { agentThat, ask, observation, rawClient, startProxy, type TestProxy } from './support.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

/** What the agent was sent, line by line, when a client sends `head`. */
async function linesAtAgent(head: string, options: Parameters<typeof startProxy>[1] = {}): Promise<string[]> {
  const { lines } = await exchange(head, OK, options);
  return lines;
}

/** Sends the client's head and the agent's answer as they are; gives what each side received. */
async function exchange(head: string, answer: string, options: Parameters<typeof startProxy>[1] = {}) {
  let lines: string[] = [];
  const agent = await agentThat((socket, received) => {
    lines = received.split('\r\n\r\n')[0]!.split('\r\n');
    socket.write(answer, 'latin1');
  });
  const sidecar = await startProxy(agent.url, options);
  const client = rawClient(sidecar.port, head);
  await client.until('\r\n\r\n');
  return { lines, answered: client.received(), agent, sidecar };
}

/** Ways to name `X-Foo` and `X-Bar` as meant for one connection. */
const ODD_CONNECTIONS = [
  'Connection: x-foo, x-bar',
  'Connection: X-FOO,X-bAR',
  'connection:\tx-foo\t,\tx-bar\t',
  'Connection: ,, x-foo ,, ,x-bar,',
  'Connection: x-foo\r\nConnection: x-bar',
  'CONNECTION: keep-alive, x-foo\r\nConnection:\r\nconnection: x-bar, keep-alive',
  'Connection: x-foo, x-foo, x-bar, x-absent',
];

const NAMED = 'x-fOO: secret\r\nX-Kept: 1\r\nX-Bar: one\r\nx-bar: two';

function agentHost({ requests }: TestProxy): string {
  const { host, port } = requests[0]!.upstream;
  return `${host}:${port}`;
}

describe('request headers', () => {
  it('keeps case, order and repetitions', async () => {
    const lines = await linesAtAgent(
      'GET /a?b=c HTTP/1.1\r\nX-CaSe: One\r\nHost: client.example\r\nAccept: */*\r\nx-twice: 1\r\nX-Other: \xe9\r\nX-Twice: 2\r\nAccept-Encoding: gzip, br;q=0.5\r\n\r\n',
    );

    expect(lines.slice(0, 8)).toEqual([
      'GET /a?b=c HTTP/1.1',
      'X-CaSe: One',
      expect.stringMatching(/^Host: 127\.0\.0\.1:\d+$/),
      'Accept: */*',
      'x-twice: 1',
      'X-Other: \xe9',
      'X-Twice: 2',
      'Accept-Encoding: gzip, br;q=0.5',
    ]);
  });

  it('gives the agent its own Host and the client`s in X-Forwarded-Host', async () => {
    const { lines, sidecar } = await exchange('GET / HTTP/1.1\r\nHost: client.example\r\n\r\n', OK);

    expect(lines).toContain(`Host: ${agentHost(sidecar)}`);
    expect(lines).toContain('X-Forwarded-Host: client.example');
    expect(lines).toContain('X-Forwarded-Proto: http');
    expect(lines).toContain('X-Forwarded-For: 127.0.0.1');
  });

  it('appends the client to X-Forwarded-For, and believes the scheme that the client was asked by', async () => {
    const lines = await linesAtAgent(
      'GET / HTTP/1.1\r\nHost: c\r\nX-Forwarded-For: 10.0.0.1\r\nX-Forwarded-For: 10.0.0.2\r\nx-forwarded-proto: https\r\n\r\n',
    );

    expect(lines.filter((line) => /^x-forwarded-(for|proto):/i.test(line))).toEqual([
      'X-Forwarded-For: 10.0.0.1, 10.0.0.2, 127.0.0.1',
      'X-Forwarded-Proto: https',
    ]);
  });

  it('drops what is meant for one connection, and what Connection names', async () => {
    const lines = await linesAtAgent(
      [
        'POST / HTTP/1.1',
        'Host: c',
        'Connection: x-foo, Keep-Alive',
        'X-Foo: secret',
        'Keep-Alive: timeout=9',
        'Proxy-Authorization: Basic eA==',
        'Proxy-Connection: keep-alive',
        'TE: gzip',
        'Trailer: X-Sum',
        'Upgrade: h2c',
        'HTTP2-Settings: AAMAAABk',
        'X-Kept: yes',
        'Content-Length: 2',
        '',
        'hi',
      ].join('\r\n'),
    );

    const names = lines.slice(1).map((line) => line.split(':', 1)[0]!.toLowerCase());
    expect(names.filter((name) => !name.startsWith('x-forwarded-'))).toEqual([
      'host',
      'x-kept',
      'content-length',
      'connection',
    ]);
    expect(lines).toContain('Connection: keep-alive');
  });

  it.each(ODD_CONNECTIONS)('drops what Connection names, however it is written: %s', async (connection) => {
    const lines = await linesAtAgent(`GET / HTTP/1.1\r\nHost: c\r\n${connection}\r\n${NAMED}\r\n\r\n`);

    expect(lines.filter((line) => /^x-[a-z]+:/i.test(line))).toEqual(['X-Kept: 1']);
    expect(lines.filter((line) => /^connection:/i.test(line))).toEqual(['Connection: keep-alive']);
  });

  it('drops every field for a proxy, whatever it is called', async () => {
    const lines = await linesAtAgent(
      'GET / HTTP/1.1\r\nHost: c\r\nproxy-authorization: Basic eA==\r\nPROXY-CONNECTION: close\r\nProxy-Features: x\r\nAuthorization: Basic eQ==\r\n\r\n',
    );

    expect(lines.filter((line) => /^proxy-/i.test(line))).toEqual([]);
    expect(lines).toContain('Authorization: Basic eQ==');
  });

  it('closes nothing at the agent because its client wants to close', async () => {
    const lines = await linesAtAgent('GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');

    expect(lines).toContain('Connection: keep-alive');
  });

  it('does not let Connection take away what frames the body or names the host', async () => {
    const lines = await linesAtAgent(
      'POST / HTTP/1.1\r\nHost: c\r\nConnection: content-length, host\r\nContent-Length: 2\r\n\r\nhi',
    );

    expect(lines).toContain('Content-Length: 2');
    expect(lines.some((line) => line.startsWith('Host: '))).toBe(true);
  });

  it('does not let Connection take away that a body is chunked', async () => {
    const lines = await linesAtAgent(
      'POST / HTTP/1.1\r\nHost: c\r\nConnection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    );

    expect(lines).toContain('Transfer-Encoding: chunked');
  });

  it('does not let Connection take away what the sidecar itself adds', async () => {
    const lines = await linesAtAgent(
      'GET / HTTP/1.1\r\nHost: c\r\nConnection: x-forwarded-for, x-forwarded-host, x-forwarded-proto, traceparent\r\ntraceparent: 00-a\r\n\r\n',
      { observe: () => observation(() => {}, { traceHeaders: { traceparent: '00-b' } }) },
    );

    expect(lines).toContain('X-Forwarded-For: 127.0.0.1');
    expect(lines).toContain('X-Forwarded-Host: c');
    expect(lines).toContain('X-Forwarded-Proto: http');
    expect(lines.filter((line) => line.startsWith('traceparent'))).toEqual(['traceparent: 00-b']);
  });

  it('passes the wish for trailers on, and names it in Connection', async () => {
    const lines = await linesAtAgent('GET / HTTP/1.1\r\nHost: c\r\nTE: deflate, trailers\r\n\r\n');

    expect(lines).toContain('TE: trailers');
    expect(lines).toContain('Connection: TE, keep-alive');
  });

  it('passes the client`s trace context when the observation has none of its own', async () => {
    const lines = await linesAtAgent('GET / HTTP/1.1\r\nHost: c\r\nTraceparent: 00-a\r\nbaggage: k=v\r\n\r\n');

    expect(lines).toContain('Traceparent: 00-a');
    expect(lines).toContain('baggage: k=v');
  });

  it('replaces the client`s trace context as a whole by the observation`s', async () => {
    const lines = await linesAtAgent(
      'GET / HTTP/1.1\r\nHost: c\r\nTraceparent: 00-a\r\nTraceState: x=y\r\nBaggage: k=v\r\n\r\n',
      { observe: () => observation(() => {}, { traceHeaders: { traceparent: '00-b' } }) },
    );

    expect(lines.filter((line) => /^(trace|baggage)/i.test(line))).toEqual(['traceparent: 00-b']);
  });

  it('passes the client`s trace context when the observation`s cannot be sent', async () => {
    const faults: unknown[] = [];
    const lines = await linesAtAgent('GET / HTTP/1.1\r\nHost: c\r\ntraceparent: 00-a\r\n\r\n', {
      observe: () => observation(() => {}, { traceHeaders: { traceparent: 'two\r\nlines' } }),
      onFault: (fault) => faults.push(fault),
    });

    expect(lines).toContain('traceparent: 00-a');
    expect(faults).toHaveLength(1);
  });
});

describe('response headers', () => {
  it('keeps case, order, repeated Set-Cookie and the reason phrase', async () => {
    const { answered } = await exchange(
      'GET / HTTP/1.1\r\nHost: c\r\n\r\n',
      'HTTP/1.1 200 Quite Fine\r\nX-CaSe: 1\r\nSet-Cookie: a=1\r\ncontent-length: 0\r\nSet-Cookie: b=2\r\nDate: today\r\nX-Bytes: \xe9\xff\r\nX-Accel-Buffering: no\r\n\r\n',
    );

    expect(answered.split('\r\n').slice(0, 8)).toEqual([
      'HTTP/1.1 200 Quite Fine',
      'X-CaSe: 1',
      'Set-Cookie: a=1',
      'content-length: 0',
      'Set-Cookie: b=2',
      'Date: today',
      'X-Bytes: \xe9\xff',
      'X-Accel-Buffering: no',
    ]);
  });

  it('drops what is meant for one connection, and what Connection names', async () => {
    const { answered } = await exchange(
      'GET / HTTP/1.1\r\nHost: c\r\n\r\n',
      'HTTP/1.1 200 OK\r\nConnection: x-bar, close\r\nX-Bar: secret\r\nKeep-Alive: timeout=1\r\nProxy-Authenticate: Basic\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n',
    );

    expect(answered).not.toMatch(/x-bar|timeout=1\r|proxy-authenticate|upgrade/i);
    expect(answered).toContain('Connection: keep-alive');
  });

  it.each(ODD_CONNECTIONS)('drops what Connection names, however it is written: %s', async (connection) => {
    const { answered } = await exchange(
      'GET / HTTP/1.1\r\nHost: c\r\n\r\n',
      `HTTP/1.1 200 OK\r\n${connection}\r\n${NAMED}\r\nContent-Length: 0\r\n\r\n`,
    );

    expect(answered.split('\r\n').filter((line) => /^x-[a-z]+:/i.test(line))).toEqual(['X-Kept: 1']);
    expect(answered.match(/^connection:.*$/gim)).toEqual(['Connection: keep-alive']);
  });

  it('keeps the client`s connection when the agent closes its own', async () => {
    const { answered } = await exchange(
      'GET / HTTP/1.1\r\nHost: c\r\n\r\n',
      'HTTP/1.1 200 OK\r\nConnection: close\r\nKeep-Alive: timeout=1, max=1\r\nContent-Length: 0\r\n\r\n',
    );

    expect(answered).toContain('Connection: keep-alive');
    expect(answered.match(/^keep-alive:.*$/gim)).toEqual(['Keep-Alive: timeout=75']);
  });

  it.each([
    ['Content-Length', 'Content-Length: 2\r\n\r\nok', 'Content-Length: 2'],
    ['Transfer-Encoding', 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n', 'Transfer-Encoding: chunked'],
  ])('does not let Connection take away %s', async (name, framed, kept) => {
    const { answered } = await exchange(
      'GET / HTTP/1.1\r\nHost: c\r\n\r\n',
      `HTTP/1.1 200 OK\r\nConnection: ${name.toLowerCase()}\r\n${framed}`,
    );

    expect(answered).toContain(kept);
  });

  it('adds nothing of its own but Date where it is missing (RFC 9110 §6.6.1) and its own connection`s fields', async () => {
    const { answered } = await exchange('GET / HTTP/1.1\r\nHost: c\r\n\r\n', OK);

    const names = answered
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(':', 1)[0]);
    expect(names.filter((name) => name !== '')).toEqual(['Content-Length', 'Date', 'Connection', 'Keep-Alive']);
  });

  it('passes as many fields as fit into a head', async () => {
    const fields = Array.from({ length: 1_300 }, (_, index) => `X-${index}: y`);
    const { answered } = await exchange(
      'GET / HTTP/1.1\r\nHost: c\r\n\r\n',
      `HTTP/1.1 200 OK\r\n${fields.join('\r\n')}\r\nSet-Cookie: last=1\r\nContent-Length: 0\r\n\r\n`,
    );

    expect(answered.split('\r\n').filter((line) => line.startsWith('X-'))).toEqual(fields);
    expect(answered).toContain('Set-Cookie: last=1\r\nContent-Length: 0\r\n');
  });

  it.each([12, 15])('passes a head of %i KiB', async (kib) => {
    const agent = await agentThat((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nX-Big: ${'x'.repeat(kib * 1024)}\r\nContent-Length: 0\r\n\r\n`),
    );
    const sidecar = await startProxy(agent.url);

    expect((await ask(sidecar.url)).headers['x-big']).toHaveLength(kib * 1024);
  });
});
