import type { IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Capture } from '../../src/agui/capture.ts';
import { createTapPool, type Tap } from '../../src/proxy/tap.ts';
import { copiedBody } from '../support/captured.ts';
import { ask, bodyOf, httpAgent, observation, POST_JSON, rawClient, RUN_REQUEST, startProxy, TAP } from './support.ts';

const KIB = 1024;

const copiedBy = (tap: Tap): Buffer => Buffer.concat([...tap.responseBody(0)].map(({ bytes }) => bytes));

/** A chunk that came in a read of its own. */
const arrive = (tap: Tap, chunk: Buffer, at: number): void => tap.response(chunk, 0, chunk.length, at);

describe('a tap', () => {
  it('copies: what happens to the chunk afterwards does not matter', () => {
    const tap = createTapPool({ maxExchangeBytes: KIB, maxTotalBytes: 64 * KIB })();
    const chunk = Buffer.from('before');
    arrive(tap, chunk, 1);
    chunk.fill('x');

    expect(copiedBy(tap).toString()).toBe('before');
  });

  it('keeps what arrived with its time; what came in one millisecond is one arrival', () => {
    const tap = createTapPool({ maxExchangeBytes: KIB, maxTotalBytes: 64 * KIB })();
    arrive(tap, Buffer.from('ab'), 0);
    arrive(tap, Buffer.from('cd'), 10);
    arrive(tap, Buffer.from('ef'), 10);
    arrive(tap, Buffer.from('gh'), 30);
    const arrivals = [...tap.responseBody(1_000)].map(({ bytes, at }) => [Buffer.from(bytes).toString(), at]);

    expect(arrivals).toEqual([
      ['ab', 1_000],
      ['cdef', 1_010],
      ['gh', 1_030],
    ]);
  });

  it('lends what it copied more than once, and nothing any more when it was released', () => {
    const tap = createTapPool({ maxExchangeBytes: 100 * KIB, maxTotalBytes: 200 * KIB })();
    arrive(tap, Buffer.alloc(100 * KIB, 'x'), 1);
    const body = tap.responseBody(0);
    for (const arrivals of [[...body], [...body]]) {
      expect(Buffer.concat(arrivals.map(({ bytes }) => bytes)).equals(Buffer.alloc(100 * KIB, 'x'))).toBe(true);
    }
    tap.release();

    expect([...body]).toEqual([]);
  });

  it('takes exactly as much as one exchange may hold, request and response together', () => {
    const tap = createTapPool({ maxExchangeBytes: 10_000, maxTotalBytes: 64 * KIB })();
    tap.request(Buffer.alloc(4_000));
    arrive(tap, Buffer.alloc(6_000), 1);
    expect(tap.droppedBytes()).toBe(0);

    arrive(tap, Buffer.alloc(1), 2);
    arrive(tap, Buffer.alloc(5), 3);

    expect(copiedBy(tap)).toHaveLength(6_000);
    expect(tap.droppedBytes()).toBe(6);
  });

  it('drops a request over the bound whole, and still takes the response', () => {
    const tap = createTapPool({ maxExchangeBytes: 100, maxTotalBytes: 64 * KIB })();
    tap.request(Buffer.alloc(60));
    tap.request(Buffer.alloc(60));
    tap.request(Buffer.alloc(1));
    arrive(tap, Buffer.alloc(100), 1);

    expect(tap.requestBody()).toBeUndefined();
    expect(copiedBy(tap)).toHaveLength(100);
    expect(tap.droppedBytes()).toBe(121);
  });

  it('keeps the first bytes of a request that it dropped, however it was cut', () => {
    const text = `{"threadId":"t","messages":"${'x'.repeat(10_000)}"}`;
    for (const size of [1, 7, 4_000, text.length]) {
      const tap = createTapPool({ maxExchangeBytes: 100, maxTotalBytes: 64 * KIB })();
      for (let at = 0; at < text.length; at += size) tap.request(Buffer.from(text.slice(at, at + size)));
      expect(tap.requestBody()).toBeUndefined();
      expect(Buffer.from(tap.requestHead() ?? []).toString()).toMatch(/^\{"threadId":"t"/);
      expect(tap.requestHead()).toHaveLength(4096);
    }
  });

  it('keeps a prefix of the response: once it gave up it takes no later chunk', () => {
    const tap = createTapPool({ maxExchangeBytes: 10, maxTotalBytes: 64 * KIB })();
    arrive(tap, Buffer.from('12345678'), 1);
    arrive(tap, Buffer.from('too large'), 2);
    arrive(tap, Buffer.from('9'), 3);

    expect(copiedBy(tap).toString()).toBe('12345678');
  });

  it('shares one total with all others, and gives its part back', () => {
    const openTap = createTapPool({ maxExchangeBytes: 100 * KIB, maxTotalBytes: 16 * KIB });
    const first = openTap();
    arrive(first, Buffer.alloc(8 * KIB), 1);
    const second = openTap();
    arrive(second, Buffer.alloc(8 * KIB), 1);
    expect(second.droppedBytes()).toBe(8 * KIB);

    first.release();
    const third = openTap();
    arrive(third, Buffer.alloc(8 * KIB), 1);

    expect(third.droppedBytes()).toBe(0);
    first.release();
    second.release();
    third.release();
    const fourth = openTap();
    arrive(fourth, Buffer.alloc(15 * KIB), 1);
    expect(fourth.droppedBytes()).toBe(0);
  });

  it('lays long copies into memory that others gave back, and into none that is lent', () => {
    const openTap = createTapPool({ maxExchangeBytes: 1_000 * KIB, maxTotalBytes: 10_000 * KIB });
    const fill = (tap: Tap, text: string): void => {
      for (let at = 0; at < 10; at += 1) arrive(tap, Buffer.alloc(64 * KIB, text), at);
    };
    const memoryOf = (tap: Tap) => [...tap.responseBody(0)].map(({ bytes }) => bytes.buffer);
    const [first, second] = [openTap(), openTap()];
    fill(first, 'a');
    fill(second, 'b');
    const given = memoryOf(first);
    first.release();
    const third = openTap();
    fill(third, 'c');

    expect(memoryOf(third).every((buffer) => given.includes(buffer))).toBe(true);
    expect(memoryOf(second).some((buffer) => given.includes(buffer))).toBe(false);
    expect(copiedBy(second).equals(Buffer.alloc(640 * KIB, 'b'))).toBe(true);
    expect(copiedBy(third).equals(Buffer.alloc(640 * KIB, 'c'))).toBe(true);
  });

  it('counts what an arrival costs, so that a stream of single bytes is bounded too', () => {
    const tap = createTapPool({ maxExchangeBytes: 1_000 * KIB, maxTotalBytes: 8 * KIB })();
    for (let ms = 0; ms < 2_000; ms += 1) arrive(tap, Buffer.of(1), ms);

    // In blocks of 1, 1, 2 and 4 KiB: eight bytes that say what each one is, and itself.
    const copied = [1, 1, 2, 4].reduce((sum, kib) => sum + Math.floor((kib * KIB) / 9), 0);
    expect(copiedBy(tap)).toHaveLength(copied);
    expect(tap.droppedBytes()).toBe(2_000 - copied);
  });

  it('copies whatever comes in whatever pieces, within the total and to the last byte that fits', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.boolean(), fc.uint8Array({ maxLength: 5 * KIB })), { maxLength: 60 }),
        fc.integer({ min: 0, max: 60 }),
        (pieces, readAfter) => {
          const openTap = createTapPool({ maxExchangeBytes: 64 * KIB, maxTotalBytes: 200 * KIB });
          const tap = openTap();
          const sent: Record<'request' | 'response', Uint8Array[]> = { request: [], response: [] };
          for (const [index, [isRequest, bytes]] of pieces.entries()) {
            // In the midst of a read that has more in it.
            const read = Buffer.concat([Buffer.alloc(index), bytes, Buffer.alloc(index)]);
            if (isRequest) tap.request(Buffer.from(bytes));
            else tap.response(read, index, index + bytes.length, index);
            sent[isRequest ? 'request' : 'response'].push(bytes);
            // Read in the middle, as when a request was received whole.
            if (index === readAfter) tap.requestBody();
          }
          const [request, response] = [Buffer.concat(sent.request), Buffer.concat(sent.response)];
          const copied = copiedBy(tap);
          expect(response.subarray(0, copied.length).equals(copied)).toBe(true);
          if (request.length + response.length <= 64 * KIB) {
            expect(tap.droppedBytes()).toBe(0);
            expect(request.equals(tap.requestBody() ?? Buffer.alloc(0))).toBe(true);
            expect(copied).toHaveLength(response.length);
          }
          expect(copied.length + (tap.requestBody()?.length ?? 0) + tap.droppedBytes()).toBe(
            request.length + response.length,
          );
          tap.release();
          const other = openTap();
          arrive(other, Buffer.alloc(64 * KIB), 0);
          expect(other.droppedBytes()).toBe(0);
        },
      ),
    );
  });
});

describe('what the sidecar hands over', () => {
  it.each([
    ['text/event-stream', true],
    ['Text/Event-Stream;charset=utf-8', true],
    ['application/vnd.ag-ui.event+proto', true],
    ['application/json', false],
    ['text/event-stream-not', false],
  ])('of a %s response: a capture, %s', async (type, wanted) => {
    const agent = await httpAgent((request, response) => {
      request.resume().on('end', () => response.writeHead(200, { 'content-type': type }).end('body'));
    });
    const sidecar = await startProxy(agent.url);
    await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect((await sidecar.ended()).capture !== undefined).toBe(wanted);
  });

  it('is everything that is known of the exchange', async () => {
    let time = 1_000;
    const agent = await httpAgent((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'identity' });
        response.end('data: 1\n\n');
      });
    });
    const sidecar = await startProxy('', {
      agents: [{ name: 'travel', url: `${agent.url}/base`, match: '/travel' }],
      tenantHeader: 'x-tenant',
      now: () => (time += 1),
    });

    await ask(
      `${sidecar.url}/travel/run?x=1`,
      { method: 'POST', headers: { 'content-type': 'application/json', 'x-tenant': 'acme' } },
      RUN_REQUEST,
    );
    const { end, capture } = await sidecar.ended();

    expect(capture).toMatchObject({
      agent: 'travel',
      tenant: 'acme',
      method: 'POST',
      path: '/run?x=1',
      request: { contentType: 'application/json', contentEncoding: '' },
      response: { status: 200, contentType: 'text/event-stream', contentEncoding: 'identity' },
      truncated: false,
      transport: 'complete',
      trace: { traceId: '0af7651916cd43dd8448eb211c80319c', traceFlags: 1 },
    });
    expect(Buffer.from(capture!.request.body!).toString()).toBe(RUN_REQUEST);
    expect(end).toMatchObject({
      transport: 'complete',
      status: 200,
      requestBytes: RUN_REQUEST.length,
      responseBytes: 9,
    });
    const times = [capture!.startedAt, end.headAt!, end.firstByteAt!, end.endedAt];
    expect(times).toEqual(times.toSorted((one, two) => one - two));
    const [{ at = NaN } = {}] = capture!.response!.body;
    expect(Math.floor(end.firstByteAt! - capture!.startedAt)).toBe(Math.round(at - capture!.startedAt));
    expect(capture!.endedAt).toBe(end.endedAt);
    expect(sidecar.requests).toMatchObject([
      {
        agent: 'travel',
        match: '/travel',
        method: 'POST',
        path: '/travel/run',
        scheme: 'http',
        httpVersion: '1.1',
        clientAddress: '127.0.0.1',
        localPort: sidecar.port,
        upstream: { host: '127.0.0.1', port: agent.port },
        startedAt: capture!.startedAt,
      },
    ]);
  });

  it.each([
    { refused: 'a JSON POST', options: POST_JSON, wanted: true },
    { refused: 'a GET', options: { method: 'GET' }, wanted: false },
    { refused: 'a form', options: { method: 'POST', headers: { 'content-type': 'text/plain' } }, wanted: false },
  ])('of $refused that the agent refused: a capture, $wanted', async ({ options, wanted }) => {
    const agent = await httpAgent((request, response) => {
      request.resume().on('end', () => response.writeHead(422, { 'content-type': 'application/json' }).end('{}'));
    });
    const sidecar = await startProxy(agent.url);
    await ask(sidecar.url, options, options.method === 'POST' ? RUN_REQUEST : undefined);

    const { end, capture } = await sidecar.ended();
    expect(end).toMatchObject({ transport: 'complete', status: 422 });
    expect(capture !== undefined).toBe(wanted);
    if (wanted) expect(capture).toMatchObject({ transport: 'complete', response: { status: 422 } });
  });

  it('of a stream over the bound is a prefix, marked; the stream passes whole and the rest is counted', async () => {
    const body = Buffer.alloc(50 * KIB, 'data: x\n\n');
    const agent = await httpAgent(async (request, response) => {
      await bodyOf(request);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let at = 0; at < body.length; at += KIB) {
        response.write(body.subarray(at, at + KIB));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    const sidecar = await startProxy(agent.url, { tap: { ...TAP, maxExchangeBytes: 20 * KIB } });

    const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);
    const { capture } = await sidecar.ended();

    expect(answer.body.equals(body)).toBe(true);
    expect(capture!.truncated).toBe(true);
    const copied = copiedBody(capture);
    expect(copied.equals(body.subarray(0, copied.length))).toBe(true);
    expect(copied.length).toBeLessThanOrEqual(20 * KIB);
    expect(sidecar.droppedBytes()).toBe(body.length - copied.length);
  });

  it('of a request over the bound is its response, marked; the request passes whole', async () => {
    let received = 0;
    const agent = await httpAgent(async (request, response) => {
      for await (const chunk of request) received += chunk.length;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: 1\n\n');
    });
    const sidecar = await startProxy(agent.url, { tap: { ...TAP, maxExchangeBytes: 20 * KIB } });

    await ask(sidecar.url, POST_JSON, Buffer.alloc(30 * KIB, ' '));
    const { capture } = await sidecar.ended();

    expect(received).toBe(30 * KIB);
    expect(capture).toMatchObject({ truncated: true, response: { status: 200 } });
    expect(capture!.request).not.toHaveProperty('body');
    expect(sidecar.droppedBytes()).toBe(30 * KIB);
  });

  it('gives its memory back: any number of exchanges fit one after the other', async () => {
    const agent = await httpAgent((request, response) => {
      request.resume().on('end', () => response.end('no stream'));
    });
    const sidecar = await startProxy(agent.url, { tap: { ...TAP, maxTotalBytes: 8 * KIB } });
    for (let round = 0; round < 10; round += 1) await ask(sidecar.url, POST_JSON, Buffer.alloc(4 * KIB, ' '));

    await sidecar.ended(9);
    expect(sidecar.droppedBytes()).toBe(0);
  });

  it('counts towards the total until it has been read', async () => {
    const agent = await httpAgent((request, response) => {
      request.resume().on('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('x'));
    });
    const read = Promise.withResolvers<void>();
    const captures: Capture[] = [];
    let dropped = 0;
    const sidecar = await startProxy(agent.url, {
      tap: { ...TAP, maxTotalBytes: 10 * KIB },
      onTapDropped: (bytes) => {
        dropped += bytes;
      },
      observe: () =>
        observation((_end, capture) => {
          captures.push(capture!);
          return captures.length === 1 ? read.promise : undefined;
        }),
    });
    const askOnce = async () => {
      const before = captures.length;
      await ask(sidecar.url, POST_JSON, Buffer.alloc(5 * KIB, ' '));
      while (captures.length === before) await turn();
    };

    await askOnce();
    await askOnce();
    expect(captures.map(({ truncated }) => truncated)).toEqual([false, true]);
    expect(dropped).toBe(5 * KIB);

    read.resolve();
    await turn();
    await askOnce();
    expect(captures[2]).toMatchObject({ truncated: false });
    expect(dropped).toBe(5 * KIB);
  });

  it('gives its memory back when it could not be read', async () => {
    const agent = await httpAgent((request, response) => {
      request.resume().on('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('x'));
    });
    const truncated: boolean[] = [];
    const sidecar = await startProxy(agent.url, {
      tap: { ...TAP, maxTotalBytes: 20 * KIB },
      observe: () =>
        observation((_end, capture) => {
          truncated.push(capture!.truncated);
          return Promise.reject(new Error('unreadable'));
        }),
    });
    for (let round = 0; round < 5; round += 1) await ask(sidecar.url, POST_JSON, Buffer.alloc(5 * KIB, ' '));
    await sidecar.proxy.close({ graceMs: 60_000 });

    expect(truncated).toEqual([false, false, false, false, false]);
    expect(sidecar.faults).toHaveLength(5);
  });

  it('is nothing when there is no tap', async () => {
    const agent = await httpAgent((request, response) => {
      request.resume().on('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('x'));
    });
    const sidecar = await startProxy(agent.url, { tap: undefined });
    await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect((await sidecar.ended()).capture).toBeUndefined();
  });
});

describe('an observer that chooses what is copied', () => {
  /** What the observer was asked and told of one exchange, in order, with an agent that does `answer`. */
  async function calls(
    wanted: boolean,
    options: RequestOptions,
    answer: (request: IncomingMessage, response: ServerResponse) => unknown = streams,
  ) {
    const agent = await httpAgent(answer);
    const told: string[] = [];
    const ended = Promise.withResolvers<void>();
    const sidecar = await startProxy(agent.url, {
      tap: { ...TAP, maxExchangeBytes: 20 * KIB },
      observe: () =>
        observation(
          (_end, capture) => {
            told.push(capture ? 'finished with a capture' : 'finished');
            ended.resolve();
          },
          {
            requested: (body) => told.push(`requested ${body.length}`),
            wantsCopy: () => {
              told.push('asked');
              return wanted;
            },
          },
        ),
    });
    return { sidecar, told, ended: ended.promise, ask: (body: string) => ask(sidecar.url, options, body) };
  }

  function streams(request: IncomingMessage, response: ServerResponse): void {
    request
      .resume()
      .on('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: 1\n\n'));
  }

  it.each([
    { wanted: true, end: 'finished with a capture' },
    { wanted: false, end: 'finished' },
  ])('is asked once it has read the request; it says $wanted', async ({ wanted, end }) => {
    const { told, ended, ask: askAgent } = await calls(wanted, POST_JSON);

    expect((await askAgent('{}')).body.toString()).toBe('data: 1\n\n');
    await ended;
    expect(told).toEqual(['requested 2', 'asked', end]);
  });

  it('is asked about a request that it could not read too', async () => {
    const { told, ended, ask: askAgent } = await calls(false, { method: 'PUT' });
    await askAgent('body');

    await ended;
    expect(told).toEqual(['asked', 'finished']);
  });

  it.each([
    { wanted: false, counted: 0, end: 'finished' },
    { wanted: true, counted: 30 * KIB, end: 'finished with a capture' },
  ])(
    'is asked about a request over the bound by its first bytes, which are missed if it is wanted: $wanted',
    async ({ wanted, counted, end }) => {
      const { sidecar, told, ended, ask: askAgent } = await calls(wanted, POST_JSON);
      await askAgent(' '.repeat(30 * KIB));

      await ended;
      expect(told).toEqual(['requested 4096', 'asked', end]);
      expect(sidecar.droppedBytes()).toBe(counted);
    },
  );

  it('is asked at the end when the agent answered before the request was whole', async () => {
    const { sidecar, told, ended } = await calls(false, POST_JSON, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' }).end('data: 1\n\n');
    });
    const client = rawClient(sidecar.port, 'POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 9\r\n\r\nhalf');
    await client.until('data: 1');
    client.socket.destroy();

    await ended;
    expect(told).toEqual(['asked', 'finished']);
  });

  it('is asked when the agent is down', async () => {
    const { told, ended, ask: askAgent } = await calls(true, POST_JSON, (request) => request.socket.destroy());
    expect((await askAgent('{}')).status).toBe(502);

    await ended;
    expect(told).toEqual(['requested 2', 'asked', 'finished with a capture']);
  });
});
