import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { JudgeServerReply } from '../support/judge-server.ts';
import { FREE, outcomes, question, setUp } from './questions.ts';

describe('a failure that may pass', () => {
  it.each([
    [408, 'timeout'],
    [409, 'unavailable'],
    [425, 'unavailable'],
    [429, 'rate_limited'],
    [500, 'unavailable'],
    [503, 'unavailable'],
    [529, 'unavailable'],
  ])('is tried again: %i', async (status, type) => {
    await using bench = await setUp({ scripts: { berth: [{ status }, { status }, { value: FREE }] } });
    await expect(bench.ask()).resolves.toEqual(FREE);
    expect(outcomes(bench.calls)).toEqual([type, type, 'success']);
  });

  it.each<[string, JudgeServerReply]>([
    ['a connection cut', { reset: true }],
    ['a gateway page', { raw: '<h1>Bad gateway</h1>', contentType: 'text/html', status: 502 }],
  ])('is tried again: %s', async (_, reply) => {
    await using bench = await setUp({ scripts: { berth: [reply, { value: FREE }] } });
    await expect(bench.ask()).resolves.toEqual(FREE);
    expect(outcomes(bench.calls)).toEqual(['unavailable', 'success']);
  });

  it.each([301, 302, 307, 308])(
    'is one when the endpoint redirects: %i sends the conversation nowhere else',
    async (status) => {
      await using elsewhere = await setUp({ scripts: { berth: FREE } });
      const headers = { location: `${elsewhere.server.baseUrl}/chat/completions` };
      await using bench = await setUp({ scripts: { berth: () => ({ status, headers }) } });
      await expect(bench.fail()).resolves.toMatchObject({ type: 'unavailable' });
      expect(outcomes(bench.calls)).toEqual(['unavailable']);
      expect(elsewhere.server.requests).toEqual([]);
    },
  );

  it('is tried again no more often than configured', async () => {
    await using bench = await setUp({ scripts: { berth: () => ({ status: 429 }) } }, { retries: 3 });
    await expect(bench.fail()).resolves.toMatchObject({ type: 'rate_limited' });
    expect(outcomes(bench.calls)).toEqual(Array(4).fill('rate_limited'));
  });

  it('leaves one budget for the question and its repair', async () => {
    await using bench = await setUp({
      scripts: { berth: [{ status: 500 }, { text: 'Yes.' }, { status: 500 }, { status: 500 }] },
    });
    await expect(bench.fail()).resolves.toMatchObject({ type: 'unavailable' });
    expect(outcomes(bench.calls)).toEqual(['unavailable', 'malformed', 'unavailable', 'unavailable']);
  });

  it('waits longer each time', async () => {
    await using bench = await setUp({ scripts: { berth: () => ({ status: 500 }) } }, { retries: 3 });
    await bench.fail();
    expect(bench.slept).toEqual([375, 750, 1_500]);
  });

  it('waits as long as the endpoint asks for', async () => {
    await using bench = await setUp({
      scripts: { berth: [{ status: 429, headers: { 'retry-after': '7' } }, { value: FREE }] },
    });
    await bench.ask();
    expect(bench.slept).toEqual([7_250]);
  });

  it('is not waited for when the endpoint asks for more patience than a question has', async () => {
    await using bench = await setUp({
      scripts: { berth: () => ({ status: 429, headers: { 'retry-after': '3600' } }) },
    });
    await expect(bench.fail()).resolves.toMatchObject({ type: 'rate_limited' });
    expect(bench.server.requests).toHaveLength(1);
    expect(bench.slept).toEqual([]);
  });

  it('names the system error when nothing listens', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    taken.close();
    await once(taken, 'close');
    await using bench = await setUp({}, { baseUrl: `http://127.0.0.1:${port}/v1` });
    const error = await bench.fail();
    expect(error).toMatchObject({ type: 'unavailable' });
    expect(error.message).toContain('ECONNREFUSED');
    expect(bench.calls).toHaveLength(3);
  });
});

describe('a failure that will not pass', () => {
  it.each([
    [400, { message: 'temperature is out of range', code: 'invalid_value', param: 'temperature' }, 'unavailable'],
    [401, { message: 'no' }, 'unauthorized'],
    [402, { message: 'no' }, 'unavailable'],
    [403, { message: 'no' }, 'unauthorized'],
    [404, { message: 'no' }, 'unavailable'],
    [429, { message: 'You exceeded your current quota', code: 'insufficient_quota' }, 'rate_limited'],
    [
      400,
      { message: "This model's maximum context length is 8192 tokens", code: 'context_length_exceeded' },
      'context_too_long',
    ],
    [400, { message: 'prompt is too long: 210000 tokens > 200000 maximum' }, 'context_too_long'],
    [413, { message: 'no' }, 'context_too_long'],
    [400, { message: 'The response was filtered', code: 'content_filter' }, 'refused'],
  ])('fails at once: %i %o', async (status, error, type) => {
    await using bench = await setUp({ scripts: { berth: () => ({ status, error }) } });
    await expect(bench.fail()).resolves.toMatchObject({ type });
    expect(outcomes(bench.calls)).toEqual([type]);
    expect(bench.slept).toEqual([]);
  });

  it('says what was answered and what to look at', async () => {
    await using bench = await setUp({
      scripts: { berth: () => ({ status: 404, error: { code: 'model_not_found' } }) },
    });
    const error = await bench.fail();
    expect(error.message).toBe(
      'berth: the judge endpoint answered 404 (model_not_found): check judge.model and judge.base_url',
    );
  });

  it.each([
    ['', ', which usually ends in /v1 and here does not'],
    ['/openai', ', which usually ends in /v1 and here does not'],
    ['/v1', ''],
    ['/v1/', ''],
    ['/v1beta/openai', ''],
  ])('says of an address with the path %j that the version is missing only when it is', async (path, hint) => {
    await using server = createHttpServer((_, response) => void response.writeHead(404).end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    await using bench = await setUp({}, { baseUrl: `http://127.0.0.1:${port}${path}` });
    const error = await bench.fail();
    expect(error.message).toBe(`berth: the judge endpoint answered 404: check judge.model and judge.base_url${hint}`);
  });

  it('shows neither the key nor the conversation, even when the endpoint repeats them', async () => {
    await using bench = await setUp(
      {
        scripts: {
          berth: ({ headers, messages }) => ({
            status: 400,
            error: { message: `${headers.authorization} sent ${JSON.stringify(messages)}`, code: 'sk-harbour-secret' },
          }),
        },
      },
      { apiKey: 'sk-harbour-secret' },
    );
    const error = await bench.fail();
    expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toMatch(/sk-harbour|Albatross/);
  });
});

describe('the deadline of a request', () => {
  it.each<[string, JudgeServerReply]>([
    ['says nothing', { hang: true }],
    ['stops in the middle of its answer', { hang: true, after: 'head' }],
    ['stops in the middle of an error', { hang: true, after: 'head', status: 500 }],
  ])('ends one to an endpoint that %s', async (_, reply) => {
    await using bench = await setUp({ scripts: { berth: () => reply } }, { timeoutMs: 50 });
    const error = await bench.fail();
    expect(error).toMatchObject({ type: 'timeout' });
    expect(error.message).toContain('judge.timeout');
    expect(outcomes(bench.calls)).toEqual(['timeout']);
  });

  it('does not run while a question waits for its place', async () => {
    let served = 0;
    await using bench = await setUp(
      { scripts: { berth: () => (++served <= 2 ? { hang: true } : { value: FREE }) } },
      { timeoutMs: 1_000, concurrency: 1 },
    );
    // The third has waited two deadlines by the time it is sent.
    const settled = await Promise.allSettled([bench.ask(), bench.ask(), bench.ask()]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  });
});

describe('an abort by the caller', () => {
  const reason = new Error('the job was given up');

  it('rejects with its reason before anything is sent', async () => {
    await using bench = await setUp({ scripts: { berth: FREE } });
    await expect(bench.ask(question, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(bench.server.requests).toHaveLength(0);
  });

  it('rejects with its reason while a request is under way, and ends that', async () => {
    await using bench = await setUp({ scripts: { berth: () => ({ hang: true }) } });
    const caller = new AbortController();
    const answer = bench.ask(question, caller.signal);
    await bench.server.received(1);
    caller.abort(reason);
    await expect(answer).rejects.toBe(reason);
    const gone = bench.server.requests[0]?.gone;
    if (gone?.aborted === false) await once(gone, 'abort');
    expect(bench.calls).toEqual([]);
  });

  it('rejects with its reason between two tries', async () => {
    const caller = new AbortController();
    const { promise: sleeping, resolve } = Promise.withResolvers<void>();
    await using bench = await setUp(
      { scripts: { berth: () => ({ status: 500 }) } },
      {
        sleep: (_, signal) => {
          resolve();
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason));
          });
        },
      },
    );
    const answer = bench.ask(question, caller.signal);
    await sleeping;
    caller.abort(reason);
    await expect(answer).rejects.toBe(reason);
  });

  it('leaves its place to the next', async () => {
    let served = 0;
    await using bench = await setUp(
      { scripts: { berth: () => (++served === 1 ? { hang: true } : { value: FREE }) } },
      { concurrency: 1 },
    );
    const caller = new AbortController();
    const first = bench.ask(question, caller.signal);
    const second = bench.ask();
    await bench.server.received(1);
    caller.abort(reason);
    await expect(first).rejects.toBe(reason);
    await expect(second).resolves.toEqual(FREE);
  });
});

it('a judge that was closed ends what is under way and refuses the rest', async () => {
  await using bench = await setUp({ scripts: { berth: () => ({ hang: true }) } });
  const ended = bench.fail();
  await bench.server.received(1);
  await bench.judge[Symbol.asyncDispose]();
  await expect(ended).resolves.toMatchObject({ message: 'the judge was closed' });
  await expect(bench.ask()).rejects.toThrow('the judge was closed');
});
