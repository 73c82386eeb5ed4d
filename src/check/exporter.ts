import { maskUrls } from '../lib/mask-urls.ts';
import { exportRemedy } from '../telemetry/export-failure.ts';
import { exporterNames, isEndpointSet, tracesEndpoint, valueOf } from '../telemetry/otel-environment.ts';
import type { Environment } from '../telemetry/otel-environment.ts';
import { type CheckResult, sentence } from './check-result.ts';
import { reach } from './reach.ts';
import type { ReachOptions } from './reach.ts';

/** Statuses that mean the request, and not that it is empty. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 404, 405]);

/** Whether spans arrive: an export without a single span goes the way that every other will go. */
export async function checkExporter(env: Environment, options: ReachOptions): Promise<CheckResult> {
  const item = 'exporter';
  if (!exporterNames(env, () => {}).includes('otlp')) {
    return {
      item,
      status: 'skipped',
      detail: 'Export over OTLP is turned off by OTEL_SDK_DISABLED or OTEL_TRACES_EXPORTER.',
    };
  }
  const url = tracesEndpoint(env);
  const shown = maskUrls(url);
  if (!URL.canParse(url)) {
    return { item, status: 'failed', detail: `${shown} is not a URL.`, remedy: 'Correct OTEL_EXPORTER_OTLP_ENDPOINT.' };
  }
  const headers = { 'content-type': 'application/json', ...exporterHeaders(env) };
  const reached = await reach(url, { method: 'POST', headers, body: '{"resourceSpans":[]}' }, options);
  if (reached.kind === 'connected') return { item, status: 'ok', detail: `${shown} accepts connections.` };
  if (reached.kind === 'unreachable') {
    const detail = `${shown} ${reached.why}.`;
    const remedy = `${sentence(exportRemedy(undefined))} Until then spans are lost, and metrics are not.`;
    if (isEndpointSet(env)) return { item, status: 'failed', detail, remedy };
    // Nobody asked for spans; that they are lost is worth a word all the same.
    return {
      item,
      status: 'warning',
      detail: `OTEL_EXPORTER_OTLP_ENDPOINT is not set, and the default ${detail}`,
      remedy,
    };
  }
  const detail = `${shown} answers (status ${reached.status} to an empty export).`;
  const remedy = sentence(exportRemedy(reached.status));
  if (REFUSALS.has(reached.status)) return { item, status: 'failed', detail, remedy };
  if (reached.status >= 500) return { item, status: 'warning', detail, remedy };
  return { item, status: 'ok', detail };
}

/** `name=value` pairs separated by commas, percent-encoded, as the OpenTelemetry specification writes them. */
function exporterHeaders(env: Environment): Record<string, string> {
  const text = valueOf(env, 'OTEL_EXPORTER_OTLP_TRACES_HEADERS') ?? valueOf(env, 'OTEL_EXPORTER_OTLP_HEADERS') ?? '';
  return Object.fromEntries(
    text.split(',').flatMap((pair) => {
      const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
      return name === undefined || value === undefined ? [] : [[name, decode(value)]];
    }),
  );
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
