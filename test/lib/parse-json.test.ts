import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src/lib/json.ts';
import { JSON_PIECE_CHARACTERS, KEPT_LEVELS, parsingJson } from '../../src/lib/parse-json.ts';
import { atOnce } from '../../src/lib/steps.ts';

const nested = (levels: number, inner = ''): string => '['.repeat(levels) + inner + ']'.repeat(levels);

/** The value, also where `toEqual` would not tell `-0`, `__proto__` or the order of members apart. */
const written = (value: unknown) => ({ value, text: JSON.stringify(value) });

const inPieces = (text: string, pieceCharacters: number) => written(atOnce(parsingJson(text, { pieceCharacters })));

function stepsOf(text: string): number {
  const steps = parsingJson(text);
  let count = 1;
  while (!steps.next().done) count += 1;
  return count;
}

describe('JSON that is parsed in steps', () => {
  const piece = fc.integer({ min: 1, max: 20 });

  it('reads as it does at once, wherever it is cut', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), piece, fc.nat(3), (text, pieceCharacters, indent) => {
        const spaced = JSON.stringify(parseJson(text), null, indent);
        expect(inPieces(spaced, pieceCharacters)).toEqual(written(parseJson(spaced)));
      }),
    );
  });

  it('is refused where it is refused at once', () => {
    const tokens = fc.constantFrom(
      ...Array.from('[]{},:"\\10.e-a \n'),
      '"a":',
      '[]',
      '{}',
      'null',
      '"__proto__":',
      '"1":',
    );
    const text = fc.string({ unit: tokens, maxLength: 30 });
    fc.assert(
      fc.property(text, piece, fc.constantFrom('', '[', '{"a":'), (inner, pieceCharacters, opening) => {
        const whole = opening + inner + { '': '', '[': ']', '{"a":': '}' }[opening];
        expect(inPieces(whole, pieceCharacters)).toEqual(written(parseJson(whole)));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['a number that goes on behind a list', '[[].5]'],
    ['a list behind a number', '[1[2]]'],
    ['a comma at the end', '[[1],]'],
    ['a member without a value', '{"a":1,"b":}'],
    ['brackets that do not fit', '[{]}'],
    ['two values', '[1] [2]'],
    ['an end that is missing', '[[1]'],
    ['an end too many', '[1]]'],
  ])('refuses %s', (_what, text) => {
    for (let characters = 1; characters < text.length; characters += 1) {
      expect(atOnce(parsingJson(text, { pieceCharacters: characters }))).toBeUndefined();
    }
  });

  it('finds the end of a long string, whatever is escaped in it', () => {
    const part = fc.constantFrom('x'.repeat(300), '"', '\\', 'x', '\\'.repeat(64), '\n');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), fc.nat(3), (parts, cut) => {
        const text = `[{"${'k'.repeat(cut)}":${JSON.stringify(parts.join(''))}},[${JSON.stringify(parts)}]]`;
        expect(inPieces(text, 1)).toEqual(written(parseJson(text)));
      }),
    );
  });

  it('keeps the first place and the last value of a member that is there twice', () => {
    expect(inPieces('{"a":[1],"b":2,"a":{"c":3}}', 1).text).toBe('{"a":{"c":3},"b":2}');
  });

  it('takes a short text, or a long string, in one step', () => {
    expect(stepsOf('[1,2,3]')).toBe(1);
    expect(stepsOf(JSON.stringify('x'.repeat(4 * JSON_PIECE_CHARACTERS)))).toBe(1);
  });

  it('looks for the end of a very long string in a step of its own', () => {
    expect(stepsOf(JSON.stringify(['x'.repeat(8 * JSON_PIECE_CHARACTERS)]))).toBe(2);
  });

  it.each([
    ['a flat list', `[${'1,'.repeat(500_000)}1]`],
    ['members', JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`member ${at}`, at])))],
    ['levels', nested(500_000)],
    ['lists in a list', `[${'[],'.repeat(300_000)}[]]`],
    ['long strings', JSON.stringify(Array.from({ length: 40 }, () => 'x'.repeat(JSON_PIECE_CHARACTERS + 100)))],
    [
      'members that are long strings',
      JSON.stringify(Object.fromEntries(Array.from({ length: 40 }, (_, at) => [at, 'x'.repeat(20_000)]))),
    ],
    [
      'objects that end where a piece does',
      JSON.stringify(Array.from({ length: 40 }, () => ({ a: 'x'.repeat(20_000) }))),
    ],
  ])('takes a step for each piece of a long text: %s', (_what, text) => {
    const pieces = text.length / JSON_PIECE_CHARACTERS;
    expect(stepsOf(text)).toBeGreaterThan(pieces / 2);
    expect(stepsOf(text)).toBeLessThan(pieces * 2);
  });

  it('reads a value as null that is deeper than anyone looks', () => {
    expect(
      written(atOnce(parsingJson('[[[[1]]],{"a":{"b":{"c":2}}},3]', { pieceCharacters: 1, keptLevels: 2 }))).text,
    ).toBe('[[null],{"a":null},3]');
    const levels = 10 * JSON_PIECE_CHARACTERS;
    expect(atOnce(parsingJson(nested(levels, '1')))).toEqual(JSON.parse(nested(KEPT_LEVELS, 'null')));
  });

  it.each([1, 7, 100])('refuses what has more levels than it was told, in pieces of %i', (pieceCharacters) => {
    const parse = (text: string) => atOnce(parsingJson(text, { pieceCharacters, mostLevels: 3 }));
    const beside = `${'[[1]],'.repeat(30)}[{"a":"[[[[[[["}]`;
    expect(parse(`[${beside}]`)).toEqual(JSON.parse(`[${beside}]`));
    expect(parse(`[${beside},[[[1]]]]`)).toBeUndefined();
    expect(parse(`[[[[1]]],${beside}]`)).toBeUndefined();
  });

  it('refuses what is wrong below those levels all the same', () => {
    const levels = 2 * JSON_PIECE_CHARACTERS;
    expect(atOnce(parsingJson(nested(levels, 'x')))).toBeUndefined();
    expect(atOnce(parsingJson(`${nested(levels, '1').slice(0, -1)}}`))).toBeUndefined();
  });
});
