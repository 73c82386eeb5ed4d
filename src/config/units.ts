const DURATION_UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZE_UNITS_BYTES: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1000,
  KB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** Milliseconds of a duration with a unit (`250ms`, `2s`, `15m`, `1.5h`, `1d`); undefined when it is none. */
export function parseDuration(text: string): number | undefined {
  return parseQuantity(text, DURATION_UNITS_MS);
}

/** Bytes of a size with a unit (`512B`, `256KiB`, `1MiB`, `10MB`); undefined when it is none. */
export function parseSize(text: string): number | undefined {
  return parseQuantity(text, SIZE_UNITS_BYTES);
}

function parseQuantity(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const [, amount, unit] = /^(\d+(?:\.\d+)?) ?([A-Za-z]+)$/.exec(text) ?? [];
  if (amount === undefined || unit === undefined || !Object.hasOwn(units, unit)) return undefined;
  return Math.round(Number(amount) * (units[unit] ?? Number.NaN));
}
