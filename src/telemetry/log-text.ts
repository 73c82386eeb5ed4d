import pino from 'pino';
import { truncate } from './span-context.ts';

/** Longest text in a line. An error may quote what it failed on, be it a megabyte. */
const TEXT_LIMIT = 4096;
/** Members within members that are looked at for long texts; a line of ours has two. */
const DEPTH = 5;

/**
 * What JSON lets stand and readers of a log may stumble over: a terminal over C1 controls, whoever splits at each line end
 * of Unicode over those, a person over text that runs backwards. In a line of JSON they can only be within a string.
 */
const UNPRINTABLE = /[\u007F-\u009F\u2028\u2029\p{Bidi_Control}]/gu;

/** Options of pino by which every line is one line, and no longer than its members need, whatever their texts hold. */
export const CONFINED = {
  formatters: { log: (members: Record<string, unknown>) => shortenedMembers(members, DEPTH) },
  serializers: { err: serializeError, error: serializeError },
  hooks: { streamWrite: escapeUnprintable },
};

function serializeError(error: Error): unknown {
  return shortened(pino.stdSerializers.err(error), DEPTH);
}

function shortened(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return truncate(value, TEXT_LIMIT);
  if (depth === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => shortened(item, depth - 1));
  return isRecord(value) ? shortenedMembers(value, depth) : value;
}

function shortenedMembers(members: Readonly<Record<string, unknown>>, depth: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, shortened(value, depth - 1)]));
}

/** Plain, or an error as pino serializes it. Others know better what they are in JSON. */
function isRecord(value: object): value is Record<string, unknown> {
  return !(value instanceof Error) && !('toJSON' in value);
}

function escapeUnprintable(line: string): string {
  return line.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
