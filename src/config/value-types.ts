import { z } from 'zod';
import type { JsonObject } from '../lib/json.ts';
import { parseDuration, parseSize } from './units.ts';

/**
 * A kind of value that a setting can have. Values are read from text wherever they come from, so that YAML, the
 * environment and `--set` follow one rule.
 */
export interface ValueType<T> {
  /** Completes the sentence "expected …". */
  readonly expected: string;
  readonly reads: z.ZodType<T, string>;
  /** JSON Schema for editors: what YAML may hold. */
  readonly editor: JsonObject;
}

/** Longer delays overflow Node's timers, which would then fire at once. */
const MAX_TIMER_DAYS = 24;
const DAY_MS = 86_400_000;

export function wholeNumber(minimum: number, maximum: number): ValueType<number> {
  return {
    expected: `a whole number from ${minimum} to ${maximum}`,
    reads: z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(minimum).max(maximum)),
    editor: { type: 'integer', minimum, maximum },
  };
}

/** 0 lets the system choose a free port. */
export const port: ValueType<number> = wholeNumber(0, 65_535);

/** A share or probability. */
export const rate: ValueType<number> = {
  expected: 'a number from 0 to 1',
  reads: z
    .string()
    .regex(/^[\d.]+(e-?\d+)?$/i)
    .transform(Number)
    .pipe(z.number().min(0).max(1)),
  editor: { type: 'number', minimum: 0, maximum: 1 },
};

export const flag: ValueType<boolean> = {
  expected: 'true or false',
  reads: z.enum(['true', 'false']).transform((value) => value === 'true'),
  editor: { type: 'boolean' },
};

export function oneOf<const T extends string>(...values: readonly T[]): ValueType<T> {
  return { expected: `one of ${values.join(', ')}`, reads: z.enum(values), editor: { enum: values } };
}

/** Milliseconds. `zero`: whether `0s` makes sense. `maximumDays`: at most what a Node timer takes. */
export function duration({ zero = false, maximumDays = MAX_TIMER_DAYS } = {}): ValueType<number> {
  const minimumMs = zero ? 0 : 1;
  return {
    expected: `a duration with a unit (ms, s, m, h, d) from ${zero ? '0s' : '1ms'} to ${maximumDays}d, such as 30s or 15m`,
    reads: quantity(parseDuration, minimumMs, maximumDays * DAY_MS),
    editor: { type: 'string', pattern: String.raw`^\d+(\.\d+)? ?(ms|s|m|h|d)$` },
  };
}

/** Bytes. */
export const size: ValueType<number> = {
  expected: 'a size with a unit (B, KiB, MiB, GiB), such as 256KiB',
  reads: quantity(parseSize, 1, Number.MAX_SAFE_INTEGER),
  editor: { type: 'string', pattern: String.raw`^\d+(\.\d+)? ?(B|[kKMG]B|[KMG]iB)$` },
};

/** Bytes from `minimum` to `maximum`, both as a person would write them. */
export function sizeBetween(minimum: string, maximum: string): ValueType<number> {
  return {
    ...size,
    expected: `a size with a unit (B, KiB, MiB) from ${minimum} to ${maximum}`,
    reads: quantity(parseSize, size.reads.parse(minimum), size.reads.parse(maximum)),
  };
}

/** Text that fits a pattern. */
export function text(expected: string, pattern: RegExp): ValueType<string> {
  return { expected, reads: z.string().regex(pattern), editor: { type: 'string', pattern: pattern.source } };
}

/** An address that paths are appended to. */
export const httpUrl: ValueType<string> = {
  expected: 'an http or https URL without user name, password, query or fragment, such as http://localhost:8000',
  reads: z.string().refine(isPlainHttpUrl),
  editor: { type: 'string', pattern: '^https?://[^?#@]+$' },
};

/** Where an agent is: beside an http or https URL, a unix socket. */
export const agentUrl: ValueType<string> = {
  expected: `${httpUrl.expected}, or unix: and the path of a socket, such as unix:/run/agent.sock`,
  reads: z.string().refine((value) => isPlainHttpUrl(value) || isSocketUrl(value)),
  editor: { type: 'string', pattern: String.raw`^(https?://[^?#@]+|unix:/[^?#\s]+)$` },
};

/** What a person would write in YAML for a value given as text: numbers and truth values without quotes. */
export function plainValue(written: string, value: unknown): string | number | boolean {
  return (typeof value === 'number' || typeof value === 'boolean') && String(value) === written ? value : written;
}

function isPlainHttpUrl(value: string): boolean {
  if (!/^https?:\/\/[^/]/i.test(value) || /[\s?#\\]/.test(value)) return false;
  const url = URL.parse(value);
  return url !== null && url.hostname !== '' && url.port !== '0' && url.username === '' && url.password === '';
}

function isSocketUrl(value: string): boolean {
  return /^unix:\/(?!\/)[^\s?#]+$/.test(value) && URL.canParse(value) && canBeDecoded(value);
}

function canBeDecoded(value: string): boolean {
  try {
    decodeURIComponent(value);
    return true;
  } catch {
    return false;
  }
}

function quantity(
  parse: (text: string) => number | undefined,
  minimum: number,
  maximum: number,
): z.ZodType<number, string> {
  return z
    .string()
    .transform((value) => parse(value) ?? Number.NaN)
    .pipe(z.number().min(minimum).max(maximum));
}
