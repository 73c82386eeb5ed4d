import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChunkScanner } from '../../src/proxy/chunk-scanner.ts';

/** Scans reads as the bypass does: what may be the beginning of a chunk comes again in front of the next read. */
function scanAll(reads: readonly Buffer[]) {
  const scanner = new ChunkScanner();
  let begun = Buffer.alloc(0);
  let passed = '';
  let data = '';
  for (const [index, read] of reads.entries()) {
    const bytes = Buffer.concat([begun, read]);
    const { end, passed: passedBytes, ranges, found } = scanner.scan(bytes);
    passed += bytes.toString('latin1', 0, passedBytes);
    for (let at = 0; at < found; at += 2) data += bytes.toString('latin1', ranges[at], ranges[at + 1]);
    begun = bytes.subarray(passedBytes);
    if (end === 'other' || end === 'broken') {
      const rest = Buffer.concat([begun, ...reads.slice(index + 1)]).toString('latin1');
      return { end, passed, data, rest };
    }
  }
  return { end: 'all', passed, data, rest: begun.toString('latin1') };
}

const cut = (text: string, at: number) => [
  Buffer.from(text.slice(0, at), 'latin1'),
  Buffer.from(text.slice(at), 'latin1'),
];

/** What is found of a body that comes in two reads cut anywhere, whole, or byte by byte. */
function inEveryCut(text: string): ReturnType<typeof scanAll>[] {
  const cuts = Array.from({ length: text.length }, (_, at) => cut(text, at));
  return [...cuts, text.split('').map((byte) => Buffer.from(byte, 'latin1'))].map(scanAll);
}

describe('plain chunks', () => {
  it('pass as they are, up to the last one; their data is found', () => {
    const chunks = '5\r\nhello\r\n0A\r\n0\r\n\r\nworld\r\nfF\r\n'.concat('x'.repeat(255), '\r\n');
    const last = '0\r\n\r\n';
    const data = 'hello0\r\n\r\nworld'.concat('x'.repeat(255));
    for (const found of inEveryCut(chunks + last)) {
      expect(found).toEqual({ end: 'other', passed: chunks, data, rest: last });
    }
  });

  it('pass in part: what has come of one does not wait for the rest', () => {
    expect(scanAll([Buffer.from('a\r\nhel')])).toEqual({ end: 'all', passed: 'a\r\nhel', data: 'hel', rest: '' });
  });
});

describe('a line that may go on', () => {
  it.each(['1', '12345678', '1\r', '0', '00'])('is kept back: %j', (line) => {
    expect(scanAll([Buffer.from(`1\r\nx\r\n${line}`)])).toEqual({
      end: 'all',
      passed: '1\r\nx\r\n',
      data: 'x',
      rest: line,
    });
  });
});

describe('anything else', () => {
  it.each([
    '0\r\n\r\n',
    '000\r\nx-sum: 1\r\n\r\n',
    '5;extension=1\r\nhello\r\n',
    '5 \r\nhello\r\n',
    ' 5\r\nhello\r\n',
    '5\nhello\n',
    '5\rhello',
    '\r\n5\r\nhello\r\n',
    '0x5\r\nhello\r\n',
    '-5\r\nhello\r\n',
    '+5\r\nhello\r\n',
    '123456789\r\n',
    'g\r\n',
  ])('is left from its beginning on: %j', (rest) => {
    for (const found of inEveryCut(`3\r\nabc\r\n${rest}`)) {
      expect(found).toEqual({ end: 'other', passed: '3\r\nabc\r\n', data: 'abc', rest });
    }
  });

  it.each(['3\r\nabcd\r\n', '3\r\nabc\n5', '3\r\nabc\rx', '3\r\nabc5\r\n'])(
    'behind the data of a chunk breaks it: %j',
    (text) => {
      const { end, data } = scanAll([Buffer.from(text)]);
      expect({ end, data }).toEqual({ end: 'broken', data: 'abc' });
    },
  );
});

it('finds the same chunks and the same data in every cut of every body', () => {
  const body = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), { maxLength: 12 });
  fc.assert(
    fc.property(body, fc.array(fc.nat(600), { maxLength: 8 }), (pieces, cuts) => {
      const datas = pieces.map((piece) => Buffer.from(piece));
      const chunks = Buffer.concat(
        datas.flatMap((data) => [Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')]),
      );
      const bytes = Buffer.concat([chunks, Buffer.from('0\r\n\r\n')]);
      const bounds = [0, ...cuts.map((at) => at % bytes.length).toSorted((one, two) => one - two), bytes.length];
      const reads = bounds.slice(1).map((end, index) => bytes.subarray(bounds[index], end));

      expect(scanAll(reads)).toEqual({
        end: 'other',
        passed: chunks.toString('latin1'),
        data: Buffer.concat(datas).toString('latin1'),
        rest: '0\r\n\r\n',
      });
    }),
  );
});

it('keeps its place in one body, whatever is scanned of others meanwhile', () => {
  const reads = ['5\r\nhe', 'llo\r', '\n3\r\nabc', '\r\n0\r\n\r\n'].map((text) => Buffer.from(text));
  const [one, other] = [new ChunkScanner(), new ChunkScanner()];
  const found = reads.map((read) => {
    const { end, passed } = one.scan(read);
    other.scan(read);
    return { end, passed };
  });

  expect(found).toEqual([
    { end: 'all', passed: 5 },
    { end: 'all', passed: 4 },
    { end: 'all', passed: 7 },
    { end: 'other', passed: 2 },
  ]);
});
