import { EXCHANGE_KINDS, type Exchange, type ObservedToolCall } from '../agui/exchange.ts';
import { FINDING_CODES, type FindingCode } from '../agui/findings.ts';
import type { ProxiedRequest, RequestEnd } from '../proxy/observer.ts';
import { type Refusal, REFUSALS } from '../proxy/refusals.ts';
import { boundedLabel, combinations, type Instruments } from './instruments.ts';
import { isCutShort } from './run-failure.ts';
import { METRIC } from './semconv.ts';

/** Durations in seconds, as the HTTP conventions cut them. */
const HTTP_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** As the GenAI conventions cut the time to the first token. */
const FIRST_TOKEN_BUCKETS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Runs stream for minutes. */
const STREAM_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** The sidecar's own share of a request is well below a millisecond. */
const OVERHEAD_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1];

const REQUEST_OUTCOMES = ['completed', 'run_error', 'upstream_error', 'client_disconnect'] as const;
type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];

const TOOL_CALL_STATES: readonly ObservedToolCall['state'][] = ['open', 'complete', 'answered'];

const PARSE_ERRORS: readonly FindingCode[] = ['malformed_json', 'malformed_event', 'undecodable'];

export interface ProxyMetricsOptions {
  readonly agents: readonly {
    readonly name: string;
    /** Tools that are counted by name; calls of all others are counted together as `other`. */
    readonly tools: readonly string[];
  }[];
  /** The types of event that are counted by name. */
  readonly eventTypes: readonly string[];
}

export interface ProxyMetrics {
  /** A connection or a request was turned away before any agent was asked. */
  recordRefusal(refusal: Refusal): void;
  /** A request was routed to an agent. */
  requestStarted(request: ProxiedRequest): void;
  /** The same request is no longer under way. */
  requestClosed(request: ProxiedRequest): void;
  /** The same request ended. `exchange` is what was read from its stream, when it was a run. */
  requestEnded(request: ProxiedRequest, end: RequestEnd, exchange?: Exchange): void;
  /** What the stream of one exchange held. */
  recordExchange(exchange: Exchange): void;
  /** Bytes that were forwarded without being copied because the tap reached a bound, or because the process runs late. */
  recordTeeDrop(bytes: number): void;
  /** An exchange that was not copied because the process runs late. */
  recordTeeShed(): void;
  /** A request that was not read because its thread is outside the share, or because it names none. */
  recordLeftOut(request: ProxiedRequest): void;
}

export function createProxyMetrics(
  instruments: Instruments,
  { agents, eventTypes }: ProxyMetricsOptions,
): ProxyMetrics {
  const types = boundedLabel(eventTypes);
  const toolsOf = new Map(agents.map(({ name, tools }) => [name, boundedLabel(tools)]));
  const names = agents.map(({ name }) => name);
  const agent = boundedLabel(names);
  const perAgent = { labels: ['agent'], known: combinations({ agent: names }) };

  const requests = instruments.counter({
    name: METRIC.requests,
    help: 'Requests routed to an agent that ended, by status sent to the client and by outcome.',
    labels: ['agent', 'code', 'outcome'],
    known: [
      ...combinations({ agent: names, code: ['200'], outcome: REQUEST_OUTCOMES }),
      ...combinations({ agent: names, code: ['500', '502', '503', '504'], outcome: ['upstream_error'] }),
      ...combinations({ agent: names, code: ['none'], outcome: ['client_disconnect'] }),
    ],
  });
  const refused = instruments.counter({
    name: METRIC.refused,
    help: 'Connections and requests that were turned away before any agent was asked, by reason.',
    labels: ['reason'],
    known: combinations({ reason: REFUSALS }),
  });
  const firstByte = instruments.histogram({
    name: METRIC.firstByte,
    help: "Seconds from a request's arrival to the first byte of the agent's response body.",
    ...perAgent,
    buckets: HTTP_BUCKETS,
  });
  const firstEvent = instruments.histogram({
    name: METRIC.firstEvent,
    help: "Seconds from a request's arrival to the first AG-UI event.",
    ...perAgent,
    buckets: FIRST_TOKEN_BUCKETS,
  });
  const streamDuration = instruments.histogram({
    name: METRIC.streamDuration,
    help: 'Seconds from the arrival of a request that brought an AG-UI exchange to its end.',
    ...perAgent,
    buckets: STREAM_BUCKETS,
  });
  const overhead = instruments.histogram({
    name: METRIC.overhead,
    help: "Seconds from a request's arrival to the start of the agent's request: the sidecar's share.",
    ...perAgent,
    buckets: OVERHEAD_BUCKETS,
  });
  const active = instruments.changingGauge({
    name: METRIC.activeStreams,
    help: 'Requests to an agent that have not ended.',
    ...perAgent,
  });
  const bytes = instruments.counter({
    name: METRIC.bytes,
    help: 'Body bytes forwarded, both ways together.',
    ...perAgent,
  });
  const exchanges = instruments.counter({
    name: METRIC.streamExchanges,
    help: 'Exchanges that were read as AG-UI, by what they are to their conversation.',
    labels: ['agent', 'kind'],
    known: combinations({ agent: names, kind: EXCHANGE_KINDS }),
  });
  const events = instruments.counter({
    name: METRIC.streamEvents,
    help: 'AG-UI events read, by type.',
    labels: ['type'],
    known: combinations({ type: types.values }),
  });
  const parseErrors = instruments.counter({
    name: METRIC.streamParseErrors,
    help: 'Pieces of a stream that could not be read as AG-UI events. They were forwarded all the same.',
    labels: ['reason'],
    known: combinations({ reason: PARSE_ERRORS }),
  });
  const teeDropped = instruments.counter({
    name: METRIC.teeDroppedBytes,
    help: 'Body bytes forwarded that the tap did not copy because it reached a bound or the event loop ran late. What was copied and not read is a finding, truncated_tap.',
    labels: [],
    known: [{}],
  });
  const teeShed = instruments.counter({
    name: METRIC.teeShedExchanges,
    help: 'Exchanges that were forwarded and not copied because the event loop ran late. Their threads are not judged.',
    labels: [],
    known: [{}],
  });
  const teeLeftOut = instruments.counter({
    name: METRIC.teeLeftOut,
    help: 'Requests that were not read because tap.share leaves their thread out or, below 1, because nobody named a thread.',
    ...perAgent,
  });
  const toolCalls = instruments.counter({
    name: METRIC.toolCalls,
    help: 'Tool calls seen on the wire, by how far they came.',
    labels: ['agent', 'tool', 'outcome'],
    known: agents.flatMap(({ name, tools }) =>
      combinations({ agent: [name], tool: [...tools, 'other'], outcome: TOOL_CALL_STATES }),
    ),
  });
  const findings = instruments.counter({
    name: METRIC.findings,
    help: 'What was repaired or noticed when a stream was read.',
    labels: ['agent', 'code'],
    known: combinations({ agent: names, code: FINDING_CODES }),
  });

  return {
    recordRefusal: (refusal) => refused.inc({ reason: refusal }),
    requestStarted: (request) => active.add({ agent: agent.of(request.agent) }, 1),
    requestClosed: (request) => active.add({ agent: agent.of(request.agent) }, -1),
    requestEnded(request, end, exchange) {
      const labels = { agent: agent.of(request.agent) };
      requests.inc({ ...labels, code: codeOf(end.status), outcome: outcomeOf(end, exchange) });
      bytes.inc(labels, end.requestBytes + end.responseBytes);
      overhead.observe(labels, end.overheadMs / 1000);
      if (end.firstByteAt !== undefined) firstByte.observe(labels, secondsBetween(request.startedAt, end.firstByteAt));
    },
    recordExchange(exchange) {
      const { timing, kind } = exchange;
      const labels = { agent: agent.of(exchange.agent) };
      exchanges.inc({ ...labels, kind });
      streamDuration.observe(labels, secondsBetween(timing.startedAt, timing.endedAt));
      if (timing.firstEventAt !== undefined) {
        firstEvent.observe(labels, secondsBetween(timing.startedAt, timing.firstEventAt));
      }
      for (const [type, count] of Object.entries(exchange.eventCounts)) events.inc({ type: types.of(type) }, count);
      for (const [code, count] of countFindings(exchange)) {
        findings.inc({ ...labels, code }, count);
        if (PARSE_ERRORS.includes(code)) parseErrors.inc({ reason: code }, count);
      }
      // A replay shows the calls of runs that were counted when they ran.
      if (kind === 'replay') return;
      const tools = toolsOf.get(exchange.agent) ?? boundedLabel([]);
      for (const call of exchange.toolCalls) {
        toolCalls.inc({ ...labels, tool: tools.of(call.name), outcome: call.state });
      }
    },
    recordTeeDrop: (dropped) => teeDropped.inc({}, dropped),
    recordTeeShed: () => teeShed.inc({}),
    recordLeftOut: (request) => teeLeftOut.inc({ agent: agent.of(request.agent) }),
  };
}

/** Both are readings of one clock that never goes back: a difference below 0 is a defect, and the instrument refuses it. */
function secondsBetween(from: number, to: number): number {
  return (to - from) / 1000;
}

/** By code how often it was found, those findings included that the exchange does not keep. */
function countFindings({ findings, findingsDropped = [] }: Exchange): ReadonlyMap<FindingCode, number> {
  const counts = new Map<FindingCode, number>();
  const add = (code: FindingCode, count: number) => counts.set(code, (counts.get(code) ?? 0) + count);
  for (const { code } of findings) add(code, 1);
  for (const { code, count } of findingsDropped) add(code, count);
  return counts;
}

function codeOf(status: number | undefined): string {
  if (status === undefined) return 'none';
  return Number.isInteger(status) && status >= 100 && status <= 599 ? String(status) : 'other';
}

/** The agent's 4xx answers are completed requests: `code` tells them apart. */
function outcomeOf({ transport, errorCode, status = 0 }: RequestEnd, exchange: Exchange | undefined): RequestOutcome {
  if (transport === 'client_aborted') return 'client_disconnect';
  if (transport === 'upstream_error' || errorCode !== undefined || status >= 500) return 'upstream_error';
  if (exchange?.ending === 'run_error') return 'run_error';
  return exchange && isCutShort(exchange) ? 'upstream_error' : 'completed';
}
