import { z } from 'zod';
import {
  agentUrl,
  duration,
  flag,
  httpUrl,
  oneOf,
  port,
  rate,
  size,
  sizeBetween,
  text,
  wholeNumber,
} from './value-types.ts';
import type { ValueType } from './value-types.ts';

/** One setting. Its key is its path in the configuration file. */
export interface Setting {
  readonly env: string;
  readonly type: ValueType<unknown>;
  /** As a person would write it. Absent: the setting is optional and unset by default. */
  readonly default?: string;
  /** What stands in the table of settings in place of a default, when none is set. */
  readonly unset?: string;
  readonly help: string;
  /** Never shown, in messages or elsewhere. */
  readonly secret?: true;
}

const host = text('an address or host name, such as 127.0.0.1 or ::', /^[\w.:%-]+$/);
const secret = text('text without spaces or line breaks', /^[\x21-\x7e]+$/);
const name = text('one line of at most 200 characters', /^.{1,200}$/);

/** This version keeps everything in memory; the setting exists so that configurations stay valid later. */
const store: ValueType<{ readonly kind: 'memory' }> = {
  expected: '"memory:", the only store of this version',
  reads: z.enum(['memory:', 'memory']).transform(() => ({ kind: 'memory' as const })),
  editor: { enum: ['memory:'] },
};

/** Every setting with one value, once. What reads, documents, prints or checks settings walks this table. */
export const SETTINGS = {
  'listen.port': { env: 'PORT', type: port, default: '8080', help: 'Port clients connect to; 0 picks a free one.' },
  'listen.host': { env: 'HOST', type: host, default: '0.0.0.0', help: 'Address clients connect to.' },
  'listen.socket': {
    env: 'LISTEN_SOCKET',
    type: text(
      'the absolute path of a socket, of at most 101 characters, such as /run/sidecar.sock',
      /^\/[^\0\r\n]{1,100}$/,
    ),
    help: 'Unix socket clients connect to, in place of a port. Its folder must exist, and who may connect follows from the umask. One that a crash left behind must be removed before the next start.',
  },
  'listen.max_connections': {
    env: 'MAX_CONNECTIONS',
    type: wholeNumber(1, 1_000_000),
    default: '10000',
    help: 'Connections of clients at once. One more is closed without an answer, and counted.',
  },
  'admin.port': {
    env: 'ADMIN_PORT',
    type: port,
    default: '9464',
    help: 'Port of `/metrics`, `/livez` and `/readyz`; 0 picks a free one.',
  },
  'admin.host': { env: 'ADMIN_HOST', type: host, default: '0.0.0.0', help: 'Address of the admin port.' },
  'admin.token': {
    env: 'ADMIN_TOKEN',
    type: secret,
    secret: true,
    help: 'Has no effect in this version: it is kept for an admin API to come, and no route asks for it. Metrics and probes never will.',
  },
  'judge.model': { env: 'JUDGE_MODEL', type: name, default: 'gpt-4o-mini', help: 'Model that judges.' },
  'judge.base_url': {
    env: 'OPENAI_BASE_URL',
    type: httpUrl,
    unset: "OpenAI's",
    help: 'OpenAI-compatible endpoint. Setting it turns judging on, with or without a key.',
  },
  'judge.api_key': {
    env: 'OPENAI_API_KEY',
    type: secret,
    secret: true,
    help: 'Key for the endpoint. Setting it turns judging on.',
  },
  'judge.timeout': {
    env: 'JUDGE_TIMEOUT',
    type: duration({ maximumDays: 1 }),
    default: '60s',
    help: 'Deadline of one judge request.',
  },
  'judge.retries': {
    env: 'JUDGE_RETRIES',
    type: wholeNumber(0, 10),
    default: '2',
    help: 'Further attempts after a time-out, a rate limit or a server error.',
  },
  'judge.concurrency': {
    env: 'JUDGE_CONCURRENCY',
    type: wholeNumber(1, 256),
    default: '4',
    help: 'Judge requests under way at once.',
  },
  'sampling.rate': {
    env: 'SAMPLE_RATE',
    type: rate,
    default: '0.1',
    help: 'Share of conversations that is judged, chosen by a hash of agent and thread.',
  },
  'closing.idle': {
    env: 'CLOSING_IDLE',
    type: duration(),
    default: '15m',
    help: 'Silence after which a conversation is closed and may be judged: from when its last run was read (see tap.read_delay).',
  },
  'closing.waiting': {
    env: 'CLOSING_WAITING',
    type: duration(),
    default: '24h',
    help: 'Silence after which a conversation that waits for a person is closed as incomplete.',
  },
  'closing.open_run': {
    env: 'CLOSING_OPEN_RUN',
    type: duration(),
    default: '1h',
    help: 'Silence after which a run that never ended is closed as truncated.',
  },
  'conversation.tenant_header': {
    env: 'CONVERSATION_TENANT_HEADER',
    type: text('the name of a request header, such as x-tenant-id', /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/),
    help: 'Request header that separates tenants whose thread ids may collide.',
  },
  store: {
    env: 'STORE_URL',
    type: store,
    default: 'memory:',
    help: 'Where conversations wait to be closed and judged.',
  },
  'tap.share': {
    env: 'TAP_SHARE',
    type: rate,
    default: '1',
    help: 'Share of threads that is copied for analysis, chosen by a hash: all runs of a thread or none. What is not copied is in no conversation; below 1, neither is a request that names no thread.',
  },
  'tap.max_event': { env: 'TAP_MAX_EVENT', type: size, default: '256KiB', help: 'Largest event that is analysed.' },
  'tap.max_exchange': {
    env: 'TAP_MAX_EXCHANGE',
    type: size,
    default: '1MiB',
    help: 'Most bytes copied of one exchange; past it the copy stops, the stream goes on.',
  },
  'tap.max_total': {
    env: 'TAP_MAX_TOTAL',
    type: size,
    default: '64MiB',
    help: 'Most bytes of copies held at any moment, times of arrival included, until they have been analysed.',
  },
  'tap.max_loop_delay': {
    env: 'TAP_MAX_LOOP_DELAY',
    type: duration({ zero: true }),
    default: '20ms',
    help: 'Delay of the event loop (99th percentile over a second, twice in a row) above which no new exchange is copied, so that streams come first. It is what comes on top of the timer it is measured by, some 10 ms, which `nodejs_eventloop_lag_*` include. `0s` copies always.',
  },
  'tap.read_delay': {
    env: 'TAP_READ_DELAY',
    type: duration({ zero: true }),
    default: '2s',
    help: 'Longest wait of a copy to be read together with others, which costs less CPU than one by one: counters and spans of a run come so much later. 16 copies, or those that may hold an eighth of tap.max_total, are read at once. Never longer than half of closing.idle or closing.open_run; `0s` reads each when its exchange ends.',
  },
  'proxy.first_byte_timeout': {
    env: 'FIRST_BYTE_TIMEOUT',
    type: duration(),
    help: "Wait for the first byte of the agent's answer before the client gets a 504. A stream that has begun is never cut.",
  },
  'proxy.connect_timeout': {
    env: 'CONNECT_TIMEOUT',
    type: duration(),
    default: '10s',
    help: 'Wait for a connection to the agent before the client gets a 504.',
  },
  'proxy.max_header_size': {
    env: 'MAX_HEADER_SIZE',
    type: sizeBetween('1KiB', '1MiB'),
    default: '16KiB',
    help: "Largest head of a request, its path and query included, and of an agent's response. A larger request gets a 431, a larger response is answered with a 502.",
  },
  'proxy.forwarded_headers': {
    env: 'FORWARDED_HEADERS',
    type: oneOf('append', 'replace', 'pass'),
    default: 'append',
    help: "`append` believes the client's `X-Forwarded-*` and `Forwarded` and adds the client to them; `replace`, for a public edge, drops them and says only what the sidecar saw; `pass` changes and adds nothing.",
  },
  'proxy.host_header': {
    env: 'HOST_HEADER',
    type: oneOf('agent', 'client'),
    default: 'agent',
    help: "Whose name the agent reads in `Host`: its own, from its url, or the one the client asked for. Where a request goes, and which certificate is expected there, is the url's to say in either case.",
  },
  'proxy.half_close': {
    env: 'HALF_CLOSE',
    type: oneOf('abort', 'answer'),
    default: 'abort',
    help: "What a client means that ends its side of the connection after its request: `abort`, it has left, and the agent's run is cancelled at once; `answer`, it still reads (`nc -N` does so), and one that has left is noticed when something is sent to it.",
  },
  'proxy.replay': {
    env: 'PROXY_REPLAY',
    type: flag,
    default: 'true',
    help: 'A request of up to 64 KiB on a kept connection that the agent resets within 100 ms, before any byte of an answer, is sent once more on a new one: agents close idle connections without notice. `false` answers 502 instead.',
  },
  'proxy.pass_through': {
    env: 'PASS_THROUGH',
    type: flag,
    default: 'true',
    help: 'Chunks of a stream pass as they are, around the HTTP parser. `false` takes each apart and frames it again, which costs more.',
  },
  'telemetry.trust_incoming_trace': {
    env: 'TRUST_INCOMING_TRACE',
    type: flag,
    default: 'true',
    help: "Continue the client's trace. `false` starts a new one with a link, for clients that must not decide on sampling.",
  },
  'telemetry.tool_spans': {
    env: 'TOOL_SPANS',
    type: oneOf('auto', 'on', 'off'),
    default: 'auto',
    help: '`execute_tool` spans for tool calls seen in the stream.',
  },
  'telemetry.eval_parent_max_age': {
    env: 'EVAL_PARENT_MAX_AGE',
    type: duration(),
    default: '30m',
    help: 'Age of a run past which its scores go to a new trace with a link, since backends close old traces.',
  },
  'telemetry.eval_trace_when_unsampled': {
    env: 'EVAL_TRACE_WHEN_UNSAMPLED',
    type: oneOf('link', 'drop'),
    default: 'link',
    help: 'Scores of a run whose trace was not sampled: `link` puts them in a trace of their own, `drop` in metrics only.',
  },
  'telemetry.provider_name': {
    env: 'TELEMETRY_PROVIDER_NAME',
    type: name,
    default: 'ag-ui',
    help: 'Who provides the agents, as `invoke_agent` spans name it (attribute gen_ai.provider.name).',
  },
  'telemetry.explanation': {
    env: 'TELEMETRY_EXPLANATION',
    type: oneOf('on', 'off'),
    default: 'on',
    help: "The judge's reason on `evaluation` spans, and the cause of a verdict that failed. Either may quote the conversation; `off` leaves them out.",
  },
  'shutdown.delay': {
    env: 'SHUTDOWN_DELAY',
    type: duration({ zero: true }),
    default: '10s',
    help: 'Time from the signal to stop in which new connections are still taken while `/readyz` fails; never longer than half of shutdown.grace. It ends early once a prober has seen the failure and nobody has come for a second, and at once when nobody has ever asked `/readyz`.',
  },
  'shutdown.grace': {
    env: 'SHUTDOWN_GRACE',
    type: duration({ zero: true }),
    default: '30s',
    help: 'Time from the signal to stop that open streams get to end; then they are reset. Conversations are judged in what is left of it, 5 seconds at least. The process has ended 25 seconds after it at the latest.',
  },
  'shutdown.open_conversations': {
    env: 'SHUTDOWN_OPEN_CONVERSATIONS',
    type: oneOf('judge', 'expire'),
    default: 'judge',
    help: 'Conversations that are open and at rest at a stop: `judge` takes them as they are, marked as closed by the stop; `expire` only counts them, for those who restart often.',
  },
  'log.level': {
    env: 'LOG_LEVEL',
    type: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    default: 'info',
    help: 'Least severe log line that is written.',
  },
} as const satisfies Readonly<Record<string, Setting>>;

/** Settings of each entry of `agents`. The environment names are for a single agent. */
export const AGENT_SETTINGS = {
  name: {
    env: 'AGENT_NAME',
    // A label and part of span names: short, and safe in every backend without quoting.
    type: text(
      '1 to 63 letters, digits, ".", "_" or "-", beginning with a letter or digit',
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    ),
    default: 'agent',
    help: 'Label in metrics and name in spans. Required and unique when there are several agents.',
  },
  url: {
    env: 'AGENT_URL',
    type: agentUrl,
    unset: 'required',
    help: 'Address of the agent, or `unix:` and the absolute path of its socket.',
  },
  match: {
    env: 'AGENT_MATCH',
    type: text(
      'a path prefix that begins with "/", without query, "//" or dot segments',
      /^\/(?!\/)(?!.*\/\/)(?!(?:.*\/)?\.{1,2}(?:\/|$))[\w\-.~!$&'()*+,;=:@%/]*$/,
    ),
    default: '/',
    help: 'Path prefix on the sidecar that leads to this agent; the longest match wins. It is stripped.',
  },
} as const satisfies Readonly<Record<string, Setting>>;

/** Settings that hold a list. They are read by functions of their own. */
export const LIST_SETTINGS = {
  agents: {
    env: 'AGENTS',
    unset: 'required',
    help: 'The agents behind the sidecar. In the environment: the list in YAML or JSON; a single agent has names of its own, below.',
  },
  'agents[].reference_topics': {
    env: 'REFERENCE_TOPICS',
    unset: 'none',
    help: 'Topics the agent is meant for: a list, or text separated by commas.',
  },
  'agents[].tools': {
    env: 'AGENT_TOOLS',
    unset: 'none',
    help: 'Tools whose calls are counted under their own names: a list, or text separated by commas. Calls of all others are counted together as `other`.',
  },
  metrics: {
    env: 'METRICS',
    unset: '`agent_goal_accuracy`, and `topic_adherence` where an agent has topics',
    help: 'What is judged: names separated by commas, or a list of names and entries with parameters.',
  },
} as const;

type ValueOf<S extends Setting> = S extends { readonly type: ValueType<infer T> }
  ? S extends { readonly default: string }
    ? T
    : T | undefined
  : never;

/** The value of every setting in {@link SETTINGS}, by key. */
export type Values = { readonly [K in keyof typeof SETTINGS]: ValueOf<(typeof SETTINGS)[K]> };
