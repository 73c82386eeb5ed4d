import { isJsonObject, type JsonValue } from '../lib/json.ts';
import type { TokenUsage } from './exchange.ts';
import { type NoteLeniency, readLeniently } from './lenient.ts';

const COUNTS = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'reasoningTokens',
  'cachedInputTokens',
  'cacheWriteInputTokens',
] as const satisfies readonly (keyof TokenUsage)[];

type Counts = { -readonly [Name in keyof TokenUsage]: TokenUsage[Name] };

/** Sums the `usage` of a terminal event over its models; null when it states no count. */
export function readUsage(value: JsonValue | undefined, note: NoteLeniency): TokenUsage | null {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [value ?? null];
  const sum: Counts = {};
  for (const item of items) if (isJsonObject(item)) addCounts(sum, readLeniently(item, note));
  return statedOf(sum);
}

/** Adds counts up. A count that nobody states stays absent; null when there is none at all. */
export function sumUsage(usages: readonly (TokenUsage | null)[]): TokenUsage | null {
  const sum: Counts = {};
  for (const usage of usages) if (usage) addCounts(sum, usage);
  return statedOf(sum);
}

function addCounts(sum: Counts, stated: Readonly<Record<string, JsonValue>> | TokenUsage): void {
  const counts: { readonly [Name in keyof TokenUsage]?: JsonValue } = stated;
  for (const name of COUNTS) {
    const count = counts[name];
    if (isCount(count)) sum[name] = (sum[name] ?? 0) + count;
  }
}

const statedOf = (sum: Counts): TokenUsage | null => (Object.keys(sum).length > 0 ? sum : null);

const isCount = (value: JsonValue | undefined): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;
