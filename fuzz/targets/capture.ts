import assert from 'node:assert/strict';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Capture, TransportEnd } from '../../src/agui/capture.ts';
import { readCapture } from '../../src/agui/read-capture.ts';
import type { JsonObject, JsonValue } from '../../src/lib/json.ts';
import { anyEvents, anyMessages, asJson } from '../../test/agui/arbitrary-events.ts';
import { BOUNDS, captureOf } from '../../test/agui/captures.ts';
import { encodeSse } from '../../test/agui/streams.ts';
import { validStream } from '../../test/agui/valid-streams.ts';
import { assertFindings, assertInProportion, assertPlainJson, assertUnpolluted } from '../checks.ts';
import { recordedBodies, recordedEvents } from '../fixtures.ts';
import { bytesOf, cut, fieldsOf, integerOf, oneOf, textOf } from '../input.ts';
import { pureTarget } from '../target.ts';

const CONTENT_TYPES = { sse: 'text/event-stream', protobuf: 'application/vnd.ag-ui.event+proto', jsonl: 'text/plain' };
const ENDS = ['complete', 'client_aborted', 'upstream_error'] as const satisfies readonly TransportEnd[];

const cuts = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 5 });

/** A whole capture into an exchange, however its bytes were cut. */
export const capture = pureTarget({
  name: 'capture',
  seeds: () => [
    ...recordedBodies().map(({ format, body, request = null }) => ({ format, body, request, cuts: [40, 3] })),
    ...recordedBodies().map(({ format, body, request = null }) => ({ format, body, request, encoding: 'gzip' })),
    ...recordedEvents().map((events) => ({ format: 'sse', body: textOf(encodeSse(events)), cuts: [9] })),
  ],
  fresh: fc.record({
    format: fc.constantFrom('sse', 'sse', 'protobuf', 'jsonl'),
    body: fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map(textOf),
      anyEvents.map((events) => textOf(encodeSse(events))),
      validStream.map(({ before, after }) => textOf(encodeSse([...before, ...after]))),
    ),
    request: fc.record({ threadId: fc.constantFrom('a', ''), messages: anyMessages.map(asJson) }),
    encoding: fc.constantFrom('', '', 'gzip', 'br', 'zstd'),
    status: fc.constantFrom(200, 200, 404, 500),
    path: fc.constantFrom('/', '/connect', '/suggest'),
    end: fc.constantFrom(...ENDS),
    truncated: fc.boolean(),
    cuts,
  }),
  async run(input) {
    const fields = fieldsOf(input);
    const body = encoded(bytesOf(fields.body), fields.encoding);
    const exchange = await readCapture(captureWith(fields, [body]), BOUNDS);
    const again = await readCapture(captureWith(fields, cut(body, fields.cuts)), BOUNDS);
    assert.deepEqual(again, exchange, 'cut otherwise, it is another exchange');
    if (!exchange) return;
    const characters = assertPlainJson(exchange);
    const bytes = BOUNDS.maxDecodedBytes * (fields.encoding === undefined ? 0 : 1) + JSON.stringify(input).length;
    assertInProportion(characters, bytes, { per: 15, flat: 10_000 });
    assertFindings(exchange.findings, exchange.findingsDropped ?? []);
    assertUnpolluted();
  },
});

/** A capture whose bytes all arrived at one time: how they are cut is the only thing that may differ. */
function captureWith(fields: JsonObject, pieces: readonly Uint8Array[]): Capture {
  const { format, request, encoding, status, path, end, truncated } = fields;
  const made = captureOf({
    pieces,
    contentType: CONTENT_TYPES[oneOf(format, ['sse', 'protobuf', 'jsonl'])],
    contentEncoding: typeof encoding === 'string' ? encoding : '',
    status: integerOf(status ?? 200, 100, 599),
    request,
    overrides: {
      path: typeof path === 'string' ? path : '/',
      transport: oneOf(end, ENDS),
      truncated: truncated === true,
    },
  });
  const { response } = made;
  return response
    ? { ...made, response: { ...response, body: [...response.body].map((arrival) => ({ ...arrival, at: 1500 })) } }
    : made;
}

function encoded(bytes: Buffer, encoding: JsonValue | undefined): Buffer {
  if (encoding === 'gzip') return gzipSync(bytes);
  return encoding === 'br' ? brotliCompressSync(bytes) : bytes;
}
