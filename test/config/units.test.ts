import { describe, expect, it } from 'vitest';
import { parseDuration, parseSize } from '../../src/config/units.ts';

describe('durations', () => {
  it.each([
    ['250ms', 250],
    ['2s', 2000],
    ['15m', 900_000],
    ['1.5h', 5_400_000],
    ['1d', 86_400_000],
    ['10 s', 10_000],
    ['0s', 0],
  ])('%s is %i ms', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(['15', '', 's', '-1s', '1e3s', '1 week', '1M', '1h30m', 'constructor', '1constructor'])(
    '"%s" is none',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});

describe('sizes', () => {
  it.each([
    ['512B', 512],
    ['256KiB', 262_144],
    ['1MiB', 1_048_576],
    ['1.5GiB', 1_610_612_736],
    ['10kB', 10_000],
    ['10MB', 10_000_000],
  ])('%s is %i bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(['1024', '1K', '1mib', '-1B', 'toString'])('"%s" is none', (text) => {
    expect(parseSize(text)).toBeUndefined();
  });
});
