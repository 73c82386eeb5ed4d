import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { constants, createBrotliCompress, createGzip, createZstdCompress } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ask, bodyOf, httpAgent, POST_JSON, RUN_REQUEST, startProxy, type FakeAgent } from './support.ts';

const COUNT = 12;
const EVENTS = Array.from({ length: COUNT }, (_, index) => `data: {"type":"TEXT_MESSAGE_CONTENT","n":${index}}\n\n`);

/** Whoever sends waits here until the client has what was sent before. */
function createLockstep() {
  let step = Promise.withResolvers<void>();
  return {
    next: () => step.resolve(),
    async wait() {
      await step.promise;
      step = Promise.withResolvers();
    },
  };
}

type Lockstep = ReturnType<typeof createLockstep>;

/** An agent that makes each event only when the client has the one before: a sidecar that holds one back hangs. */
function lockstepAgent(lockstep: Lockstep, headers: Record<string, string | number> = {}): Promise<FakeAgent> {
  return httpAgent(async (request, response) => {
    await bodyOf(request);
    response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
    for (const event of EVENTS) {
      response.write(event);
      await lockstep.wait();
    }
    response.end();
  });
}

/** The separate reads of one answer. */
async function readsOf(url: string, lockstep: Lockstep, headers: Record<string, string> = {}) {
  const request = httpRequest(url, { agent: false, method: 'POST', headers: { ...POST_JSON.headers, ...headers } });
  request.end(RUN_REQUEST);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const reads: Buffer[] = [];
  response.on('data', (bytes: Buffer) => {
    reads.push(bytes);
    lockstep.next();
  });
  await once(response, 'end');
  return { reads, headers: response.headers };
}

describe('each event is delivered by itself, before the next is made', () => {
  it.each([
    ['to a client that says nothing of encodings', {}],
    ['to a client that takes gzip', { 'accept-encoding': 'gzip, br' }],
    ['to a client that takes anything', { 'accept-encoding': '*' }],
    ['to a client that asks for events', { accept: 'text/event-stream' }],
  ])('%s', async (_name, headers) => {
    const lockstep = createLockstep();
    const agent = await lockstepAgent(lockstep);
    const sidecar = await startProxy(agent.url);

    const seen = await readsOf(sidecar.url, lockstep, headers);

    expect(seen.reads.map(String)).toEqual(EVENTS);
    expect(seen.headers).not.toHaveProperty('content-encoding');
    expect(seen.headers).not.toHaveProperty('vary');
  });

  it('of a body whose length was announced', async () => {
    const lockstep = createLockstep();
    const agent = await lockstepAgent(lockstep, { 'content-length': EVENTS.join('').length });
    const sidecar = await startProxy(agent.url);

    expect((await readsOf(sidecar.url, lockstep)).reads.map(String)).toEqual(EVENTS);
  });

  it('of an answer that no proxy behind this one may buffer or change', async () => {
    const lockstep = createLockstep();
    const kept = { 'x-accel-buffering': 'no', 'cache-control': 'no-cache, no-transform' };
    const agent = await lockstepAgent(lockstep, kept);
    const sidecar = await startProxy(agent.url);

    const seen = await readsOf(sidecar.url, lockstep);

    expect(seen.reads.map(String)).toEqual(EVENTS);
    expect(seen.headers).toMatchObject(kept);
  });

  it.each([
    ['gzip', () => createGzip({ flush: constants.Z_SYNC_FLUSH })],
    ['br', () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH })],
    ['zstd', () => createZstdCompress({ flush: constants.ZSTD_e_flush })],
  ])('of an agent whose own compressor flushes each of them (%s)', async (coding, createCompressor) => {
    const lockstep = createLockstep();
    const written: Buffer[] = [];
    const agent = await httpAgent(async (request, response) => {
      await bodyOf(request);
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': coding });
      const compressor = createCompressor();
      compressor.on('data', (bytes: Buffer) => {
        written.push(bytes);
        response.write(bytes);
      });
      compressor.on('end', () => response.end());
      for (const event of EVENTS) {
        compressor.write(event);
        await lockstep.wait();
      }
      compressor.end();
    });
    const sidecar = await startProxy(agent.url);

    const seen = await readsOf(sidecar.url, lockstep, { 'accept-encoding': coding });

    expect(Buffer.concat(seen.reads)).toEqual(Buffer.concat(written));
    expect(seen.headers['content-encoding']).toBe(coding);
    expect(seen.reads.length).toBeGreaterThanOrEqual(COUNT);
  });
});

describe('the sidecar has no say in encodings', () => {
  it('and so adds none to what the client accepts', async () => {
    const agent = await httpAgent((request, response) => response.end(JSON.stringify(request.rawHeaders)));
    const sidecar = await startProxy(agent.url);

    const asked = JSON.parse((await ask(sidecar.url)).body.toString()) as string[];

    expect(asked.map((text) => text.toLowerCase())).not.toContain('accept-encoding');
  });

  it('and so leaves a large answer as it is, for a client that would take it compressed', async () => {
    const large = JSON.stringify({ text: 'x'.repeat(100_000) });
    const agent = await httpAgent((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', etag: 'W/"1"' }).end(large);
    });
    const sidecar = await startProxy(agent.url);

    const answer = await ask(sidecar.url, { headers: { 'accept-encoding': 'gzip, deflate, br, zstd' } });

    expect(answer.body.toString()).toBe(large);
    expect(answer.headers).not.toHaveProperty('content-encoding');
    expect(answer.headers).toMatchObject({ etag: 'W/"1"' });
  });

  it('and so reads no body: what no parser could read reaches the agent', async () => {
    const agent = await httpAgent(async (request, response) => {
      const body = await bodyOf(request);
      response.end(`${request.headers['content-type']} ${request.headers['content-encoding']} ${body}`);
    });
    const sidecar = await startProxy(agent.url);

    const answer = await ask(
      sidecar.url,
      { method: 'POST', headers: { 'content-type': 'application/json; charset=no', 'content-encoding': 'gzip' } },
      '{"half',
    );

    expect(answer).toMatchObject({ status: 200, body: Buffer.from('application/json; charset=no gzip {"half') });
  });
});
