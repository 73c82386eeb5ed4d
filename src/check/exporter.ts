import { maskUrls } from '../lib/mask-urls.ts';
import { exportRemedy } from '../telemetry/export-failure.ts';
import {
  endpointVariable,
  environmentProblems,
  exporterNames,
  tracesEndpoint,
  valueOf,
} from '../telemetry/otel-environment.ts';
import type { Environment } from '../telemetry/otel-environment.ts';
import { type CheckResult, sentence } from './check-result.ts';
import { reach } from './reach.ts';
import type { ReachOptions } from './reach.ts';

/** What the sidecar would say of the OTEL_* variables when it starts; nothing when it would say nothing. */
export const checkTracing = (env: Environment): readonly CheckResult[] =>
  environmentProblems(env).map((problem) => ({ item: 'tracing', status: 'warning', detail: sentence(problem) }));

/** Whether spans arrive: an export without a single span goes the way that every other will go. */
export async function checkExporter(env: Environment, options: ReachOptions): Promise<CheckResult> {
  const item = 'exporter';
  if (!exporterNames(env).includes('otlp')) {
    return {
      item,
      status: 'skipped',
      detail: 'Nothing is exported over OTLP: see OTEL_SDK_DISABLED and OTEL_TRACES_EXPORTER.',
    };
  }
  const url = tracesEndpoint(env);
  const variable = endpointVariable(env);
  const shown = maskUrls(url);
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    const detail = `${shown} is no URL that begins with http:// or https://.`;
    return { item, status: 'failed', detail, remedy: `Correct ${variable}.` };
  }
  const { address, credentials } = withoutCredentials(url);
  const headers = { 'content-type': 'application/json', ...credentials, ...exporterHeaders(env) };
  const reached = await reach(address, { method: 'POST', headers, body: '{"resourceSpans":[]}' }, options);
  if (reached.kind === 'connected') return { item, status: 'ok', detail: `${shown} accepts connections.` };
  if (reached.kind === 'unreachable') {
    const detail = `${shown} ${reached.why}.`;
    const remedy = `${sentence(exportRemedy('ECONNREFUSED', variable))} Until then spans are lost, and metrics are not.`;
    if (valueOf(env, variable) !== undefined) return { item, status: 'failed', detail, remedy };
    // Nobody asked for spans; that they are lost is worth a word all the same.
    return {
      item,
      status: 'warning',
      detail: `OTEL_EXPORTER_OTLP_ENDPOINT is not set, and the default ${detail}`,
      remedy,
    };
  }
  const detail = `${shown} answers (status ${reached.status} to an empty export).`;
  if (reached.status < 300) return { item, status: 'ok', detail };
  const isPassing = reached.status >= 500 || reached.status === 429;
  const remedy = sentence(exportRemedy(reached.status, variable));
  return { item, status: isPassing ? 'warning' : 'failed', detail, remedy };
}

/** The exporter sends what stands in front of the host as Basic credentials; `fetch` takes no such URL. */
function withoutCredentials(url: string): { address: string; credentials: Record<string, string> } {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return { address: url, credentials: {} };
  const pair = `${decode(username)}:${decode(password)}`;
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return { address: bare.href, credentials: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
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
