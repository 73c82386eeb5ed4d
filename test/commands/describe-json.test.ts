import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeBrokenJson } from '../../src/commands/describe-json.ts';
import { parseJson } from '../../src/lib/json.ts';

describe('describeBrokenJson', () => {
  it.each([
    ['hello', 'line 1, column 1 is no JSON: "hello"'],
    ['{"a": }', 'line 1, column 7 is no JSON: "}"'],
    ['{a: 1}', 'line 1, column 2 is no JSON: "a: 1}"'],
    ['{\r\n "a": 1,\r\n}', 'line 3, column 1 is no JSON: "}"'],
    ['{"a": 1} x', 'line 1, column 10 is no JSON: "x"'],
    ['[1, 01]', 'line 1, column 5 is no JSON: "01]"'],
    ['[1}', 'line 1, column 3 is no JSON: "}"'],
    ['["\\q"]', String.raw`line 1, column 3 is no JSON: "\\q\"]"`],
    ['["a', 'it ends at line 1, column 4, in the midst of its JSON'],
    ['{"a":', 'it ends at line 1, column 6, in the midst of its JSON'],
  ])('says of %j: %s', (text, description) => {
    expect(describeBrokenJson(text)).toBe(description);
  });

  it('is silent about what is JSON, however long its strings, and about nothing else', () => {
    const long = JSON.stringify({ a: 'line\n'.repeat(200_000) });
    expect(describeBrokenJson(long)).toBeUndefined();
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '"a"',
      '"',
      '1',
      '-',
      '.5',
      'true',
      'null',
      ' ',
      '\n',
      '\\',
    );
    const texts = fc.oneof(
      fc.json(),
      fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect(describeBrokenJson(text) === undefined).toBe(parseJson(text) !== undefined);
      }),
      { numRuns: 2000 },
    );
  });
});
