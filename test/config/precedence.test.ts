import { describe, expect, it } from 'vitest';
import { AGENT, config, problems, read } from './read.ts';

describe('one setting given in several places', () => {
  const file = 'listen: { port: 1001 }';
  const env = { ...AGENT, PORT: '1002' };

  it('has its default when given nowhere', () => {
    expect(config().listen).toEqual({ port: 8080, host: '0.0.0.0', maxConnections: 10_000 });
  });

  it('is taken from the file before the default', () => {
    expect(config({ file }).listen.port).toBe(1001);
  });

  it('is taken from the environment before the file', () => {
    expect(config({ file, env }).listen.port).toBe(1002);
  });

  it('is taken from --set before the environment, and the last --set wins', () => {
    expect(config({ file, env, set: ['listen.port=1003', 'listen.port=1004'] }).listen.port).toBe(1004);
  });

  it('counts an empty environment variable as unset', () => {
    expect(config({ file, env: { ...AGENT, PORT: '' } }).listen.port).toBe(1001);
  });

  it('is unset again by --set without a value', () => {
    expect(config({ env: { ...AGENT, ADMIN_TOKEN: 'a' }, set: ['admin.token='] }).admin).not.toHaveProperty('token');
  });

  it('leaves its neighbours in the section alone', () => {
    const { judge } = config({ file: 'judge: { model: m, api_key: k }', set: ['judge.retries=0'] });
    expect(judge).toMatchObject({ model: 'm', apiKey: 'k', retries: 0 });
  });
});

describe('the environment', () => {
  it.each([
    ['PORT', '1', { listen: { port: 1 } }],
    ['HOST', '::', { listen: { host: '::' } }],
    ['LISTEN_SOCKET', '/run/s.sock', { listen: { socket: '/run/s.sock' } }],
    ['MAX_CONNECTIONS', '1', { listen: { maxConnections: 1 } }],
    ['ADMIN_PORT', '1', { admin: { port: 1 } }],
    ['ADMIN_HOST', '127.0.0.1', { admin: { host: '127.0.0.1' } }],
    ['ADMIN_TOKEN', 't', { admin: { token: 't' } }],
    ['SAMPLE_RATE', '1', { sampling: { rate: 1 } }],
    ['CLOSING_IDLE', '1m', { closing: { idleMs: 60_000 } }],
    ['CLOSING_WAITING', '1m', { closing: { waitingMs: 60_000 } }],
    ['CLOSING_OPEN_RUN', '1m', { closing: { openRunMs: 60_000 } }],
    ['CONVERSATION_TENANT_HEADER', 'X-Tenant', { conversation: { tenantHeader: 'x-tenant' } }],
    ['STORE_URL', 'memory:', { store: { kind: 'memory' } }],
    ['TAP_SHARE', '0', { tap: { share: 0 } }],
    ['TAP_MAX_EVENT', '1KiB', { tap: { maxEventBytes: 1024 } }],
    ['TAP_MAX_EXCHANGE', '1KiB', { tap: { maxExchangeBytes: 1024 } }],
    ['TAP_MAX_TOTAL', '1GiB', { tap: { maxTotalBytes: 1024 ** 3 } }],
    ['TAP_MAX_LOOP_DELAY', '0s', { tap: { maxLoopDelayMs: 0 } }],
    ['TAP_READ_DELAY', '5s', { tap: { readDelayMs: 5_000 } }],
    ['TAP_READ_DELAY', '1h', { tap: { readDelayMs: 450_000 } }],
    ['CLOSING_IDLE', '2s', { closing: { idleMs: 2_000 }, tap: { readDelayMs: 1_000 } }],
    ['CLOSING_OPEN_RUN', '3s', { closing: { openRunMs: 3_000 }, tap: { readDelayMs: 1_500 } }],
    ['FIRST_BYTE_TIMEOUT', '5s', { proxy: { firstByteTimeoutMs: 5000 } }],
    ['CONNECT_TIMEOUT', '5s', { proxy: { connectTimeoutMs: 5000 } }],
    ['PASS_THROUGH', 'false', { proxy: { passThrough: false } }],
    ['PROXY_REPLAY', 'false', { proxy: { replay: false } }],
    ['HALF_CLOSE', 'answer', { proxy: { halfClose: 'answer' } }],
    ['MAX_HEADER_SIZE', '32KiB', { proxy: { maxHeaderBytes: 32_768 } }],
    ['FORWARDED_HEADERS', 'replace', { proxy: { forwardedHeaders: 'replace' } }],
    ['HOST_HEADER', 'client', { proxy: { hostHeader: 'client' } }],
    ['TRUST_INCOMING_TRACE', 'false', { telemetry: { trustIncomingTrace: false } }],
    ['TOOL_SPANS', 'off', { telemetry: { toolSpans: 'off' } }],
    ['EVAL_PARENT_MAX_AGE', '1h', { telemetry: { evalParentMaxAgeMs: 3_600_000 } }],
    ['EVAL_TRACE_WHEN_UNSAMPLED', 'drop', { telemetry: { evalTraceWhenUnsampled: 'drop' } }],
    ['TELEMETRY_EXPLANATION', 'off', { telemetry: { explanations: false } }],
    ['TELEMETRY_PROVIDER_NAME', 'acme', { telemetry: { providerName: 'acme' } }],
    ['SHUTDOWN_GRACE', '0s', { shutdown: { graceMs: 0 } }],
    ['LOG_LEVEL', 'debug', { log: { level: 'debug' } }],
  ])('%s=%s', (name, value, expected) => {
    expect(config({ env: { ...AGENT, [name]: value } })).toMatchObject(expected);
  });

  it('holds judge settings', () => {
    const env = {
      ...AGENT,
      JUDGE_MODEL: 'm',
      OPENAI_BASE_URL: 'http://localhost:11434/v1',
      OPENAI_API_KEY: 'k',
      JUDGE_TIMEOUT: '5s',
      JUDGE_RETRIES: '0',
      JUDGE_CONCURRENCY: '1',
    };
    expect(config({ env }).judge).toEqual({
      kind: 'on',
      model: 'm',
      baseUrl: 'http://localhost:11434/v1',
      apiKey: 'k',
      timeoutMs: 5000,
      retries: 0,
      concurrency: 1,
    });
  });
});

describe('a single agent from the environment', () => {
  it('needs a URL only', () => {
    expect(config().agents).toMatchObject([
      { name: 'agent', url: 'http://localhost:8000', match: '/', referenceTopics: [] },
    ]);
  });

  it('takes a name, a path prefix, and topics separated by commas', () => {
    const env = { ...AGENT, AGENT_NAME: 'travel', AGENT_MATCH: '/travel/', REFERENCE_TOPICS: 'flights, hotels ,' };
    expect(config({ env }).agents).toMatchObject([
      { name: 'travel', match: '/travel', referenceTopics: ['flights', 'hotels'] },
    ]);
  });

  it('takes tools separated by commas, or as a list', () => {
    for (const AGENT_TOOLS of ['search_flights, book_hotel', '[search_flights, book_hotel]']) {
      expect(config({ env: { ...AGENT, AGENT_TOOLS } }).agents[0]?.tools).toEqual(['search_flights', 'book_hotel']);
    }
    expect(config().agents[0]?.tools).toEqual([]);
  });

  it('goes before the single agent of the file, setting by setting', () => {
    const file = 'agents: [{ name: travel, url: http://localhost:1 }]';
    expect(config({ file }).agents).toMatchObject([{ name: 'travel', url: 'http://localhost:8000' }]);
  });

  it('is refused beside several agents of the file, rather than going to one of them', () => {
    const file = 'agents: [{ name: a, url: http://h:1, match: /a }, { name: b, url: http://h:2, match: /b }]';
    expect(problems({ file })).toEqual([
      'AGENT_URL: agents: given AGENT_URL beside a list of 2 agents, expected it only where there is a single agent. Unset AGENT_URL, or use --set agents.0.url=….',
    ]);
  });

  it('is not read for a command that needs a judge only, which needs no agent either', () => {
    expect(config({ env: { REFERENCE_TOPICS: 'flights', OPENAI_API_KEY: 'k' }, purpose: 'judge' }).agents).toEqual([]);
  });
});

describe('lists in one line of text', () => {
  it('are agents as YAML', () => {
    const env = { AGENTS: '[{ name: a, url: http://h:1, match: /a }, { name: b, url: http://h:2, match: /b }]' };
    expect(config({ env }).agents.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('are metrics as names or as JSON', () => {
    const metrics = (text: string) => config({ env: { ...AGENT, METRICS: text } }).agents[0]?.metrics;
    expect(metrics('agent_goal_accuracy')).toMatchObject([{ name: 'agent_goal_accuracy' }]);
    expect(metrics('[{"name":"topic_adherence","reference_topics":["a"]}]')).toMatchObject([
      { name: 'topic_adherence' },
    ]);
  });

  it('are reached by position in --set', () => {
    expect(config({ set: ['agents.0.name=a'] }).agents[0]?.name).toBe('a');
    expect(config({ set: ['agents[0].name=a'] }).agents[0]?.name).toBe('a');
    expect(
      config({ set: ['agents.1.url=http://h:2', 'agents.1.name=b', 'agents.0.name=a', 'agents.1.match=/b'] }).agents,
    ).toHaveLength(2);
  });
});

describe('${VARIABLE} in the file', () => {
  it('is replaced by the environment, inside flow mappings too', () => {
    const file = 'admin: { token: ${TOKEN}, port: ${P} }\njudge: { base_url: "http://${H}:1/v1" }';
    const env = { ...AGENT, TOKEN: 't,{[', P: '7', H: 'h' };
    expect(config({ file, env })).toMatchObject({
      admin: { token: 't,{[', port: 7 },
      judge: { baseUrl: 'http://h:1/v1' },
    });
  });

  it('cannot change the structure of the file', () => {
    const file = 'judge: { model: ${MODEL} }';
    expect(config({ file, env: { ...AGENT, OPENAI_API_KEY: 'k', MODEL: 'm, retries: 9' } }).judge).toMatchObject({
      model: 'm, retries: 9',
      retries: 2,
    });
  });

  it('takes its fallback when unset or empty', () => {
    const file = 'listen: { port: ${P:-81} }';
    expect(config({ file }).listen.port).toBe(81);
    expect(config({ file, env: { ...AGENT, P: '' } }).listen.port).toBe(81);
  });

  it('leaves an optional setting unset when it is its whole value', () => {
    const { admin, judge } = config({ file: 'admin: { token: ${NOPE} }\njudge: { api_key: ${NOPE} }' });
    expect(admin).not.toHaveProperty('token');
    expect(judge).toEqual({ kind: 'off' });
  });

  it('is a problem when it has no value elsewhere', () => {
    expect(problems({ file: 'sampling: { rate: ${RATE} }\njudge:\n  base_url: http://${HOST_OF_JUDGE}/v1' })).toEqual([
      expect.stringMatching(/^sidecar\.yaml:3: judge\.base_url: given \$\{HOST_OF_JUDGE\}, which is not set/),
      expect.stringMatching(/^sidecar\.yaml:1: sampling\.rate: given \$\{RATE\}, which is not set/),
    ]);
  });

  it('in a comment needs no value', () => {
    expect(problems({ file: 'listen: { port: 1 } # ${NOPE}' })).toEqual([]);
  });
});

describe('what was found', () => {
  it('tells where each value came from', () => {
    const result = read({ file: '\nadmin: { port: 1 }', set: ['sampling.rate=1'] });
    if (!result.ok) throw new Error('not valid');
    const { settings, agents } = result.found;
    expect(settings['admin.port'].origin).toEqual({ kind: 'file', path: 'sidecar.yaml', line: 2 });
    expect(settings['sampling.rate'].origin).toEqual({ kind: 'set', key: 'sampling.rate' });
    expect(settings['log.level'].origin).toEqual({ kind: 'default' });
    expect(agents[0]?.url.origin).toEqual({ kind: 'env', name: 'AGENT_URL' });
  });
});
