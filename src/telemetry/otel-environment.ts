import { DiagLogLevel } from '@opentelemetry/api';

/*
 * The standard OTEL_* variables that the SDK leaves to whoever configures it in code, with the names, meanings and
 * defaults of the OpenTelemetry specification. All others the SDK reads itself.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

/** Told of values that make no sense, and what is used in their place. */
export type OnProblem = (problem: string) => void;

export type ExporterName = 'otlp' | 'console';

/** All that makes no sense in the variables that are read here, and what is used in its place. */
export function environmentProblems(env: Environment): readonly string[] {
  const problems: string[] = [];
  const note: OnProblem = (problem) => void problems.push(problem);
  if (exporterNames(env, note).length === 0) return problems;
  if (valueOf(env, 'OTEL_CONFIG_FILE') !== undefined) {
    return ['OTEL_CONFIG_FILE decides alone; spans are not counted, none forced'];
  }
  batchLimits(env, note);
  samplerChoice(env, note);
  return problems;
}

const unnoticed: OnProblem = () => {};

/** Where spans go; nowhere when tracing is turned off. */
export function exporterNames(env: Environment, onProblem: OnProblem = unnoticed): readonly ExporterName[] {
  if (valueOf(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return [];
  const given = valueOf(env, 'OTEL_TRACES_EXPORTER');
  const names = given?.split(',').map((name) => name.trim()) ?? ['otlp'];
  if (names.includes('none')) return [];
  const known = [...new Set(names)].filter(isExporterName);
  for (const name of names.filter((each) => !isExporterName(each))) {
    const effect = known.length > 0 ? `spans go to ${known.join(' and ')} alone` : 'no spans are made';
    onProblem(`OTEL_TRACES_EXPORTER: "${name}" is not known; expected otlp, console or none; ${effect}`);
  }
  if (names.includes('otlp')) noteProtocol(env, onProblem);
  return known;
}

function noteProtocol(env: Environment, onProblem: OnProblem): void {
  const protocol = valueOf(env, 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? valueOf(env, 'OTEL_EXPORTER_OTLP_PROTOCOL');
  if (protocol !== undefined && protocol !== 'http/json') {
    onProblem(`the OTLP protocol "${protocol}" is not available; spans are sent as http/json`);
  }
}

const DEFAULT_ENDPOINT = 'http://localhost:4318';
const TRACES_PATH = 'v1/traces';

/** Where spans are sent by OTLP: the address for traces as it stands, or the one for all signals and a path. */
export function tracesEndpoint(env: Environment): string {
  const base = valueOf(env, 'OTEL_EXPORTER_OTLP_ENDPOINT') ?? DEFAULT_ENDPOINT;
  return valueOf(env, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? `${base.replace(/\/$/, '')}/${TRACES_PATH}`;
}

/** The variable that says where spans are sent, or would if it were set. */
export type EndpointVariable = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' | 'OTEL_EXPORTER_OTLP_ENDPOINT';

export function endpointVariable(env: Environment): EndpointVariable {
  const own = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  return valueOf(env, own) === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : own;
}

function isExporterName(name: string): name is ExporterName {
  return name === 'otlp' || name === 'console';
}

export interface SamplerChoice {
  readonly root: 'always_on' | 'always_off' | 'traceidratio';
  readonly parentBased: boolean;
  /** In [0, 1]; 1 unless `root` is `traceidratio`. */
  readonly ratio: number;
}

export function samplerChoice(env: Environment, onProblem: OnProblem = unnoticed): SamplerChoice {
  const name = valueOf(env, 'OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on';
  const root = name.replace(/^parentbased_/, '');
  const parentBased = root !== name;
  if (root === 'always_on' || root === 'always_off') return { root, parentBased, ratio: 1 };
  if (root !== 'traceidratio') {
    onProblem(`OTEL_TRACES_SAMPLER: "${name}" is not known; using parentbased_always_on`);
    return { root: 'always_on', parentBased: true, ratio: 1 };
  }
  const text = valueOf(env, 'OTEL_TRACES_SAMPLER_ARG') ?? '1';
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return { root, parentBased, ratio };
  onProblem(`OTEL_TRACES_SAMPLER_ARG: "${text}" is not a number from 0 to 1; using 1`);
  return { root, parentBased, ratio: 1 };
}

export interface BatchLimits {
  readonly maxQueueSize: number;
  readonly maxExportBatchSize: number;
  readonly scheduledDelayMillis: number;
  readonly exportTimeoutMillis: number;
}

export function batchLimits(env: Environment, onProblem: OnProblem = unnoticed): BatchLimits {
  const count = (name: string, fallback: number) => {
    const text = valueOf(env, name);
    if (text === undefined) return fallback;
    if (Number.isSafeInteger(Number(text)) && Number(text) > 0) return Number(text);
    onProblem(`${name}: "${text}" is not a whole number above 0; using ${fallback}`);
    return fallback;
  };
  const maxQueueSize = count('OTEL_BSP_MAX_QUEUE_SIZE', 2048);
  return {
    maxQueueSize,
    maxExportBatchSize: Math.min(maxQueueSize, count('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512)),
    scheduledDelayMillis: count('OTEL_BSP_SCHEDULE_DELAY', 5_000),
    exportTimeoutMillis: count('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
  };
}

/** Files with which a connection to the collector is secured: whom it trusts, and who it says to be. */
export function certificateFiles(env: Environment): Readonly<Record<'ca' | 'cert' | 'key', string | undefined>> {
  const file = (name: string) =>
    valueOf(env, `OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? valueOf(env, `OTEL_EXPORTER_OTLP_${name}`);
  return { ca: file('CERTIFICATE'), cert: file('CLIENT_CERTIFICATE'), key: file('CLIENT_KEY') };
}

/** Whether a limit on the length of attribute values was set; the SDK reads the value itself. */
export function limitsAttributeLength(env: Environment): boolean {
  const names = ['OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT', 'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'];
  return names.some((name) => valueOf(env, name) !== undefined);
}

/** The service's name; undefined when OTEL_RESOURCE_ATTRIBUTES, which the SDK reads itself, gives one and nothing else does. */
export function serviceName(env: Environment, fallback: string): string | undefined {
  const named = /(?:^|,)\s*service\.name\s*=/.test(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '');
  return valueOf(env, 'OTEL_SERVICE_NAME') ?? (named ? undefined : fallback);
}

/** How much the SDK says of itself. Default: warnings and errors. */
export function diagLevel(env: Environment): DiagLogLevel {
  const levels = new Map([
    ['none', DiagLogLevel.NONE],
    ['error', DiagLogLevel.ERROR],
    ['warn', DiagLogLevel.WARN],
    ['info', DiagLogLevel.INFO],
    ['debug', DiagLogLevel.DEBUG],
    ['verbose', DiagLogLevel.VERBOSE],
    ['all', DiagLogLevel.ALL],
  ]);
  return levels.get(valueOf(env, 'OTEL_LOG_LEVEL')?.toLowerCase() ?? '') ?? DiagLogLevel.WARN;
}

/** An empty variable counts as unset, as the OpenTelemetry specification demands. */
export function valueOf(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}
