import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Capture } from '../../src/agui/capture.ts';
import { copyOfRead, giveBack } from '../../src/proxy/read-blocks.ts';
import { BLOCK_BYTES, takeBlock } from '../../src/proxy/spare-blocks.ts';
import { copiedBody } from '../support/captured.ts';
import { httpAgent, observation, rawAgent, rawClient, startProxy, TAP } from './support.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

describe('a copy of a large read', () => {
  it('is laid into memory that was given back, and into no other', () => {
    const first = copyOfRead(Buffer.alloc(BLOCK_BYTES, 'a'));
    const second = copyOfRead(Buffer.alloc(BLOCK_BYTES, 'b'));
    expect(second.buffer).not.toBe(first.buffer);

    giveBack(first);
    const third = copyOfRead(Buffer.alloc(50 * KIB, 'c'));

    expect(third.buffer).toBe(first.buffer);
    expect(third.equals(Buffer.alloc(50 * KIB, 'c'))).toBe(true);
    expect(second.equals(Buffer.alloc(BLOCK_BYTES, 'b'))).toBe(true);
  });

  it('can be given back by any part of it, and once', () => {
    const copy = copyOfRead(Buffer.alloc(BLOCK_BYTES));
    giveBack(copy.subarray(100));
    giveBack(copy);

    const [one, other] = [copyOfRead(Buffer.alloc(BLOCK_BYTES)), copyOfRead(Buffer.alloc(BLOCK_BYTES))];
    expect(one.buffer).not.toBe(other.buffer);
  });

  it('is not what a small read, or memory from elsewhere, is taken for', () => {
    const small = copyOfRead(Buffer.alloc(100, 'a'));
    const foreign = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    giveBack(small);
    giveBack(foreign);

    const next = copyOfRead(Buffer.alloc(BLOCK_BYTES));
    expect([small.buffer, foreign.buffer]).not.toContain(next.buffer);
  });

  it('is kept in bounds while nobody needs it', () => {
    const copies = Array.from({ length: 100 }, () => copyOfRead(Buffer.alloc(BLOCK_BYTES)));
    const before = new Set(copies.map(({ buffer }) => buffer));
    copies.forEach(giveBack);

    const again = Array.from({ length: 100 }, () => copyOfRead(Buffer.alloc(BLOCK_BYTES)));
    expect(again.filter(({ buffer }) => before.has(buffer))).toHaveLength(64);
    again.forEach(giveBack);
  });
});

/** Bytes that tell which stream they are of, and where in it. */
function piece(stream: string, at: number): Buffer {
  return Buffer.alloc(64 * KIB, `data: ${stream} ${at}\n\n`);
}

/** An agent whose streams are all different, and of large pieces. */
async function differingAgent(pieces: number) {
  const hashes = new Map<string, string>();
  const agent = await httpAgent(async (request, response) => {
    const stream = String(request.headers['x-stream']);
    const hash = createHash('sha256');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let at = 0; at < pieces && !response.destroyed; at += 1) {
      const bytes = piece(stream, at);
      hash.update(bytes);
      if (!response.write(bytes)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
    hashes.set(stream, hash.digest('hex'));
    response.end();
  });
  return { url: agent.url, hashes };
}

/** Pieces of a stream that no buffers between an agent and a client take whole. */
const LARGER_THAN_BUFFERS = 320;

/** Turns of the event loop that a client lets pass before it reads on. */
type Pace = (chunk: number) => number;

const PACES: Readonly<Record<string, Pace>> = {
  'at once': () => 0,
  'with a pause now and then': (chunk) => (chunk % 16 === 0 ? 20 : 0),
  slowly: () => 3,
  // Longer than the others take to send what the buffers of the system hold.
  'late, and then at once': (chunk) => (chunk === 0 ? 2_000 : 0),
};

async function read(url: string, stream: string, pace: Pace): Promise<string> {
  const request = httpRequest(url, { agent: false, headers: { 'x-stream': stream } });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const hash = createHash('sha256');
  let chunks = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    for (let left = pace(chunks); left > 0; left -= 1) await turn();
    hash.update(chunk);
    chunks += 1;
  }
  return hash.digest('hex');
}

describe('streams of large chunks beside each other', () => {
  it('are not mixed, however fast each is read and whoever leaves; nor are their copies', async () => {
    const agent = await differingAgent(LARGER_THAN_BUFFERS);
    const sidecar = await startProxy(agent.url);
    const leavers = Array.from({ length: 4 }, async (_, index) => {
      const request = httpRequest(sidecar.url, { agent: false, headers: { 'x-stream': `leaver ${index}` } });
      request.on('error', () => {}).end();
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      response.on('error', () => {}).once('data', () => response.destroy());
    });
    const readers = Object.entries(PACES).flatMap(([name, pace]) =>
      Array.from({ length: 2 }, async (_, index) => {
        const stream = `${name} ${index}`;
        return { stream, arrived: await read(sidecar.url, stream, pace) };
      }),
    );
    await Promise.all(leavers);

    for (const { stream, arrived } of await Promise.all(readers)) {
      expect({ stream, arrived }).toEqual({ stream, arrived: agent.hashes.get(stream) });
    }
    for (let index = 0; index < readers.length + leavers.length; index += 1) {
      const { capture } = await sidecar.ended(index);
      const body = copiedBody(capture);
      const stream = /^data: (.*?) \d+\n/.exec(body.toString('latin1', 0, 100))?.[1] ?? '';
      for (let at = 0; at * 64 * KIB < body.length; at += 1) {
        const copied = body.subarray(at * 64 * KIB, (at + 1) * 64 * KIB);
        expect(copied.equals(piece(stream, at).subarray(0, copied.length))).toBe(true);
      }
      if (stream.startsWith('leaver')) continue;
      expect(body.length).toBeGreaterThan(MIB - 128 * KIB);
    }
  });
});

describe('the copy of a long stream', () => {
  it('stays what it was until its observer is done with it, while the copies of others come and go', async () => {
    const agent = await differingAgent(20);
    const done = Promise.withResolvers<void>();
    const held: Capture[] = [];
    const sidecar = await startProxy(agent.url, {
      observe: () =>
        observation((_end, capture) => {
          if (held.length === 3) return undefined;
          held.push(capture!);
          return done.promise;
        }),
    });
    const streams = Array.from({ length: 30 }, (_, index) => `stream ${index}`);
    for (const stream of streams) await read(sidecar.url, stream, PACES['at once']!);

    for (const [index, capture] of held.entries()) {
      const whole = Buffer.concat(Array.from({ length: 20 }, (_, at) => piece(streams[index]!, at)));
      const copied = copiedBody(capture);
      expect(copied.length).toBeGreaterThan(MIB - 128 * KIB);
      expect(copied.equals(whole.subarray(0, copied.length))).toBe(true);
    }
    done.resolve();
  });
});

describe('the copy of a request that an early answer came before', () => {
  const START = `{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"${'a'.repeat(50 * KIB)}`;
  const REST = `${'a'.repeat(140 * KIB)}"}]}`;
  const STREAM = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\ndata: 1\n\n';
  const HEAD = [
    'POST / HTTP/1.1',
    'Host: c',
    'Content-Type: application/json',
    `Content-Length: ${START.length + REST.length}`,
  ];

  it.each([
    ['a refusal', 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno', MIB],
    ['a stream', STREAM, MIB],
    [
      'a refusal, and the rest is over the bound',
      'HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno',
      100 * KIB,
    ],
    ['a stream, and what came is over the bound', STREAM, 20 * KIB],
  ])('%s: what comes behind it changes nothing of what is lent', async (_name, answer, maxExchangeBytes) => {
    let received = 0;
    const wholeUpload = Promise.withResolvers<void>();
    const agent = await rawAgent((socket) => {
      socket.on('data', (bytes) => {
        const before = received;
        received += bytes.length;
        if (before < START.length && received >= START.length) socket.write(answer);
        if (received > START.length + REST.length) wholeUpload.resolve();
      });
    });
    const lent = Promise.withResolvers<Capture>();
    const calls: string[] = [];
    const sidecar = await startProxy(agent.url, {
      tap: { ...TAP, maxExchangeBytes },
      observe: () =>
        observation(
          (_end, capture) => {
            calls.push('finished');
            lent.resolve(capture!);
            return new Promise<void>(() => {});
          },
          { requested: () => void calls.push('requested') },
        ),
    });
    const client = rawClient(sidecar.port, `${HEAD.join('\r\n')}\r\n\r\n${START}`);
    const { request, truncated } = await lent.promise;
    const beginning = Buffer.from(request.head!);
    client.socket.write(REST);
    await wholeUpload.promise;
    for (let passed = 0; passed < 10; passed += 1) await turn();
    // What any other exchange does.
    for (let taken = 0; taken < 80; taken += 1) takeBlock().fill('b');

    expect(beginning.toString('latin1')).toBe(START.slice(0, 4 * KIB));
    expect(beginning.equals(Buffer.from(request.head!))).toBe(true);
    // Half of a request must not pass for all of it.
    expect({ body: request.body, truncated }).toEqual({ body: undefined, truncated: true });
    expect(calls).toEqual(['finished']);
  });
});
