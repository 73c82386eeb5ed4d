import assert from 'node:assert/strict';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { decodeContent, SLICE_BYTES } from '../../src/agui/decode-content.ts';
import type { JsonValue } from '../../src/lib/json.ts';
import { recordedBodies } from '../fixtures.ts';
import { bytesOf, cut, fieldsOf, integerOf, listOf, oneOf, textOf } from '../input.ts';
import { pureTarget } from '../target.ts';

const ENCODERS = {
  none: (bytes: Uint8Array) => Buffer.from(bytes),
  gzip: (bytes: Uint8Array) => gzipSync(bytes),
  deflate: (bytes: Uint8Array) => deflateSync(bytes),
  'deflate raw': (bytes: Uint8Array) => deflateRawSync(bytes),
  br: (bytes: Uint8Array) => brotliCompressSync(bytes),
  zstd: (bytes: Uint8Array) => zstdCompressSync(bytes),
} as const;
const NAMES = ['none', 'gzip', 'deflate', 'deflate raw', 'br', 'zstd'] as const;

/** Longest body before it is encoded. */
const LONGEST = 600_000;

/** Decoded bytes that are taken at most. */
const ROOM = 256 * 1024;

/** Contents under a coding, whole or damaged: what was encoded comes back, damage is told, and a bomb stops. */
export const compression = pureTarget({
  name: 'compression',
  seeds: () => [
    ...NAMES.flatMap((name) => ['tide '.repeat(2000), recordedBodies()[0]?.body ?? ''].map((body) => seed(name, body))),
    ...NAMES.map((name) => ({ ...seed(name, 'x'), times: 500_000 })),
    { ...seed('gzip', 'high water'), encoding: 'gzip, br' },
  ],
  fresh: fc.record({
    body: fc.uint8Array({ maxLength: 300 }).map(textOf),
    times: fc.constantFrom(1, 1, 50),
    encode: fc.constantFrom(...NAMES),
    encoding: fc.constantFrom(
      '',
      'gzip',
      'x-gzip',
      'deflate',
      'br',
      'zstd',
      'gzip, br',
      'identity',
      'compress',
      ' GZIP ,,',
    ),
    damage: fc.array(fc.tuple(fc.nat(1000), fc.integer({ min: -255, max: 255 })), { maxLength: 2 }),
    cuts: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 5 }),
  }),
  async run(input) {
    const { body, times, encode, encoding, damage, cuts } = fieldsOf(input);
    const once = bytesOf(body);
    const most = Math.max(1, Math.floor(LONGEST / (once.length + 1)));
    const plain = Buffer.concat(Array.from({ length: integerOf(times, 1, most) }, () => once));
    const name = oneOf(encode, NAMES);
    const header = typeof encoding === 'string' ? encoding : codingOf(name);
    const encoded = damaged(ENCODERS[name](plain), damage);

    const whole = await decode(header, [encoded]);
    const again = await decode(header, cut(encoded, cuts));
    assert.equal(again.end, whole.end, 'cut otherwise, it ends otherwise');
    // How much comes before the damage is noticed is the decoder's affair.
    const common = whole.end === 'undecodable' ? Math.min(whole.bytes.length, again.bytes.length) : undefined;
    const [one, other] = [whole, again].map(({ bytes }) => bytes.subarray(0, common));
    assert.ok(one && other?.equals(one), 'cut otherwise, it decodes otherwise');
    if (listOf(damage).length > 0 || header !== codingOf(name)) return;
    assert.equal(whole.end, plain.length > ROOM ? 'stopped' : 'complete');
    assert.ok(plain.subarray(0, ROOM).equals(whole.bytes.subarray(0, ROOM)), 'another body came back');
  },
});

const codingOf = (name: (typeof NAMES)[number]): string => (name === 'none' ? '' : (name.split(' ')[0] ?? ''));

const seed = (name: (typeof NAMES)[number], body: string) => ({
  body,
  times: 1,
  encode: name,
  encoding: codingOf(name),
  damage: [],
  cuts: [100, 1, 7],
});

async function decode(encoding: string, pieces: readonly Uint8Array[]) {
  const taken: Uint8Array[] = [];
  let room = ROOM;
  let stopped = false;
  const end = await decodeContent(
    encoding,
    pieces.map((bytes) => ({ bytes })),
    ({ bytes }) => {
      assert.ok(!stopped, 'more came after it had been told to stop');
      assert.ok(encoding === '' || bytes.length <= Math.max(SLICE_BYTES, ...pieces.map(({ length }) => length)));
      // Decoders lend their bytes.
      taken.push(Uint8Array.from(bytes));
      room -= bytes.length;
      stopped = room < 0;
      return !stopped;
    },
  );
  assert.equal(end === 'stopped', stopped || end === 'stopped');
  return { end, bytes: Buffer.concat(taken).subarray(0, ROOM) };
}

/** Adds to bytes at places; a place beyond the end cuts the last bytes off. */
function damaged(bytes: Buffer, damage: JsonValue | undefined): Buffer {
  const result = Buffer.from(bytes);
  let length = result.length;
  for (const pair of listOf(damage)) {
    const [place, difference] = listOf(pair);
    const at = integerOf(place, 0, LONGEST);
    const change = integerOf(difference, -255, 255);
    if (at < result.length) result[at] = (result[at] ?? 0) + change;
    else length = Math.max(0, length - Math.abs(change));
  }
  return result.subarray(0, length);
}
