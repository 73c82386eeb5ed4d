import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createFrameDecoder } from '../../src/agui/decode-frames.ts';
import { decodeFrame } from '../../src/agui/decode-protobuf.ts';
import type { JsonValue } from '../../src/lib/json.ts';
import { byteByByte, encodeFrames } from '../../test/agui/streams.ts';
import { validStream } from '../../test/agui/valid-streams.ts';
import { assertPlainJson, assertUnpolluted } from '../checks.ts';
import { recordedBodies, recordedEvents } from '../fixtures.ts';
import { bytesOf, cut, fieldsOf, integerOf, listOf, textOf } from '../input.ts';
import { pureTarget } from '../target.ts';

const cuts = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 5 });

/** The binary transport: frames out of bytes however they are cut, and an event, or none, out of each frame. */
export const protobuf = pureTarget({
  name: 'protobuf',
  seeds: () => [
    ...recordedBodies()
      .filter(({ format }) => format === 'protobuf')
      .map(({ body }) => ({ frames: framesIn(bytesOf(body)), cuts: [3, 50], maxFrameBytes: 1e6 })),
    ...recordedEvents()
      .slice(0, 60)
      .map((events) => ({ frames: encodable(events), cuts: [1, 9], maxFrameBytes: 1e6 })),
  ],
  fresh: fc.oneof(
    fc.record({ body: fc.uint8Array({ maxLength: 80 }).map(textOf), cuts, maxFrameBytes: fc.constantFrom(16, 1e6) }),
    fc.record({ frames: fc.array(fc.uint8Array({ maxLength: 40 }).map(textOf), { maxLength: 5 }), cuts }),
    fc.record({ frames: validStream.map(({ before }) => encodable(before)), cuts }),
  ),
  run(input) {
    const { frames, body, cuts: lengths, maxFrameBytes } = fieldsOf(input);
    const bytes = body === undefined ? framed(listOf(frames).map(bytesOf)) : bytesOf(body);
    const max = integerOf(maxFrameBytes, 8, 1e6);

    const whole = decode([bytes], max);
    assert.deepEqual(decode(cut(bytes, lengths), max), whole, 'cut otherwise, it decodes otherwise');
    if (bytes.length < 500)
      assert.deepEqual(decode(byteByByte(bytes), max), whole, 'byte by byte it decodes otherwise');
    assertUnpolluted();
  },
});

function decode(pieces: readonly Uint8Array[], maxFrameBytes: number): unknown[] {
  const told: unknown[] = [];
  const decoder = createFrameDecoder({
    maxFrameBytes,
    onFrame: (frame) => {
      assert.ok(frame.length <= maxFrameBytes, `a frame of ${frame.length} bytes came through`);
      const decoded = decodeFrame(frame);
      if (decoded.kind === 'event') {
        const characters = assertPlainJson(decoded.event);
        // A varint of two bytes says a member's number, which JSON says by its name; bytes come as base64 or numbers.
        assert.ok(characters <= 2000 + 100 * frame.length, `${characters} characters came of ${frame.length} bytes`);
      }
      told.push(decoded);
    },
    onTooLarge: () => told.push('too large'),
    onBroken: () => told.push('broken'),
  });
  for (const piece of pieces) decoder.push(piece);
  decoder.end();
  return told;
}

const framed = (frames: readonly Uint8Array[]): Buffer =>
  Buffer.concat(
    frames.flatMap((frame) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(frame.length);
      return [length, frame];
    }),
  );

function framesIn(bytes: Buffer): string[] {
  const frames: string[] = [];
  for (let at = 0; at + 4 <= bytes.length;) {
    const length = bytes.readUInt32BE(at);
    frames.push(textOf(bytes.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return frames;
}

/** The frames of those events that the official encoder takes. */
function encodable(events: readonly JsonValue[]): string[] {
  return events.map(fieldsOf).flatMap(({ type, ...fields }) => {
    try {
      return [textOf(encodeFrames([{ ...fields, type: typeof type === 'string' ? type : '' }]).subarray(4))];
    } catch {
      return [];
    }
  });
}
