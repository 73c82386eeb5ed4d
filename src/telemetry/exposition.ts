export const OPENMETRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
export const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Whether an `Accept` header asks for OpenMetrics and does not rank plain text above it. A wildcard, as
 * browsers and curl send it, does not ask.
 */
export function asksForOpenMetrics(accept: string): boolean {
  let openMetrics = 0;
  let text = 0;
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const given = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1');
    const quality = Number.isNaN(given) ? 0 : given;
    if (type === 'application/openmetrics-text') openMetrics = Math.max(openMetrics, quality);
    if (type === 'text/plain') text = Math.max(text, quality);
  }
  return openMetrics > 0 && openMetrics >= text;
}

/**
 * The same metrics in the older text format, for scrapers that do not read OpenMetrics: no end mark, no exemplars, and
 * counters declared under the name that their samples carry.
 */
export function toTextFormat(openMetrics: string): string {
  const counters = new Set([...openMetrics.matchAll(/^# TYPE (\S+) counter$/gm)].map(([, name]) => name));
  return openMetrics
    .split('\n')
    .filter((line) => line !== '# EOF')
    .map((line) => {
      if (!line.startsWith('# ')) return line.replace(/ # \{\w+="[^"]*"\} [\d.e+-]+ [\d.]+$/, '');
      return line.replace(/^(# (?:HELP|TYPE) )(\S+)/, (whole, start: string, name: string) =>
        counters.has(name) ? `${start}${name}_total` : whole,
      );
    })
    .join('\n');
}
