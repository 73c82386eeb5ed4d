import { describe, expect, it } from 'vitest';
import { lenientBoolean } from '../../src/metrics/lenient-boolean.ts';

describe('a boolean as Ragas reads it', () => {
  it.each([true, 1, '1', 'on', 't', 'TRUE', 'y', 'Yes'])('%j is true', (given) => {
    expect(lenientBoolean.parse(given)).toBe(true);
  });

  it.each([false, 0, '0', 'OFF', 'f', 'false', 'n', 'No'])('%j is false', (given) => {
    expect(lenientBoolean.parse(given)).toBe(false);
  });

  it.each([2, -1, 0.5, '', ' true', 'maybe', null, [], {}])('%j is neither', (given) => {
    expect(lenientBoolean.safeParse(given).success).toBe(false);
  });
});
