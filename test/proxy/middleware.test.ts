import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ask, httpAgent, rawClient, startProxy } from './support.ts';

/** What a framework's parsers, in front of the forwarding, would change, refuse or wait for. */
const BODIES: readonly (readonly [name: string, type: string, body: Buffer])[] = [
  ['JSON as nobody would write it', 'application/json', Buffer.from(' {"a" :1.0,"a":1e2, "b":"\\u00e9\\/" }\n\n')],
  ['JSON that is none', 'application/json', Buffer.from('{"half')],
  ['JSON that is too large for a parser', 'application/json', Buffer.from(JSON.stringify('x'.repeat(2 ** 20)))],
  ['JSON in another character set', 'application/json; charset=utf-16le', Buffer.from('{"a":1}', 'utf16le')],
  ['JSON behind a byte order mark', 'application/json', Buffer.from('\uFEFF{"a":1}')],
  ['JSON that is no UTF-8', 'application/json', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
  ['a form', 'application/x-www-form-urlencoded', Buffer.from('a=1&a=2&b[c]=%zz+')],
  ['parts', 'multipart/form-data; boundary=x', Buffer.from('--x\r\n\r\nno headers\r\n--x--')],
  ['text', 'text/plain', Buffer.from('ends in spaces  \r\n')],
  ['a type that is none', 'nonsense', Buffer.from([0, 1, 2, 255])],
  ['nothing', 'application/json', Buffer.alloc(0)],
];

describe('a request', () => {
  it.each(BODIES)('reaches the agent byte for byte: %s', async (_name, type, body) => {
    let received = Buffer.alloc(0);
    const agent = await httpAgent(async (request, response) => {
      received = Buffer.concat(await request.toArray());
      response.end(request.headers['content-type']);
    });
    const sidecar = await startProxy(agent.url);

    const answer = await ask(sidecar.url, { method: 'POST', headers: { 'content-type': type } }, body);

    expect(received.equals(body)).toBe(true);
    expect(answer.body.toString()).toBe(type);
  });

  it.each([
    '/%',
    '/%zz?%zz',
    '/a%00b',
    '/a//b/../c/./',
    '/?a[]=1&a[__proto__]=2',
    '/a?b?c',
    '/a;b=c',
    "/~!$&'()*+,=:@",
  ])('keeps its target as it is: %s', async (target) => {
    const agent = await httpAgent((request, response) => response.end(request.url));
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, `GET ${target} HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n`);
    await client.closed;

    expect(client.received().endsWith(`\r\n\r\n${target}`)).toBe(true);
  });

  it.each(['OPTIONS', 'HEAD', 'TRACE', 'PROPFIND', 'QUERY'])(
    'of any method is the agent`s to answer: %s',
    async (method) => {
      const agent = await httpAgent((request, response) => response.setHeader('x-asked', request.method ?? '').end());
      const sidecar = await startProxy(agent.url);

      expect((await ask(sidecar.url, { method })).headers).toMatchObject({ 'x-asked': method });
    },
  );
});

describe('an answer', () => {
  it('is not compressed, whatever the client takes and however well it would compress', async () => {
    const body = Buffer.alloc(1024 * 1024, 'x');
    for (const type of ['text/event-stream', 'application/json', 'text/html']) {
      const agent = await httpAgent((_request, response) => response.setHeader('content-type', type).end(body));
      const sidecar = await startProxy(agent.url);

      const answer = await ask(sidecar.url, { headers: { 'accept-encoding': 'gzip, deflate, br, zstd' } });

      expect(answer.body.equals(body)).toBe(true);
      expect(answer.headers).not.toHaveProperty('content-encoding');
      expect(answer.headers).not.toHaveProperty('vary');
    }
  });

  it('is not found unchanged in the agent`s place, and is given no tag', async () => {
    const agent = await httpAgent((request, response) => {
      if (request.url === '/tagged')
        response.setHeader('etag', '"1"').setHeader('last-modified', new Date(0).toUTCString());
      response.end('whole');
    });
    const sidecar = await startProxy(agent.url);
    const headers = { 'if-none-match': '"1"', 'if-modified-since': new Date().toUTCString() };

    expect(await ask(`${sidecar.url}/tagged`, { headers })).toMatchObject({ status: 200, headers: { etag: '"1"' } });
    expect((await ask(sidecar.url)).headers).not.toHaveProperty('etag');
  });

  it('does not say what the sidecar is made of', async () => {
    const agent = await httpAgent((_request, response) => response.end('ok'));
    const sidecar = await startProxy(agent.url);

    expect((await ask(sidecar.url)).headers).not.toHaveProperty('x-powered-by');
  });
});

describe('the proxy', () => {
  const SRC = new URL('../../src/proxy/', import.meta.url);
  const texts = readdirSync(SRC).map((name) => readFileSync(new URL(name, SRC), 'utf8'));

  it('has no package in it: no framework, parser or compressor stands between Node and the forwarding', () => {
    const imported = texts.flatMap((text) => [...text.matchAll(/\bfrom '([^']+)'|\bimport\('([^']+)'\)/g)]);
    const specifiers = imported.map(([, named, dynamic]) => named ?? dynamic);

    expect(specifiers).toContain('node:http');
    expect(specifiers.filter((specifier) => !/^(?:node:|\.)/.test(specifier!))).toEqual([]);
  });
});
