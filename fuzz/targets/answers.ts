import assert from 'node:assert/strict';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/lib/json.ts';
import { anyEvents } from '../../test/agui/arbitrary-events.ts';
import { encodeSse } from '../../test/agui/streams.ts';
import { ask, type Outcome } from '../forwarding/client.ts';
import { openSidecar, type Sidecar } from '../forwarding/sidecar.ts';
import { recordedBodies } from '../fixtures.ts';
import { HOSTILE_TEXTS } from '../hostile.ts';
import { bytesOf, cut, fieldsOf, oneOf, textOf } from '../input.ts';
import type { FuzzTarget } from '../target.ts';
import { copiedBody } from '../../test/support/captured.ts';

const METHODS = ['POST', 'GET', 'HEAD'] as const;
const ENDS = ['fin', 'keep', 'reset'] as const;

const EVENT_STREAM = 'Content-Type: text/event-stream';
const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const counted = (body: string): string =>
  `HTTP/1.1 200 OK\r\n${EVENT_STREAM}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

const SEEDS = [
  counted('data: {"type":"RUN_STARTED","threadId":"a","runId":"b"}\n\n'),
  `HTTP/1.1 200 OK\r\n${EVENT_STREAM}\r\nTransfer-Encoding: chunked\r\n\r\n${chunked('data: 1\n\n')}`,
  `HTTP/1.1 200 OK\r\n${EVENT_STREAM}\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n\r\ndata: 1\n\n`,
  `HTTP/1.0 200 OK\r\n${EVENT_STREAM}\r\n\r\ndata: 1\n\n`,
  'HTTP/1.1 204 No Content\r\nX-A: \u00e9\r\n\r\n',
  'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\nContent-Length: 5\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2;a=b\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
  `HTTP/1.1 500 Oh no\r\nContent-Type: application/json\r\nContent-Length: 2\r\nKeep-Alive: timeout=1\r\n\r\n{}HTTP/1.1 200 OK\r\n\r\n`,
  `HTTP/1.1 200 OK\r\n${EVENT_STREAM}\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nab`,
];

const line = fc.constantFrom(
  'Content-Length: 3',
  'Content-Length: 0',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip',
  'Connection: keep-alive',
  'Connection: close',
  'Connection: X-A',
  'X-A: 1',
  'x-a:',
  'X-A: \u00ff\u0001',
  'Trailer: X-B',
  'Upgrade: h2c',
  EVENT_STREAM,
  'Content-Encoding: br',
  ' folded',
  ': no name',
);

/** Answers as bytes, well-formed or not: the client gets what it would get without the sidecar, or an error. */
export const answers: FuzzTarget = {
  name: 'answers',
  seeds: () => [
    ...SEEDS.flatMap((answer) => ENDS.map((end) => ({ method: 'POST', answer, cuts: [20, 1], end }))),
    ...SEEDS.map((answer) => ({ method: 'HEAD', answer, cuts: [], end: 'fin' })),
    ...recordedBodies()
      .slice(0, 12)
      .map(({ body }) => ({ method: 'POST', answer: counted(body), cuts: [100], end: 'fin' })),
  ],
  fresh: fc.record({
    method: fc.constantFrom(...METHODS),
    answer: fc.oneof(
      fc
        .tuple(
          fc.constantFrom(
            'HTTP/1.1 200 OK',
            'HTTP/1.1 200',
            'HTTP/1.0 200 OK',
            'HTTP/1.1 404 \u00fc',
            'HTTP/2 200',
            '',
          ),
          fc.array(line, { maxLength: 6 }),
          fc.oneof(fc.constantFrom('', 'abc', '3\r\nabc\r\n0\r\n\r\n', '3\r\nab', ...HOSTILE_TEXTS), fc.string()),
        )
        .map(([status, lines, body]) => [status, ...lines, '', body].join('\r\n')),
      anyEvents.map((events) => counted(textOf(encodeSse(events)))),
      fc.uint8Array({ maxLength: 100 }).map(textOf),
    ),
    cuts: fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 4 }),
    end: fc.constantFrom(...ENDS),
  }),
  async open() {
    let script: JsonObject = {};
    const sidecar = await openSidecar(createServer((socket) => play(socket, () => script)));
    return {
      async run(input: JsonValue) {
        script = fieldsOf(input);
        await compare(sidecar, script);
      },
      [Symbol.asyncDispose]: () => sidecar[Symbol.asyncDispose](),
    };
  },
};

/** How long a connection stays open behind an answer that keeps it. */
const KEEP_MS = 10;

/** Waits for the head of a request and writes the answer, whatever it is. */
function play(socket: Socket, script: () => JsonObject): void {
  let seen = '';
  socket.on('data', (piece) => {
    const isAnswered = seen.includes('\r\n\r\n');
    seen += textOf(piece);
    if (!isAnswered && seen.includes('\r\n\r\n')) void write(socket, script());
  });
}

async function write(socket: Socket, { answer, cuts, end }: JsonObject): Promise<void> {
  for (const piece of cut(bytesOf(answer), cuts)) {
    if (socket.destroyed) return;
    socket.write(piece);
    await nextTurn();
  }
  switch (oneOf(end, ENDS)) {
    case 'fin':
      socket.end();
      return;
    case 'keep':
      setTimeout(() => socket.end(), KEEP_MS);
      return;
    case 'reset':
      setTimeout(() => socket.resetAndDestroy(), KEEP_MS);
  }
}

async function compare(sidecar: Sidecar, { method, end }: JsonObject): Promise<void> {
  const verb = oneOf(method, METHODS);
  const sent = {
    method: verb,
    path: '/run',
    fields: ['Host', 'agent', 'Content-Type', 'application/json', 'TE', 'trailers', 'Connection', 'TE'],
    ...(verb === 'POST' && { body: Buffer.from('{"threadId":"a","runId":"b","messages":[]}') }),
  };
  const direct = await ask(sidecar.agentPort, sent);
  const proxied = await ask(sidecar.port, sent);
  const observed = await sidecar.observed();

  assert.equal(observed.length, 1, `one request was observed ${observed.length} times`);
  // What a reset overtakes on its way is chance.
  if (oneOf(end, ENDS) === 'reset') return;
  assertForwarded(direct, proxied);
  const [{ capture } = {}] = observed;
  if (proxied.kind === 'answer' && capture?.response && !isOwnError(proxied) && verb !== 'HEAD') {
    assert.equal(textOf(copiedBody(capture)), proxied.body, 'the copy is not what was forwarded');
  }
}

function assertForwarded(direct: Outcome, proxied: Outcome): void {
  if (direct.kind === 'broken') {
    assert.ok(
      proxied.kind === 'broken' || isOwnError(proxied),
      'a client that asks the agent gets an error; through the sidecar it gets a whole answer',
    );
    return;
  }
  if (isOwnError(proxied) && !isSendable(direct)) return;
  assert.deepEqual(
    { ...withoutAddedDate(proxied, direct), transferEncoding: '' },
    { ...direct, transferEncoding: '' },
    'through the sidecar another answer comes back',
  );
}

/** Whoever forwards an answer without a date is to add one (RFC 9110 §6.6.1). */
function withoutAddedDate(proxied: Outcome, direct: Outcome & { readonly kind: 'answer' }): Outcome {
  if (proxied.kind === 'broken' || direct.fields.some((field) => field.toLowerCase() === 'date')) return proxied;
  const at = proxied.fields.lastIndexOf('Date');
  return at < 0 ? proxied : { ...proxied, fields: proxied.fields.toSpliced(at, 2) };
}

const isOwnError = (outcome: Outcome): boolean =>
  outcome.kind === 'answer' &&
  outcome.status === 502 &&
  (outcome.body === '' || outcome.body.startsWith('{"error":{"code":"upstream_'));

/** Node's parser takes heads that its writer refuses, and codings that leave open where a body ends. */
function isSendable({ fields, phrase, transferEncoding }: Outcome & { readonly kind: 'answer' }): boolean {
  if (transferEncoding !== '' && transferEncoding.toLowerCase() !== 'chunked') return false;
  try {
    for (let at = 0; at + 1 < fields.length; at += 2) {
      validateHeaderName(fields[at] ?? '');
      validateHeaderValue(fields[at] ?? '', fields[at + 1] ?? '');
    }
    validateHeaderValue('phrase', phrase);
    return true;
  } catch {
    return false;
  }
}
