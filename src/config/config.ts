import type { AgentReading } from './agents.ts';
import type { Readings } from './read-setting.ts';
import type { MetricParams } from '../metrics/metric.ts';
import type { Values } from './schema.ts';

/** A configuration that holds together. Durations are milliseconds, sizes bytes. */
export interface Config {
  /** At least one, unless only a judge was asked for; names and matches are unique. */
  readonly agents: readonly AgentConfig[];
  /** `socket`: path of a unix socket that stands in for the address. */
  readonly listen: Address & { readonly socket?: string; readonly maxConnections: number };
  /** `token` has no use yet. */
  readonly admin: Address & { readonly token?: string };
  readonly judge: JudgeConfig;
  readonly sampling: { readonly rate: number };
  readonly closing: { readonly idleMs: number; readonly waitingMs: number; readonly openRunMs: number };
  /** `tenantHeader` is in lower case. */
  readonly conversation: { readonly tenantHeader?: string };
  readonly store: { readonly kind: 'memory' };
  readonly tap: {
    /** From 0 to 1. */
    readonly share: number;
    readonly maxEventBytes: number;
    readonly maxExchangeBytes: number;
    readonly maxTotalBytes: number;
    /** 0: never too high. */
    readonly maxLoopDelayMs: number;
    /** 0: each copy is read at once. */
    readonly readDelayMs: number;
  };
  readonly proxy: {
    /** Absent: the agent may take as long as it likes. */
    readonly firstByteTimeoutMs?: number;
    readonly connectTimeoutMs: number;
    readonly passThrough: boolean;
    readonly replay: boolean;
    readonly halfClose: Values['proxy.half_close'];
    readonly maxHeaderBytes: number;
    readonly forwardedHeaders: Values['proxy.forwarded_headers'];
    readonly hostHeader: Values['proxy.host_header'];
  };
  readonly telemetry: {
    readonly trustIncomingTrace: boolean;
    readonly toolSpans: Values['telemetry.tool_spans'];
    readonly evalParentMaxAgeMs: number;
    readonly evalTraceWhenUnsampled: Values['telemetry.eval_trace_when_unsampled'];
    readonly providerName: string;
    /** Whether the judge's reasons, and the causes of its failures, go out on spans. */
    readonly explanations: boolean;
  };
  readonly shutdown: {
    /** At most half of `graceMs`: what is taken last needs time to end. */
    readonly delayMs: number;
    readonly graceMs: number;
    readonly openConversations: Values['shutdown.open_conversations'];
  };
  readonly log: { readonly level: Values['log.level'] };
}

interface Address {
  readonly port: number;
  readonly host: string;
}

interface AgentConfig {
  readonly name: string;
  /** An http or https URL without credentials, query or fragment. */
  readonly url: string;
  /** Path prefix that begins with `/`; it ends with one only when it is `/`. */
  readonly match: string;
  readonly referenceTopics: readonly string[];
  /** Tools whose calls are counted by name. */
  readonly tools: readonly string[];
  /** What this agent's conversations are judged by. */
  readonly metrics: readonly MetricConfig[];
}

export interface MetricConfig {
  readonly name: string;
  /** Accepted by the metric's own schema, defaults filled in. */
  readonly params: MetricParams;
}

/** `off`: neither a key nor an endpoint was given, and nothing is judged. */
export type JudgeConfig =
  | { readonly kind: 'off' }
  | {
      readonly kind: 'on';
      readonly model: string;
      readonly baseUrl: string;
      readonly apiKey?: string;
      /** Deadline of one request. */
      readonly timeoutMs: number;
      /** Further attempts after the first. */
      readonly retries: number;
      readonly concurrency: number;
    };

const OPENAI_BASE_URL = 'https://api.openai.com/v1';

/** Puts settings, all of them valid, in the shape that the parts of the sidecar take. */
export function assemble(
  settings: Readings,
  agents: readonly AgentReading[],
  metrics: readonly (readonly MetricConfig[])[],
): Config {
  const token = settings['admin.token'].value;
  const socket = settings['listen.socket'].value;
  const tenantHeader = settings['conversation.tenant_header'].value?.toLowerCase();
  const firstByteTimeoutMs = settings['proxy.first_byte_timeout'].value;
  const need = <K extends keyof Values>(key: K) => valid(settings[key].value);
  return {
    agents: agents.map(({ name, url, match, topics, tools }, index) => ({
      name: valid(name.value),
      url: valid(url.value),
      match: valid(match.value),
      referenceTopics: topics.value,
      tools: tools.value,
      metrics: metrics[index] ?? [],
    })),
    listen: {
      port: need('listen.port'),
      host: need('listen.host'),
      ...(socket !== undefined && { socket }),
      maxConnections: need('listen.max_connections'),
    },
    admin: { port: need('admin.port'), host: need('admin.host'), ...(token !== undefined && { token }) },
    judge: assembleJudge(settings),
    sampling: { rate: need('sampling.rate') },
    closing: {
      idleMs: need('closing.idle'),
      waitingMs: need('closing.waiting'),
      openRunMs: need('closing.open_run'),
    },
    conversation: { ...(tenantHeader !== undefined && { tenantHeader }) },
    store: need('store'),
    tap: {
      share: need('tap.share'),
      maxEventBytes: need('tap.max_event'),
      maxExchangeBytes: need('tap.max_exchange'),
      maxTotalBytes: need('tap.max_total'),
      maxLoopDelayMs: need('tap.max_loop_delay'),
      // A thread counts as running until its last run was read.
      readDelayMs: Math.min(need('tap.read_delay'), need('closing.idle') / 2, need('closing.open_run') / 2),
    },
    proxy: {
      connectTimeoutMs: need('proxy.connect_timeout'),
      passThrough: need('proxy.pass_through'),
      replay: need('proxy.replay'),
      halfClose: need('proxy.half_close'),
      maxHeaderBytes: need('proxy.max_header_size'),
      forwardedHeaders: need('proxy.forwarded_headers'),
      hostHeader: need('proxy.host_header'),
      ...(firstByteTimeoutMs !== undefined && { firstByteTimeoutMs }),
    },
    telemetry: {
      trustIncomingTrace: need('telemetry.trust_incoming_trace'),
      toolSpans: need('telemetry.tool_spans'),
      evalParentMaxAgeMs: need('telemetry.eval_parent_max_age'),
      evalTraceWhenUnsampled: need('telemetry.eval_trace_when_unsampled'),
      providerName: need('telemetry.provider_name'),
      explanations: need('telemetry.explanation') === 'on',
    },
    shutdown: {
      delayMs: Math.min(need('shutdown.delay'), need('shutdown.grace') / 2),
      graceMs: need('shutdown.grace'),
      openConversations: need('shutdown.open_conversations'),
    },
    log: { level: need('log.level') },
  };
}

function assembleJudge(settings: Readings): JudgeConfig {
  const apiKey = settings['judge.api_key'].value;
  const baseUrl = settings['judge.base_url'].value;
  if (apiKey === undefined && baseUrl === undefined) return { kind: 'off' };
  return {
    kind: 'on',
    model: valid(settings['judge.model'].value),
    baseUrl: baseUrl ?? OPENAI_BASE_URL,
    ...(apiKey !== undefined && { apiKey }),
    timeoutMs: valid(settings['judge.timeout'].value),
    retries: valid(settings['judge.retries'].value),
    concurrency: valid(settings['judge.concurrency'].value),
  };
}

function valid<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('A setting without a value was not reported as a problem.');
  return value;
}
