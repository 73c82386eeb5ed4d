import { maskUrls } from '../lib/mask-urls.ts';
import { exporterNames, valueOf } from '../telemetry/otel-environment.ts';
import type { Environment } from '../telemetry/otel-environment.ts';
import type { CheckResult } from './check-result.ts';
import { reach } from './reach.ts';
import type { ReachOptions } from './reach.ts';

const DEFAULT_ENDPOINT = 'http://localhost:4318';
const TRACES_PATH = 'v1/traces';

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
  const traces = valueOf(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const base = valueOf(env, 'OTEL_EXPORTER_OTLP_ENDPOINT');
  const url = traces ?? `${(base ?? DEFAULT_ENDPOINT).replace(/\/$/, '')}/${TRACES_PATH}`;
  const shown = maskUrls(url);
  if (!URL.canParse(url)) {
    return { item, status: 'failed', detail: `${shown} is not a URL.`, remedy: 'Correct OTEL_EXPORTER_OTLP_ENDPOINT.' };
  }
  const headers = { 'content-type': 'application/json', ...exporterHeaders(env) };
  const reached = await reach(url, { method: 'POST', headers, body: '{"resourceSpans":[]}' }, options);
  if (reached.kind === 'connected') return { item, status: 'ok', detail: `${shown} accepts connections.` };
  if (reached.kind === 'unreachable') {
    const detail = `${shown} ${reached.why}.`;
    const remedy = 'Start a collector or correct the endpoint; until then spans are lost, and metrics are not.';
    if (traces !== undefined || base !== undefined) return { item, status: 'failed', detail, remedy };
    return {
      item,
      status: 'skipped',
      detail: `OTEL_EXPORTER_OTLP_ENDPOINT is not set, and the default ${detail}`,
      remedy,
    };
  }
  const detail = `${shown} answers (status ${reached.status} to an empty export).`;
  if (reached.status === 401 || reached.status === 403) {
    return {
      item,
      status: 'failed',
      detail,
      remedy: 'Correct OTEL_EXPORTER_OTLP_HEADERS, which carries the credentials.',
    };
  }
  if (reached.status === 404 || reached.status === 405) {
    return { item, status: 'failed', detail, remedy: `OTEL_EXPORTER_OTLP_ENDPOINT stands without /${TRACES_PATH}.` };
  }
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
