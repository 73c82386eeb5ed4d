import { describe, expect, it } from 'vitest';
import type { Refusal } from '../../src/proxy/refusals.ts';
import type { ProxyOptions } from '../../src/proxy/options.ts';
import {
  agentThat,
  ask,
  httpAgent,
  type FakeAgent,
  rawAgent,
  rawClient,
  startProxy,
  type TestProxy,
} from './support.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const GET = 'GET / HTTP/1.1\r\nHost: c\r\n\r\n';

/** A sidecar that keeps count of what it turned away. */
async function guarded(agent: FakeAgent, options: Partial<ProxyOptions> = {}) {
  const refused: Refusal[] = [];
  const first = Promise.withResolvers<void>();
  const onRefused = (refusal: Refusal) => {
    refused.push(refusal);
    first.resolve();
  };
  const sidecar = await startProxy(agent.url, { onRefused, ...options });
  return { ...sidecar, refused, refusal: first.promise };
}

const noAgent = () => rawAgent(() => expect.unreachable());

/** What a client reads that sends these bytes, and how its connection ended. */
async function answerTo({ port }: TestProxy, bytes: string) {
  const client = rawClient(port, bytes);
  const end = await client.closed;
  const [head = '', body = ''] = client.received().split('\r\n\r\n');
  return { head, body, end };
}

describe('the head of a request', () => {
  it('passes when it is within the limit', async () => {
    const agent = await httpAgent((request, response) => response.end(request.headers['x-big']));
    const sidecar = await guarded(agent);

    const answer = await ask(sidecar.url, { headers: { 'x-big': 'x'.repeat(15 * 1024) } });

    expect(answer.body).toHaveLength(15 * 1024);
    expect(sidecar.refused).toEqual([]);
  });

  it.each([
    ['its fields', `GET / HTTP/1.1\r\nHost: c\r\nX-Big: ${'x'.repeat(20 * 1024)}\r\n\r\n`],
    ['its target', `GET /${'x'.repeat(20 * 1024)} HTTP/1.1\r\nHost: c\r\n\r\n`],
    ['both together', `GET /${'x'.repeat(9 * 1024)} HTTP/1.1\r\nHost: c\r\nX-Big: ${'x'.repeat(9 * 1024)}\r\n\r\n`],
  ])('is answered with 431 when it is over it by %s, and the agent is not asked', async (_, bytes) => {
    const sidecar = await guarded(await noAgent());

    const { head, body, end } = await answerTo(sidecar, bytes);

    expect(head).toMatch(/^HTTP\/1\.1 431 /);
    expect(head).toContain('Connection: close');
    expect(JSON.parse(body).error.code).toBe('head_too_large');
    expect(body).not.toContain('xx');
    expect(end).toBe('end');
    expect(sidecar.refused).toEqual(['head_too_large']);
  });

  it('is answered also when the client goes on sending: the connection is not reset under the answer', async () => {
    const sidecar = await guarded(await noAgent());

    const { head, end } = await answerTo(sidecar, `GET / HTTP/1.1\r\nX-Big: ${'x'.repeat(4 * 1024 * 1024)}\r\n\r\n`);

    expect(head).toMatch(/^HTTP\/1\.1 431 /);
    expect(end).toBe('end');
    expect(sidecar.refused).toEqual(['head_too_large']);
  });

  it('has the limit that is set', async () => {
    const agent = await agentThat((socket) => socket.end(OK));
    const small = await guarded(agent, { maxHeaderBytes: 1024 });
    const large = await guarded(agent, { maxHeaderBytes: 64 * 1024 });

    expect((await ask(small.url, { headers: { 'x-big': 'x'.repeat(2 * 1024) } })).status).toBe(431);
    expect((await ask(large.url, { headers: { 'x-big': 'x'.repeat(60 * 1024) } })).status).toBe(200);
  });

  it('may hold any number of fields: none is dropped without a word', async () => {
    let lines: string[] = [];
    const agent = await agentThat((socket, head) => {
      lines = head.split('\r\n');
      socket.write(OK);
    });
    const sidecar = await guarded(agent);
    const fields = Array.from({ length: 2_000 }, (_, index) => `X${index}: y`);

    await rawClient(sidecar.port, `GET / HTTP/1.1\r\nHost: c\r\n${fields.join('\r\n')}\r\n\r\n`).until('ok');

    expect(lines.filter((line) => /^X\d/.test(line))).toEqual(fields);
  });

  it('that does not come to its end in time is answered with 408', async () => {
    const sidecar = await guarded(await noAgent(), { headTimeoutMs: 50 });

    const { head, body, end } = await answerTo(sidecar, 'GET / HTTP/1.1\r\nHost: c\r\nX-Slow: ');

    expect(head).toMatch(/^HTTP\/1\.1 408 /);
    expect(JSON.parse(body).error.code).toBe('head_timeout');
    expect(end).toBe('end');
    expect(sidecar.refused).toEqual(['head_timeout']);
  });

  it('that never begins is no reason to keep a connection', async () => {
    const sidecar = await guarded(await noAgent(), { headTimeoutMs: 50 });

    expect(await rawClient(sidecar.port, '').closed).toBe('end');
    expect(sidecar.refused).toEqual(['head_timeout']);
  });

  it('has its limit of time to itself: a stream that is silent for longer goes on', async () => {
    const agent = await agentThat((socket) => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'));
    const sidecar = await guarded(agent, { headTimeoutMs: 50 });
    const stream = rawClient(sidecar.port, GET);
    await stream.until('chunked');
    // Node has looked for late heads, and has found those that began after the stream.
    await rawClient(sidecar.port, 'GET').closed;
    await rawClient(sidecar.port, 'GET').closed;

    for (const socket of agent.sockets) socket.write('5\r\nwhole\r\n0\r\n\r\n');
    await stream.until('0\r\n\r\n');
    expect(stream.received()).toContain('whole');
    expect(sidecar.refused).toEqual(['head_timeout', 'head_timeout']);
  });
});

describe('the head of an agent`s response', () => {
  const bigHead = (kib: number) =>
    agentThat((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nX-Big: ${'x'.repeat(kib * 1024)}\r\nContent-Length: 0\r\n\r\n`),
    );

  it('is answered with a 502 that says why when it is over the limit', async () => {
    const sidecar = await guarded(await bigHead(20));

    const answer = await ask(sidecar.url);

    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body.toString()).error).toEqual({
      code: 'upstream_invalid',
      message: expect.stringContaining('proxy.max_header_size'),
    });
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_invalid' });
  });

  it('has the limit that is set', async () => {
    const large = await guarded(await bigHead(60), { maxHeaderBytes: 64 * 1024 });
    const small = await guarded(await bigHead(2), { maxHeaderBytes: 1024 });

    expect((await ask(large.url, { maxHeaderSize: 64 * 1024 })).headers['x-big']).toHaveLength(60 * 1024);
    expect((await ask(small.url)).status).toBe(502);
  });
});

describe('connections of clients', () => {
  it('over the limit are closed and counted, and taken again once there is room', async () => {
    const sidecar = await guarded(await httpAgent((_, response) => response.end('ok')), { maxConnections: 2 });
    const first = rawClient(sidecar.port, GET);
    const second = rawClient(sidecar.port, GET);
    await Promise.all([first.until('ok'), second.until('ok')]);

    const third = rawClient(sidecar.port, GET);
    await third.closed;
    expect(third.received()).toBe('');
    expect(sidecar.refused).toEqual(['connection_limit']);

    first.socket.destroy();
    await first.closed;
    // The sidecar hears of it when it hears of it.
    for (;;) {
      const next = rawClient(sidecar.port, GET);
      await Promise.race([next.until('ok'), next.closed]);
      if (next.received().includes('ok')) break;
    }
  });
});

describe('what is no HTTP', () => {
  it.each([
    ['noise', '\x16\x03\x01secret\r\n\r\n'],
    ['a field without a name', 'GET / HTTP/1.1\r\nHost: c\r\n: secret\r\n\r\n'],
    ['a control character in a field', 'GET / HTTP/1.1\r\nHost: c\r\nX-A: se\x00cret\r\n\r\n'],
    ['a folded field', 'GET / HTTP/1.1\r\nHost: c\r\nX-A: b\r\n secret\r\n\r\n'],
    ['line ends of one character', 'GET /secret HTTP/1.1\nHost: c\n\n'],
    ['HTTP/2 without asking', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a head that stops', 'GET /secret HTTP/1.1\r\nHo'],
  ])('gets one clean 400 and is counted: %s', async (_, bytes) => {
    const sidecar = await guarded(await noAgent());
    const client = rawClient(sidecar.port, bytes);
    client.socket.end();
    await client.closed;

    expect(client.received()).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(client.received()).toContain('Connection: close\r\n');
    expect(JSON.parse(client.received().split('\r\n\r\n')[1] ?? '').error.code).toBe('bad_request');
    expect(client.received()).not.toContain('secret');
    expect(sidecar.refused).toEqual(['bad_request']);
    expect(sidecar.faults).toEqual([]);
  });

  it('is counted once, however much of it comes', async () => {
    const sidecar = await guarded(await noAgent());
    const client = rawClient(sidecar.port, 'noise\r\n\r\n');
    await client.until('400');
    for (let round = 0; round < 5; round += 1) client.socket.write('noise\r\n\r\n');
    await client.closed;

    expect(client.received().match(/HTTP\/1\.1 400/g)).toHaveLength(1);
    expect(sidecar.refused).toEqual(['bad_request']);
  });

  it('waits behind an answer that is due: nothing may be taken for that', async () => {
    const asked = Promise.withResolvers<() => void>();
    const agent = await agentThat((socket) => asked.resolve(() => socket.write(OK)));
    const sidecar = await guarded(agent);
    const client = rawClient(sidecar.port, `${GET}noise\r\n\r\n`);
    const answer = await asked.promise;
    await sidecar.refusal;
    expect(client.received()).toBe('');

    answer();
    await client.closed;

    expect(client.received()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nokHTTP\/1\.1 400 Bad Request\r\n/);
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'complete', status: 200 });
  });

  it('in the body of a request ends that request, and lets the agent go', async () => {
    const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const agent = await agentThat((socket) => {
      socket.on('close', () => left.resolve());
      asked.resolve();
    });
    const sidecar = await guarded(agent);
    const client = rawClient(sidecar.port, 'POST / HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n');
    await asked.promise;
    client.socket.write('noise\r\n');
    await client.closed;

    expect(client.received()).toMatch(/^HTTP\/1\.1 400 /);
    await left.promise;
    expect((await sidecar.ended()).end.transport).toBe('client_aborted');
    expect(sidecar.refused).toEqual(['bad_request']);
  });

  it('in the body of a request that is being answered cuts the answer and adds no byte to it', async () => {
    const agent = await agentThat((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'),
    );
    const sidecar = await guarded(agent);
    const client = rawClient(sidecar.port, 'POST / HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n');
    await client.until('abc');
    client.socket.write('noise\r\n');
    await client.closed;

    expect(client.received()).toMatch(/3\r\nabc\r\n$/);
    expect((await sidecar.ended()).end.transport).toBe('client_aborted');
  });

  it.each(['end', 'destroy', 'resetAndDestroy'] as const)(
    'is not a client that leaves while it sends (%s)',
    async (leave) => {
      const asked = Promise.withResolvers<void>();
      const agent = await agentThat(() => asked.resolve());
      const sidecar = await guarded(agent);
      const client = rawClient(sidecar.port, 'POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 9\r\n\r\nhalf');
      await asked.promise;
      client.socket[leave]();
      await client.closed;

      expect((await sidecar.ended()).end.transport).toBe('client_aborted');
      expect(client.received()).toBe('');
      expect(sidecar.refused).toEqual([]);
    },
  );

  it('is not a client that leaves', async () => {
    const agent = await httpAgent((_, response) => response.end('ok'));
    const sidecar = await guarded(agent);
    const client = rawClient(sidecar.port, GET);
    await client.until('ok');
    client.socket.resetAndDestroy();
    await client.closed;
    await ask(sidecar.url);

    expect(sidecar.refused).toEqual([]);
  });
});
