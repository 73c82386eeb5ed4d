import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { readCapture } from '../../src/agui/read-capture.ts';
import { copiedBody } from '../support/captured.ts';
import { BOUNDS } from '../agui/captures.ts';
import { watchSockets } from './socket-watch.ts';
import { agentThat, ask, httpAgent, POST_JSON, RUN_REQUEST, startProxy, type FakeAgent } from './support.ts';
import { until } from './turns.ts';

const EVENTS = [
  'data: {"type":"RUN_STARTED","threadId":"t-1","runId":"r-1"}\n\n',
  'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\u6d77"}\n\n',
  'data: {"type":"RUN_FINISHED","threadId":"t-1","runId":"r-1"}\n\n',
];
const BODY = Buffer.from(EVENTS.join(''));
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n';

interface Piece {
  readonly bytes: Buffer;
  /** Part of the body, not of what frames it. */
  readonly isBody: boolean;
}

const framing = (text: string): Piece => ({ bytes: Buffer.from(text), isBody: false });
const body = (bytes: Buffer): Piece => ({ bytes, isBody: true });

const CHUNKED: readonly Piece[] = [
  framing(`${HEAD}Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n`),
  ...EVENTS.flatMap((event) => {
    const bytes = Buffer.from(event);
    return [framing(`${bytes.length.toString(16)};note=1\r\n`), body(bytes), framing('\r\n')];
  }),
  framing('0\r\nX-Sum: 7\r\n\r\n'),
];
const COUNTED: readonly Piece[] = [framing(`${HEAD}Content-Length: ${BODY.length}\r\n\r\n`), body(BODY)];
const UNFRAMED: readonly Piece[] = [framing(`${HEAD}\r\n`), body(BODY)];

const bytesOf = (pieces: readonly Piece[]) => Buffer.concat(pieces.map(({ bytes }) => bytes));

/** The body bytes among the first `length` bytes of an answer. */
function bodyWithin(pieces: readonly Piece[], length: number): Buffer {
  let at = 0;
  const found: Buffer[] = [];
  for (const { bytes, isBody } of pieces) {
    if (isBody && at < length) found.push(bytes.subarray(0, length - at));
    at += bytes.length;
  }
  return Buffer.concat(found);
}

interface Seen {
  readonly status: number;
  readonly body: Buffer;
  /** The client was given to believe that this is all. */
  readonly isWhole: boolean;
}

/** One POST, with whatever comes back until it ends or breaks. */
async function seenOf(url: string): Promise<Seen> {
  const request = httpRequest(url, { agent: false, ...POST_JSON });
  request.end(RUN_REQUEST);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  response.on('data', (chunk) => chunks.push(chunk));
  let isWhole = false;
  response.on('end', () => {
    isWhole = response.complete;
  });
  response.on('error', () => {});
  await new Promise((resolve) => response.on('close', resolve));
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks), isWhole };
}

const BREAKS = {
  'a reset': (socket: Socket) => socket.resetAndDestroy(),
  'an end': (socket: Socket) => socket.end(),
} as const;

type Break = keyof typeof BREAKS;

/** A sidecar before an agent that sends the first `length` bytes of an answer and breaks off once they have been read. */
async function setUp(pieces: readonly Piece[], how: Break) {
  const bytes = bytesOf(pieces);
  const sockets = watchSockets();
  const agent: FakeAgent = await agentThat(async (socket, head) => {
    const length = Number(/^POST \/(\d+) /.exec(head)?.[1]);
    if (length > 0) socket.write(bytes.subarray(0, length));
    const mine = () => sockets.toAgent(agent).find(({ localPort }) => localPort === socket.remotePort);
    await until(() => (mine()?.bytesRead ?? 0) >= length);
    BREAKS[how](socket);
  });
  const sidecar = await startProxy(agent.url);
  return { sidecar, bytes, headLength: bytes.indexOf('\r\n\r\n') + 4 };
}

describe.each(Object.keys(BREAKS) as Break[])('%s of the agent', (how) => {
  it.each([
    ['chunked', CHUNKED],
    ['counted', COUNTED],
  ])('at any byte of a %s answer is an error for the client, which has all that came', async (_name, pieces) => {
    const { sidecar, bytes, headLength } = await setUp(pieces, how);

    for (let length = 0; length < bytes.length; length += 1) {
      const seen = await seenOf(`${sidecar.url}/${length}`);
      const { end, capture } = await sidecar.ended(length);

      if (length < headLength) {
        expect(seen).toMatchObject({ status: 502, isWhole: true });
        expect(capture).not.toHaveProperty('response');
      } else {
        const sent = bodyWithin(pieces, length);
        expect({ length, ...seen }).toEqual({ length, status: 200, isWhole: false, body: sent });
        expect(copiedBody(capture)).toEqual(sent);
      }
      expect(end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_reset' });
    }
    expect(sidecar.faults).toEqual([]);
  });

  it('is never read as a run that finished, unless the agent itself said so', async () => {
    const { sidecar, bytes, headLength } = await setUp(CHUNKED, how);
    const finishedAt = bytes.indexOf('RUN_FINISHED');
    const lengths = Array.from({ length: finishedAt - headLength }, (_, index) => headLength + index);

    for (const [index, length] of lengths.entries()) {
      await seenOf(`${sidecar.url}/${length}`);
      const { capture } = await sidecar.ended(index);
      const exchange = await readCapture(capture!, BOUNDS);

      expect(exchange?.ending).toBe('upstream_error');
      expect(exchange?.eventCounts).not.toHaveProperty('RUN_FINISHED');
      for (const { ending } of exchange?.runs ?? []) expect(ending).toBe('upstream_error');
    }
  });
});

describe('an answer that only the end of the connection delimits', () => {
  it('is broken off by a reset at any byte', async () => {
    const { sidecar, bytes, headLength } = await setUp(UNFRAMED, 'a reset');

    for (let length = headLength; length <= bytes.length; length += 1) {
      const seen = await seenOf(`${sidecar.url}/${length}`);

      expect({ length, ...seen }).toEqual({ length, status: 200, isWhole: false, body: bodyWithin(UNFRAMED, length) });
      expect((await sidecar.ended(length - headLength)).end).toMatchObject({
        transport: 'upstream_error',
        errorCode: 'upstream_reset',
      });
    }
  });

  it('is whole when the connection ends, wherever that is', async () => {
    const { sidecar, bytes, headLength } = await setUp(UNFRAMED, 'an end');

    for (let length = headLength; length <= bytes.length; length += 1) {
      const seen = await seenOf(`${sidecar.url}/${length}`);

      expect({ length, ...seen }).toEqual({ length, status: 200, isWhole: true, body: bodyWithin(UNFRAMED, length) });
    }
  });
});

describe('a run that fails', () => {
  it('inside an answer of 200 passes as it is, and is read as failed', async () => {
    const stream = [
      EVENTS[0],
      EVENTS[1],
      'event: error\ndata: {"type":"RUN_ERROR","message":"no tide \u6d77","code":"T1"}\n\n',
    ].join('');
    const agent = await httpAgent((request, response) => {
      request.resume().on('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream));
    });
    const sidecar = await startProxy(agent.url);

    const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);
    const { end, capture } = await sidecar.ended();
    const exchange = await readCapture(capture!, BOUNDS);

    expect(answer).toMatchObject({ status: 200, body: Buffer.from(stream) });
    expect(end).toMatchObject({ transport: 'complete', status: 200 });
    expect(exchange).toMatchObject({
      ending: 'run_error',
      runs: [{ ending: 'run_error', error: { message: 'no tide \u6d77', code: 'T1' } }],
    });
  });
});
