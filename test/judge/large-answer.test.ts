import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { MAX_ANSWER_BYTES } from '../../src/judge/bounded-fetch.ts';
import { httpAgent } from '../proxy/support.ts';
import { FREE, outcomes, setUp } from './questions.ts';

const COOL_DOWN_MS = 1_000;

/** A judge in front of an endpoint that answers each request with `answer`; its scripted one is not asked. */
async function setUpAt(answer: (response: ServerResponse, request: number) => void, retries = 0) {
  let requests = 0;
  const closed = Promise.withResolvers<void>();
  const endpoint = await httpAgent((request, response) => {
    requests += 1;
    response.once('close', () => closed.resolve());
    request.resume().once('end', () => answer(response, requests));
  });
  const baseUrl = `${endpoint.url}/v1`;
  const bench = await setUp({}, { baseUrl, coolDownMs: COOL_DOWN_MS, retries });
  return {
    bench,
    requests: () => requests,
    /** Resolves when the connection of an answer was closed, or the answer was sent whole. */
    closed: closed.promise,
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
}

const JSON_HEAD = { 'content-type': 'application/json' };

/** Writes for as long as somebody reads. */
function writeForEver(response: ServerResponse, status = 200): void {
  const piece = `"${'x'.repeat(64 * 1024)}",`;
  const write = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.writeHead(status, JSON_HEAD).on('drain', write);
  response.write('[');
  write();
}

/** A completion of exactly `bytes` bytes. */
function completion(bytes: number): string {
  const text = JSON.stringify({
    choices: [{ message: { content: JSON.stringify(FREE) }, finish_reason: 'stop' }],
    padding: '',
  });
  return `${text.slice(0, -2)}${'x'.repeat(bytes - text.length)}${text.slice(-2)}`;
}

describe('an answer that is larger than any judge`s', () => {
  it.each<[string, (response: ServerResponse) => void]>([
    ['has no end', (response) => writeForEver(response)],
    [
      'is silent behind too much of it',
      (response) => response.writeHead(200, JSON_HEAD).write('x'.repeat(MAX_ANSWER_BYTES + 1)),
    ],
    [
      'is declared to be so',
      (response) => response.writeHead(200, { ...JSON_HEAD, 'content-length': MAX_ANSWER_BYTES + 1 }).write('{'),
    ],
  ])('fails its question at once, and is read no further: one that %s', async (_, answer) => {
    await using endpoint = await setUpAt(answer);
    const { bench } = endpoint;
    const error = await bench.fail();
    await endpoint.closed;
    expect(error).toMatchObject({ type: 'malformed' });
    expect(error.message).toBe('berth: the judge endpoint sent more than any judge has to say; check judge.base_url');
    expect(outcomes(bench.calls)).toEqual(['malformed']);
  });

  it('has the endpoint left alone, by everybody, for the cool-down', async () => {
    await using endpoint = await setUpAt((response) => writeForEver(response), 2);
    const { bench } = endpoint;
    await bench.fail();
    expect(bench.judge.admission?.()).toMatchObject({ limit: 0 });
    bench.pass(COOL_DOWN_MS - 1);
    const spared = await bench.fail();
    expect(spared).toMatchObject({ type: 'malformed' });
    expect(spared.message).toContain('not asked, because a moment ago');
    expect(endpoint.requests()).toBe(1);
    bench.pass(1);
    await bench.fail();
    expect(endpoint.requests()).toBe(2);
  });

  it('is forgotten when the next question after the cool-down is answered', async () => {
    await using endpoint = await setUpAt((response, request) => {
      if (request === 1) writeForEver(response);
      else response.writeHead(200, JSON_HEAD).end(completion(1_000));
    });
    const { bench } = endpoint;
    await bench.fail();
    bench.pass(COOL_DOWN_MS);
    await expect(bench.ask()).resolves.toEqual(FREE);
    await expect(bench.ask()).resolves.toEqual(FREE);
  });
});

it('an answer just within the bound is read whole', async () => {
  await using endpoint = await setUpAt(
    (response) => void response.writeHead(200, JSON_HEAD).end(completion(MAX_ANSWER_BYTES)),
  );
  await expect(endpoint.bench.ask()).resolves.toEqual(FREE);
});

describe('an error that has no end', () => {
  it.each([
    [401, 'unauthorized', 1],
    [429, 'rate_limited', 3],
    [500, 'unavailable', 3],
  ])('is read no further than it takes, and is what its status says: %i', async (status, type, requests) => {
    await using endpoint = await setUpAt((response) => writeForEver(response, status), 2);
    const { bench } = endpoint;
    await expect(bench.fail()).resolves.toMatchObject({ type });
    await endpoint.closed;
    expect(outcomes(bench.calls)).toEqual(Array(requests).fill(type));
  });

  it('is told by what stands at its beginning', async () => {
    await using endpoint = await setUpAt((response) => {
      response.writeHead(400, JSON_HEAD);
      response.write('{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum","input":"');
      response.write('x'.repeat(MAX_ANSWER_BYTES + 1));
    });
    await expect(endpoint.bench.fail()).resolves.toMatchObject({ type: 'context_too_long' });
  });

  it('or breaks off is what its status says, too', async () => {
    await using endpoint = await setUpAt((response) => {
      response.writeHead(401, JSON_HEAD).write('{"error":', () => response.destroy());
    });
    await expect(endpoint.bench.fail()).resolves.toMatchObject({ type: 'unauthorized' });
  });

  it('that quotes a long conversation keeps nobody else from asking', async () => {
    await using endpoint = await setUpAt((response) => {
      response.writeHead(422, JSON_HEAD).end(JSON.stringify({ detail: [{ input: 'x'.repeat(2 * MAX_ANSWER_BYTES) }] }));
    });
    const { bench } = endpoint;
    await bench.fail();
    expect(bench.judge.admission?.()).toEqual({ limit: Infinity });
  });
});
