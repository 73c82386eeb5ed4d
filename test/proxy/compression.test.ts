import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliCompress,
  createBrotliDecompress,
  createDeflate,
  createDeflateRaw,
  createGunzip,
  createGzip,
  createInflate,
  createInflateRaw,
  createZstdCompress,
  createZstdDecompress,
} from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Capture } from '../../src/agui/capture.ts';
import { readCapture } from '../../src/agui/read-capture.ts';
import { copiedBody } from '../support/captured.ts';
import { BOUNDS } from '../agui/captures.ts';
import { ask, bodyOf, httpAgent, POST_JSON, RUN_REQUEST, startProxy } from './support.ts';

const WORDS = ['High', ' water', ' is', ' at', ' six', ' 海', ' 🚢'];

const EVENTS = [
  { type: 'RUN_STARTED', threadId: 't-1', runId: 'r-1' },
  { type: 'TEXT_MESSAGE_START', messageId: 'm-1', role: 'assistant' },
  ...WORDS.map((delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm-1', delta })),
  { type: 'TEXT_MESSAGE_END', messageId: 'm-1' },
  { type: 'RUN_FINISHED', threadId: 't-1', runId: 'r-1' },
].map((event) => `data: ${JSON.stringify(event)}\n\n`);

const flush = constants.Z_SYNC_FLUSH;

/** Compressors that let out each event at once, and what undoes them. */
const CODINGS: readonly {
  readonly name: string;
  readonly coding: string;
  readonly compress: () => Transform;
  readonly decompress: () => Transform;
}[] = [
  { name: 'gzip', coding: 'gzip', compress: () => createGzip({ flush }), decompress: createGunzip },
  { name: 'deflate', coding: 'deflate', compress: () => createDeflate({ flush }), decompress: createInflate },
  {
    name: 'deflate without its envelope',
    coding: 'deflate',
    compress: () => createDeflateRaw({ flush }),
    decompress: createInflateRaw,
  },
  {
    name: 'brotli',
    coding: 'br',
    compress: () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
    decompress: createBrotliDecompress,
  },
  {
    name: 'zstd',
    coding: 'zstd',
    compress: () => createZstdCompress({ flush: constants.ZSTD_e_flush }),
    decompress: createZstdDecompress,
  },
];

async function readText(capture: Capture | undefined) {
  const exchange = await readCapture(capture!, BOUNDS);
  return {
    text: exchange?.output.flatMap((message) => (message.role === 'assistant' ? [message.text] : [])),
    findings: exchange?.findings,
  };
}

describe.each(CODINGS)('a stream in $name, flushed at each event', ({ coding, compress, decompress }) => {
  it('is decoded by the client event by event, arrives byte for byte, and is read by the tap', async () => {
    const written: Buffer[] = [];
    let decoded = '';
    let wake = Promise.withResolvers<void>();
    const agent = await httpAgent(async (request, response) => {
      await bodyOf(request);
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': coding });
      const compressor = compress();
      compressor.on('data', (bytes: Buffer) => {
        written.push(bytes);
        response.write(bytes);
      });
      compressor.on('end', () => response.end());
      for (const [index, event] of EVENTS.entries()) {
        compressor.write(event);
        // The next event is made only when the client has decoded this one: nothing in between may wait for more.
        while (decoded !== EVENTS.slice(0, index + 1).join('')) await wake.promise;
      }
      compressor.end();
    });
    const sidecar = await startProxy(agent.url);

    const request = httpRequest(sidecar.url, { ...POST_JSON, agent: false });
    request.end(RUN_REQUEST);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const decoder = decompress();
    decoder.on('data', (bytes: Buffer) => {
      decoded += bytes.toString();
      wake.resolve();
      wake = Promise.withResolvers();
    });
    const reads: Buffer[] = [];
    for await (const read of response as AsyncIterable<Buffer>) {
      reads.push(read);
      decoder.write(read);
    }

    expect(reads.length).toBeGreaterThanOrEqual(EVENTS.length);
    expect(Buffer.concat(reads)).toEqual(Buffer.concat(written));
    expect(response.headers['content-encoding']).toBe(coding);
    expect(response.headers).not.toHaveProperty('content-length');
    const { capture } = await sidecar.ended();
    expect(copiedBody(capture)).toEqual(Buffer.concat(written));
    expect(await readText(capture)).toEqual({ text: [WORDS.join('')], findings: [] });
  });

  it('is read as far as it came when the agent breaks it off', async () => {
    const arrived = Promise.withResolvers<void>();
    const agent = await httpAgent(async (request, response) => {
      await bodyOf(request);
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': coding });
      const compressor = compress();
      compressor.on('data', (bytes: Buffer) => response.write(bytes));
      for (const event of EVENTS.slice(0, 5)) compressor.write(event);
      await arrived.promise;
      response.destroy();
    });
    const sidecar = await startProxy(agent.url);
    const request = httpRequest(sidecar.url, { ...POST_JSON, agent: false });
    request.end(RUN_REQUEST);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let decoded = '';
    const decoder = decompress().on('data', (bytes: Buffer) => {
      decoded += bytes.toString();
      if (decoded === EVENTS.slice(0, 5).join('')) arrived.resolve();
    });
    response.on('data', (bytes) => decoder.write(bytes));

    await expect(once(response, 'end')).rejects.toThrow('aborted');

    const { capture } = await sidecar.ended();
    expect(await readText(capture)).toMatchObject({ text: ['High water is'] });
    expect((await readCapture(capture!, BOUNDS))?.ending).toBe('upstream_error');
  });
});

describe('what the client accepts', () => {
  it.each([
    'gzip',
    'gzip, deflate, br, zstd',
    'gzip;q=1.0, identity; q=0.5, *;q=0',
    'identity',
    '*',
    'GZip,br',
    'x-own',
    '',
  ])('is what the agent is told: %j', async (accepted) => {
    const agent = await httpAgent(({ rawHeaders }, response) => response.end(JSON.stringify(rawHeaders)));
    const sidecar = await startProxy(agent.url);

    const { body } = await ask(sidecar.url, { headers: ['Host', 'c', 'Accept-ENCODING', accepted] });

    const told = JSON.parse(body.toString()) as string[];
    const at = told.findIndex((name) => name.toLowerCase() === 'accept-encoding');
    expect(told.slice(at, at + 2)).toEqual(['Accept-ENCODING', accepted]);
    expect(told.filter((name) => name.toLowerCase() === 'accept-encoding')).toHaveLength(1);
  });
});

describe('a coding that the sidecar does not know', () => {
  it.each(['snappy', 'aes128gcm', 'gzip, dcb'])('passes, and what was copied is marked: %s', async (coding) => {
    const body = Buffer.from([0xff, 0, 1, 2, 3, ...Buffer.from(EVENTS.join(''))]);
    const agent = await httpAgent(async (request, response) => {
      await bodyOf(request);
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': coding }).end(body);
    });
    const sidecar = await startProxy(agent.url);

    const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect(answer.body).toEqual(body);
    expect(answer.headers['content-encoding']).toBe(coding);
    const { capture } = await sidecar.ended();
    expect(await readText(capture)).toEqual({ text: [], findings: [{ code: 'undecodable', at: 0, id: coding }] });
  });
});

describe('bytes that are not in the coding they claim', () => {
  it('pass, and what was copied is marked', async () => {
    const body = Buffer.from(EVENTS.join(''));
    const agent = await httpAgent(async (request, response) => {
      await bodyOf(request);
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }).end(body);
    });
    const sidecar = await startProxy(agent.url);

    expect((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).body).toEqual(body);

    const { capture } = await sidecar.ended();
    expect(await readText(capture)).toEqual({ text: [], findings: [{ code: 'undecodable', at: 0, id: 'gzip' }] });
  });
});

describe('a request body in a coding', () => {
  it.each(CODINGS)('reaches the agent as it is, and is read by the tap ($name)', async ({ coding, compress }) => {
    const compressor = compress();
    compressor.end(RUN_REQUEST.replace('[]', '[{"id":"u","role":"user","content":"When?"}]'));
    const body = Buffer.concat(await compressor.toArray());
    let received = Buffer.alloc(0);
    const agent = await httpAgent(async (request, response) => {
      received = Buffer.concat(await request.toArray());
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(EVENTS.join(''));
    });
    const sidecar = await startProxy(agent.url);

    const headers = { ...POST_JSON.headers, 'content-encoding': coding };
    await ask(sidecar.url, { method: 'POST', headers }, body);

    expect(received).toEqual(body);
    const { capture } = await sidecar.ended();
    expect(await readText(capture)).toEqual({ text: [WORDS.join('')], findings: [] });
    expect((await readCapture(capture!, BOUNDS))?.input).toMatchObject([{ role: 'user', text: 'When?' }]);
  });
});
