/** Fields of one connection (RFC 9110 §7.6.1), written down apart from the product's own list, which is under test. */
const OF_ONE_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** Names and values in turn, without the fields of one connection and those that `Connection` names. */
export function endToEnd(raw: readonly string[], more: ReadonlySet<string> = new Set()): string[] {
  const fields = Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] ?? '', raw[2 * at + 1] ?? ''] as const);
  const named = new Set(
    fields
      .filter(([name]) => name.toLowerCase() === 'connection')
      .flatMap(([, value]) => value.split(',').map((option) => option.trim().toLowerCase())),
  );
  for (const name of ['host', 'content-length']) named.delete(name);
  return fields
    .filter(([name]) => {
      const lower = name.toLowerCase();
      return !OF_ONE_CONNECTION.has(lower) && !lower.startsWith('proxy-') && !named.has(lower) && !more.has(lower);
    })
    .flat();
}
