import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createLineDecoder } from '../../src/agui/decode-lines.ts';
import { createSseDecoder } from '../../src/agui/decode-sse.ts';
import { byteByByte } from '../../test/agui/streams.ts';
import { recordedBodies } from '../fixtures.ts';
import { HOSTILE_TEXTS } from '../hostile.ts';
import { bytesOf, cut, fieldsOf, integerOf, oneOf } from '../input.ts';
import { pureTarget } from '../target.ts';

const lines = fc
  .array(
    fc.oneof(
      fc.constantFrom(...HOSTILE_TEXTS, 'data', 'data:x', 'data: y', 'event: e', 'id', 'retry: 5', ': comment'),
      fc.string({ unit: 'binary', maxLength: 10 }).map((text) => Buffer.from(text).toString('latin1')),
      fc.constantFrom('\n', '\r', '\r\n', '\n\n'),
    ),
    { maxLength: 40, size: 'max' },
  )
  .map((parts) => parts.join(''));

/** Text streams into events: however they are cut, the same ones, none over the bound. */
export const sse = pureTarget({
  name: 'sse',
  seeds: () =>
    recordedBodies()
      .filter(({ format }) => format !== 'protobuf')
      .map(({ format, body }) => ({ format, body, cuts: [7, 1, 30], maxEventLength: 1e6 })),
  fresh: fc.record({
    format: fc.constantFrom('sse', 'sse', 'jsonl'),
    body: lines,
    cuts: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 5 }),
    maxEventLength: fc.constantFrom(1e6, 64, 10),
  }),
  run(input) {
    const { format, body, cuts, maxEventLength } = fieldsOf(input);
    const bytes = bytesOf(body);
    const max = integerOf(maxEventLength, 8, 1e6);
    const decode = oneOf(format, ['sse', 'jsonl']) === 'sse' ? decodeSse : decodeLines;

    const whole = decode([bytes], max);
    // An `id` or `event` of a thousand characters may be too much by where it is cut.
    if (/^(?!data)[^\r\n]{1000}/mu.test(bytes.toString('latin1'))) return;
    assert.deepEqual(decode(cut(bytes, cuts), max), whole, 'cut otherwise, it decodes otherwise');
    if (bytes.length < 2000)
      assert.deepEqual(decode(byteByByte(bytes), max), whole, 'byte by byte it decodes otherwise');
    const decoded = whole.reduce((sum, { length }) => sum + length, 0);
    assert.ok(decoded <= bytes.length, `${decoded} characters were decoded from ${bytes.length} bytes`);
  },
});

/** Something that a decoder told, in the order it did. `length`: characters of the stream that it hands on. */
interface Told {
  readonly what: string;
  readonly length: number;
  readonly name?: string;
}

function decodeSse(pieces: readonly Uint8Array[], maxEventLength: number): Told[] {
  const told: Told[] = [];
  const decoder = createSseDecoder({
    maxEventLength,
    onEvent: ({ data, name }) => {
      assert.ok(data.length <= maxEventLength, `an event of ${data.length} characters came through`);
      told.push({ what: `event ${data}`, length: data.length, ...(name !== undefined && { name }) });
    },
    onCarriageReturn: () => told.push({ what: 'carriage return', length: 0 }),
    onTooLarge: () => told.push({ what: 'too large', length: 0 }),
  });
  for (const piece of pieces) decoder.push(piece);
  decoder.end();
  assert.ok(told.filter(({ what }) => what === 'carriage return').length <= 1);
  assert.ok(told.filter(({ what }) => what === 'too large').length <= 1);
  return told;
}

function decodeLines(pieces: readonly Uint8Array[]): Told[] {
  const told: Told[] = [];
  const decoder = createLineDecoder((line) => told.push({ what: line, length: line.length }));
  for (const piece of pieces) decoder.push(piece);
  decoder.end();
  return told;
}
