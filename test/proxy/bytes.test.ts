import { createHash, randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { brotliCompressSync, constants, createGzip, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readCapture } from '../../src/agui/read-capture.ts';
import { copiedBody } from '../support/captured.ts';
import { BOUNDS } from '../agui/captures.ts';
import { hasSharedFixtures, SHARED_FIXTURES } from '../support/shared.ts';
import {
  ask,
  bodyOf,
  httpAgent,
  observation,
  POST_JSON,
  rawAgent,
  rawClient,
  RUN_REQUEST,
  startProxy,
  TAP,
} from './support.ts';

const EVENTS = [
  'data: {"type":"RUN_STARTED"}\n\n',
  ': größe 海 🚢\r\n\r\n',
  'event: x\ndata: {"delta":"\u{1F30A}"}\n\n',
];
const STREAM = Buffer.from(EVENTS.join(''));

/** Length-prefixed frames that are no valid protobuf: what is in them is no concern of the proxy. */
const FRAMES = Buffer.from([0, 0, 0, 2, 0xff, 0xfe, 0, 0, 0, 1, 0x0a]);

const BODIES = [
  { name: 'server-sent events', type: 'text/event-stream; charset=utf-8', body: STREAM },
  { name: 'gzip', type: 'text/event-stream', coding: 'gzip', body: gzipSync(STREAM) },
  { name: 'brotli', type: 'text/event-stream', coding: 'br', body: brotliCompressSync(STREAM) },
  { name: 'protobuf frames', type: 'application/vnd.ag-ui.event+proto', body: FRAMES },
  { name: 'bytes that are no text', type: 'text/event-stream', body: Buffer.from([0xff, 0, 0xc3, 0x28, 0xed, 0xa0]) },
];

/** An agent that answers each request with `body`, cut into writes of `size` bytes. */
async function agentAnswering(body: Uint8Array, headers: Record<string, string>, size: number) {
  return httpAgent(async (request, response) => {
    await bodyOf(request);
    response.writeHead(200, headers);
    for (let at = 0; at < body.length; at += size) {
      response.write(body.subarray(at, at + size));
      await nextTurn();
    }
    response.end();
  });
}

describe.each(BODIES)('a body of $name', ({ type, coding, body }) => {
  const headers = { 'content-type': type, ...(coding !== undefined && { 'content-encoding': coding }) };

  it.each([
    { cut: 'in one write', size: body.length },
    { cut: 'one byte per write', size: 1 },
    { cut: 'seven bytes per write', size: 7 },
  ])('passes unchanged, $cut, and is copied by the tap', async ({ size }) => {
    const agent = await agentAnswering(body, headers, size);
    const sidecar = await startProxy(agent.url);

    const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);
    const { capture } = await sidecar.ended();

    expect(answer.body.equals(body)).toBe(true);
    expect(answer.headers['content-type']).toBe(type);
    expect(answer.headers['content-encoding']).toBe(coding);
    expect(copiedBody(capture).equals(body)).toBe(true);
    expect(capture).toMatchObject({ truncated: false, response: { contentType: type, contentEncoding: coding ?? '' } });
  });
});

describe('delivery', () => {
  it('sends each event on as it comes, compressed ones too', async () => {
    const agent = await httpAgent(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH });
      gzip.on('data', (chunk) => response.write(chunk));
      gzip.on('end', () => response.end());
      for (let index = 0; index < 6; index += 1) {
        gzip.write(`data: ${index}\n\n`);
        // The next event is made only when the client has this one: nothing in between may wait for more.
        await events.promise;
        events = Promise.withResolvers();
      }
      gzip.end();
    });
    let events = Promise.withResolvers<void>();
    const sidecar = await startProxy(agent.url);

    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: client\r\nConnection: close\r\n\r\n');
    client.socket.on('data', () => events.resolve());

    expect(await client.closed).toBe('end');
    expect(client.received()).toContain('\r\n0\r\n\r\n');
  });

  it('sends the head before there is a body', async () => {
    const headSeen = Promise.withResolvers<void>();
    const agent = await httpAgent(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      await headSeen.promise;
      response.end('data: late\n\n');
    });
    const sidecar = await startProxy(agent.url);

    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: client\r\nConnection: close\r\n\r\n');
    await client.until('text/event-stream');
    expect(client.received()).not.toContain('late');
    headSeen.resolve();

    await client.until('data: late');
  });

  it('streams a large upload to the agent while it is being sent', async () => {
    const size = 20 * 1024 * 1024;
    let received = 0;
    const agent = await httpAgent(async (request, response) => {
      for await (const chunk of request) received += chunk.length;
      response.end(String(received));
    });
    const sidecar = await startProxy(agent.url);

    const answer = await ask(sidecar.url, { method: 'POST' }, Buffer.alloc(size, 'x'));

    expect(answer.body.toString()).toBe(String(size));
    expect((await sidecar.ended()).end.requestBytes).toBe(size);
  });

  it('lets the agent answer while the client is still sending', async () => {
    const agent = await httpAgent((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      request.on('data', (chunk) => response.write(chunk));
      request.on('end', () => response.end());
    });
    const sidecar = await startProxy(agent.url);

    const client = rawClient(
      sidecar.port,
      'POST / HTTP/1.1\r\nHost: client\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    await client.until('\r\n\r\n');
    client.socket.write('4\r\nping\r\n');
    await client.until('ping');
    client.socket.write('4\r\npong\r\n0\r\n\r\n');

    await client.until('pong');
    expect(await client.closed).toBe('end');
  });

  it('delivers a refusal that the agent sends before it has read the upload', async () => {
    const agent = await httpAgent((request, response) => {
      response.writeHead(413, { 'content-type': 'text/plain' }).end('too much');
      request.resume();
    });
    const sidecar = await startProxy(agent.url);

    const keepAlive = new Agent({ keepAlive: true });
    onTestFinished(() => keepAlive.destroy());
    const answer = await ask(sidecar.url, { ...POST_JSON, agent: keepAlive }, Buffer.alloc(5 * 1024 * 1024, 'x'));

    expect(answer).toMatchObject({ status: 413, body: Buffer.from('too much') });
  });

  it('reads the rest of an upload that the agent answered and left, so that the connection goes on', async () => {
    const agent = await rawAgent((socket) => {
      socket.once('data', (head) => {
        // It reads no more of an upload than this, and answers what comes after it on another connection.
        const isUpload = head.toString('latin1').startsWith('POST');
        if (isUpload) socket.pause();
        socket.write(
          isUpload ? 'HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\n\r\n' : 'HTTP/1.1 204 No Content\r\n\r\n',
        );
      });
    });
    const sidecar = await startProxy(agent.url);
    const size = 32 * 1024 * 1024;
    const client = rawClient(sidecar.port, `POST / HTTP/1.1\r\nHost: c\r\nContent-Length: ${size}\r\n\r\n`);
    client.socket.write(Buffer.alloc(size));
    await client.until('413 Payload Too Large');
    for (const socket of agent.sockets) socket.destroy();

    client.socket.write('GET /next HTTP/1.1\r\nHost: c\r\n\r\n');
    await client.until('204 No Content');
    expect(client.received()).not.toContain('502');
  });

  it('answers a second request on a connection that a HEAD, a 204 or a 304 used before', async () => {
    const agent = await rawAgent((socket) => {
      socket.on('data', (bytes) => {
        const line = bytes.toString('latin1');
        if (line.startsWith('HEAD')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n');
        else if (line.includes('/204')) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
        else if (line.includes('/304')) socket.write('HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n');
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const sidecar = await startProxy(agent.url);

    expect(await ask(sidecar.url, { method: 'HEAD' })).toMatchObject({
      status: 200,
      headers: { 'content-length': '99' },
    });
    expect((await ask(sidecar.url)).body.toString()).toBe('ok');
    expect((await ask(`${sidecar.url}/204`)).status).toBe(204);
    expect((await ask(sidecar.url)).body.toString()).toBe('ok');
    expect((await ask(`${sidecar.url}/304`)).status).toBe(304);
    expect((await ask(sidecar.url)).body.toString()).toBe('ok');
    expect(agent.sockets.size).toBe(1);
  });
});

describe('a stream that no reader could make sense of', () => {
  /** Answers with these pieces, as fast as they are taken, and closes unless told to go on. */
  async function agentSending(pieces: Iterable<Uint8Array>, { ends = true } = {}) {
    return httpAgent(async (request, response) => {
      await bodyOf(request);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const piece of pieces) {
        if (!response.write(piece)) await once(response, 'drain');
      }
      if (ends) response.end();
    });
  }

  function* endlessEvent(count: number): Generator<Uint8Array> {
    yield Buffer.from('data: ');
    for (let index = 0; index < count; index += 1) yield Buffer.alloc(64 * 1024, 97 + (index % 26));
  }

  const hashOf = (parts: Iterable<Uint8Array>) => {
    const hash = createHash('sha256');
    for (const part of parts) hash.update(part);
    return hash.digest('hex');
  };

  it('passes whole, though one event of it is 100 MB; the copy stops at its bound', async () => {
    const count = 1_600;
    const agent = await agentSending(endlessEvent(count));
    const sidecar = await startProxy(agent.url);

    const { body } = await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect(hashOf([body])).toBe(hashOf(endlessEvent(count)));
    const { capture } = await sidecar.ended();
    expect(capture).toMatchObject({ truncated: true, transport: 'complete' });
    expect(copiedBody(capture).length).toBeLessThanOrEqual(TAP.maxExchangeBytes);
    expect((await readCapture(capture!, BOUNDS))?.findings).toContainEqual(
      expect.objectContaining({ code: 'truncated_tap' }),
    );
  });

  it('passes for as long as its client stays, though its one event never ends', async () => {
    const agent = await agentSending(endlessEvent(200), { ends: false });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    let left = 200 * 64 * 1024;
    while (left > 0) {
      const [bytes] = (await once(client.socket, 'data')) as [Buffer];
      left -= bytes.length;
    }
    client.socket.destroy();

    const { end, capture } = await sidecar.ended();
    expect(end).toMatchObject({ transport: 'client_aborted', responseBytes: 200 * 64 * 1024 + 6 });
    expect(capture).toMatchObject({ truncated: true });
  });

  it.each([1, 2, 3, 4, 5])(
    'passes whole when it is noise and everything that observes it throws (%i)',
    async (round) => {
      const noise = Array.from({ length: 50 * round }, () => randomBytes(randomInt(1, 4_000)));
      const boom = () => {
        throw new Error('boom');
      };
      const agent = await agentSending(noise);
      const sidecar = await startProxy(agent.url, {
        observe: () => observation(boom, { requested: boom, wantsCopy: () => true, streaming: boom }),
        onTapDropped: boom,
      });

      const { body } = await ask(sidecar.url, POST_JSON, RUN_REQUEST);

      expect(hashOf([body])).toBe(hashOf(noise));
    },
  );
});

describe.skipIf(!hasSharedFixtures)('captured streams of real servers', () => {
  const folder = new URL('captures/', SHARED_FIXTURES);
  const names = hasSharedFixtures ? readdirSync(folder).filter((name) => /\.(sse|pb)$/.test(name)) : [];

  it.each(names)('%s passes byte for byte: whole, one byte per write, gzip and brotli', async (name) => {
    const body = readFileSync(new URL(name, folder));
    const type = name.endsWith('.pb') ? 'application/vnd.ag-ui.event+proto' : contentTypeOf(name, folder);
    const forms = [
      { body, headers: { 'content-type': type }, size: body.length },
      { body, headers: { 'content-type': type }, size: 1 },
      { body: gzipSync(body), headers: { 'content-type': type, 'content-encoding': 'gzip' }, size: 100 },
      { body: brotliCompressSync(body), headers: { 'content-type': type, 'content-encoding': 'br' }, size: 100 },
    ];
    for (const form of forms) {
      const agent = await agentAnswering(form.body, form.headers, form.size);
      const sidecar = await startProxy(agent.url);
      const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);
      expect(answer.body.equals(form.body)).toBe(true);
      const { capture } = await sidecar.ended();
      expect(copiedBody(capture).equals(form.body)).toBe(true);
    }
  });
});

function contentTypeOf(name: string, folder: URL): string {
  const meta = new URL(name.replace(/\.sse$/, '.meta.json'), folder);
  if (!existsSync(meta)) return 'text/event-stream';
  const { headers } = JSON.parse(readFileSync(meta, 'utf8')) as { headers?: Record<string, string> };
  return headers?.['content-type'] ?? 'text/event-stream';
}
