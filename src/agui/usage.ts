import { isJsonObject, type JsonValue } from '../lib/json.ts';
import type { TokenUsage } from './exchange.ts';
import { readLeniently } from './lenient.ts';

const COUNTS = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'reasoningTokens',
  'cachedInputTokens',
  'cacheWriteInputTokens',
] as const satisfies readonly (keyof TokenUsage)[];

/** Sums the `usage` of a terminal event over its models; null when it states no count. */
export function readUsage(value: JsonValue | undefined): TokenUsage | null {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : isJsonObject(value) ? [value] : [];
  return sumUsage(
    items.map((item) => {
      const fields = isJsonObject(item) ? readLeniently(item, () => {}) : {};
      const stated = COUNTS.map((name) => [name, fields[name]] as const).filter(([, count]) => isCount(count));
      return Object.fromEntries(stated);
    }),
  );
}

/** Adds counts up. A count that nobody states stays absent; null when there is none at all. */
export function sumUsage(usages: readonly (TokenUsage | null)[]): TokenUsage | null {
  const sum: { -readonly [Name in keyof TokenUsage]: TokenUsage[Name] } = {};
  for (const usage of usages) {
    for (const name of COUNTS) {
      const count = usage?.[name];
      if (count !== undefined) sum[name] = (sum[name] ?? 0) + count;
    }
  }
  return Object.keys(sum).length > 0 ? sum : null;
}

const isCount = (value: JsonValue | undefined): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;
