import { describe, expect, it } from 'vitest';
import { createSseDecoder } from '../../src/agui/decode-sse.ts';

const MIB = 1024 * 1024;

/** Pushes `data: xxx…` of `length` characters in pieces of `size` bytes; what was decoded of it. */
function decodeInPieces(length: number, size: number, maxEventLength: number) {
  const lengths: number[] = [];
  let tooLarge = 0;
  const decoder = createSseDecoder({
    maxEventLength,
    onEvent: ({ data }) => lengths.push(data.length),
    onCarriageReturn: () => {},
    onTooLarge: () => {
      tooLarge += 1;
    },
  });
  decoder.push(Buffer.from('data: '));
  const piece = Buffer.alloc(size, 'x');
  for (let pushed = 0; pushed < length; pushed += size) decoder.push(piece);
  decoder.push(Buffer.from('\n\ndata: next\n\n'));
  decoder.end();
  return { lengths, tooLarge };
}

describe('an event that comes in very many pieces', () => {
  // Work that grows with the square of the pieces would not be done within the limit of time for a test, by far.
  it.each([
    ['8 MB in pieces of 1 KiB', 8 * MIB, 1024],
    ['32 MB in pieces of 64 bytes', 32 * MIB, 64],
  ])('is decoded in time that grows with its length: %s', (_name, length, size) => {
    expect(decodeInPieces(length, size, 64 * MIB)).toEqual({ lengths: [length, 4], tooLarge: 0 });
  });

  it('is given up at the bound, once, and nothing behind it is decoded', () => {
    expect(decodeInPieces(8 * MIB, 1024, MIB)).toEqual({ lengths: [], tooLarge: 1 });
  });
});
