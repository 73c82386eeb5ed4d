import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Capture } from '../../src/agui/capture.ts';
import { copiedBody } from '../support/captured.ts';
import { httpAgent, observation, POST_JSON, rawClient, RUN_REQUEST, startProxy, TAP } from './support.ts';
import { until } from './turns.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes that buffers hold once what is garbage is gone; waits for that, up to the time a test may take. */
async function heldBytes(isEnough: (bytes: number) => boolean): Promise<number> {
  for (;;) {
    collectGarbage();
    await turn();
    const { arrayBuffers } = process.memoryUsage();
    if (isEnough(arrayBuffers)) return arrayBuffers;
  }
}

/** An agent whose answers are `size` bytes of events, all different, and their hash. */
async function floodingAgent(size: number) {
  const hash = createHash('sha256');
  const pieces = Array.from({ length: size / (64 * KIB) }, (_, index) => Buffer.alloc(64 * KIB, `data: ${index}\n\n`));
  for (const piece of pieces) hash.update(piece);
  const agent = await httpAgent(async (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) if (!response.write(piece)) await once(response, 'drain');
    response.end();
  });
  return { agent, sha256: hash.digest('hex') };
}

async function hashOf(url: string): Promise<string> {
  const request = httpRequest(url, { agent: false, ...POST_JSON });
  request.end(RUN_REQUEST);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const hash = createHash('sha256');
  for await (const chunk of response as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}

/** An observer that takes copies and is never done with any. */
function stalledObserver() {
  const captures: Capture[] = [];
  let dropped = 0;
  return {
    options: {
      observe: () =>
        observation((_end, capture) => {
          if (capture) captures.push(capture);
          return new Promise<void>(() => {});
        }),
      onTapDropped: (bytes: number) => {
        dropped += bytes;
      },
    },
    captures: () => captures,
    copiedBytes: () =>
      captures.reduce((sum, capture) => sum + (capture.request.body?.length ?? 0) + copiedBody(capture).length, 0),
    droppedBytes: () => dropped,
  };
}

describe('an observer that never finishes reading', () => {
  it('holds no more than the tap`s total, and every byte beyond it is counted; the streams pass whole', async () => {
    const size = 4 * MIB;
    const count = 32;
    const tap = { maxExchangeBytes: MIB, maxTotalBytes: 8 * MIB };
    const { agent, sha256 } = await floodingAgent(size);
    const observer = stalledObserver();
    const sidecar = await startProxy(agent.url, { tap, ...observer.options });
    const before = await heldBytes(() => true);

    for (let stream = 0; stream < count; stream += 1) expect(await hashOf(sidecar.url)).toBe(sha256);
    await until(() => observer.captures().length === count);

    expect(observer.copiedBytes()).toBeLessThanOrEqual(tap.maxTotalBytes);
    expect(observer.copiedBytes() + observer.droppedBytes()).toBe(count * (size + RUN_REQUEST.length));
    expect(observer.captures().filter(({ truncated }) => truncated)).toHaveLength(count);
    // Hangs where more is held: 128 MiB have passed.
    await heldBytes((held) => held - before < 4 * tap.maxTotalBytes);
  });

  it('delays no event: each is delivered before the next is made', async () => {
    const events = Array.from({ length: 50 }, (_, index) => `data: ${index}.\n\n`);
    let delivered = Promise.withResolvers<void>();
    const agent = await httpAgent(async (request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of events) {
        response.write(event);
        await delivered.promise;
        delivered = Promise.withResolvers();
      }
      response.end();
    });
    const observer = stalledObserver();
    const sidecar = await startProxy(agent.url, { tap: { ...TAP, maxTotalBytes: 2 * KIB }, ...observer.options });

    for (let stream = 0; stream < 3; stream += 1) {
      const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');
      for (const event of events) {
        await client.until(event);
        delivered.resolve();
      }
      expect(await client.closed).toBe('end');
    }
    await until(() => observer.captures().length === 3);

    expect(observer.droppedBytes()).toBeGreaterThan(0);
  });
});
