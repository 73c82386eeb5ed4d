import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { SETTINGS } from '../../src/config/schema.ts';
import type { Setting } from '../../src/config/schema.ts';
import { AGENT, config, problems, read } from './read.ts';
import type { Given } from './read.ts';

const URL_EXPECTED =
  'an http or https URL without user name, password, query or fragment, such as http://localhost:8000';
const AGENT_URL_EXPECTED = `${URL_EXPECTED}, or unix: and the path of a socket, such as unix:/run/agent.sock`;

describe('one bad value', () => {
  it.each([
    [
      'a port out of range',
      'listen: { port: 65536 }',
      'sidecar.yaml:1: listen.port: given "65536", expected a whole number from 0 to 65535.',
    ],
    [
      'a port that is no number',
      'listen: { port: http }',
      'sidecar.yaml:1: listen.port: given "http", expected a whole number from 0 to 65535.',
    ],
    [
      'a fraction for a whole number',
      'judge: { retries: 1.5 }',
      'sidecar.yaml:1: judge.retries: given "1.5", expected a whole number from 0 to 10.',
    ],
    [
      'a rate above 1',
      'sampling: { rate: 1.01 }',
      'sidecar.yaml:1: sampling.rate: given "1.01", expected a number from 0 to 1.',
    ],
    [
      'a negative rate',
      'sampling: { rate: -0.1 }',
      'sidecar.yaml:1: sampling.rate: given "-0.1", expected a number from 0 to 1.',
    ],
    ['a percentage', 'tap: { share: 10% }', 'sidecar.yaml:1: tap.share: given "10%", expected a number from 0 to 1.'],
    [
      'a duration without a unit',
      'closing: { idle: 15 }',
      'sidecar.yaml:1: closing.idle: given "15", expected a duration with a unit (ms, s, m, h, d) from 1ms to 24d, such as 30s or 15m.',
    ],
    [
      'a duration longer than a timer can be',
      'closing: { waiting: 25d }',
      'sidecar.yaml:1: closing.waiting: given "25d", expected a duration with a unit (ms, s, m, h, d) from 1ms to 24d, such as 30s or 15m.',
    ],
    [
      'a size without a unit',
      'tap: { max_event: 1024 }',
      'sidecar.yaml:1: tap.max_event: given "1024", expected a size with a unit (B, KiB, MiB, GiB), such as 256KiB.',
    ],
    [
      'a head that no request fits into',
      'proxy: { max_header_size: 512B }',
      'sidecar.yaml:1: proxy.max_header_size: given "512B", expected a size with a unit (B, KiB, MiB) from 1KiB to 1MiB.',
    ],
    [
      'no connections at all',
      'listen: { max_connections: 0 }',
      'sidecar.yaml:1: listen.max_connections: given "0", expected a whole number from 1 to 1000000.',
    ],
    [
      'a word outside a closed list',
      'log: { level: loud }',
      'sidecar.yaml:1: log.level: given "loud", expected one of trace, debug, info, warn, error, fatal, silent.',
    ],
    [
      'a flag that is neither',
      'telemetry: { trust_incoming_trace: yes }',
      'sidecar.yaml:1: telemetry.trust_incoming_trace: given "yes", expected true or false.',
    ],
    [
      'a store that does not exist yet',
      'store: sqlite:./agui.db',
      'sidecar.yaml:1: store: given "sqlite:./agui.db", expected "memory:", the only store of this version.',
    ],
    [
      'a header name with a space',
      'conversation: { tenant_header: "x tenant" }',
      'sidecar.yaml:1: conversation.tenant_header: given "x tenant", expected the name of a request header, such as x-tenant-id.',
    ],
    [
      'a judge URL of another scheme',
      'judge: { base_url: "ws://h" }',
      `sidecar.yaml:1: judge.base_url: given "ws://h", expected ${URL_EXPECTED}.`,
    ],
    [
      'a list in place of a value',
      'listen: { port: [1] }',
      'sidecar.yaml:1: listen.port: given a list, expected a whole number from 0 to 65535.',
    ],
    [
      'a value in place of a section',
      'tap: 1',
      'sidecar.yaml:1: tap: given a single value, expected a section with share, max_event, max_exchange, max_total, max_loop_delay, read_delay.',
    ],
    [
      'a list in place of the whole',
      '- listen',
      'sidecar.yaml:1: given a list, expected a section with keys, such as "listen: { port: 8080 }".',
    ],
    [
      'an unknown section',
      'jugde: {}',
      expect.stringMatching(/^sidecar\.yaml:1: jugde: given an unknown setting, .* Did you mean judge\?$/),
    ],
    [
      'an unknown key',
      'judge: { modle: m }',
      'sidecar.yaml:1: judge.modle: given an unknown setting, expected one of model, base_url, api_key, timeout, retries, concurrency. Did you mean model?',
    ],
    ['a key without its section', 'port: 1', expect.stringMatching(/Did you mean listen\.port\?$/)],
    [
      'a key given twice',
      'listen: { port: 1 }\nlisten: { port: 2 }',
      'sidecar.yaml:2: given a key that its section already has, expected valid YAML.',
    ],
    [
      'broken YAML',
      'listen: { port: 1',
      expect.stringMatching(/^sidecar\.yaml:1: given a YAML fault \(.+\), expected valid YAML\.$/),
    ],
    [
      'an unresolved alias',
      'listen: *other',
      'sidecar.yaml:1: given a YAML alias without its anchor, expected valid YAML.',
    ],
    [
      'the same port twice',
      'admin: { port: 8080 }',
      'sidecar.yaml:1: admin.port: given 8080, which listen.port has too, expected a port of its own for the admin listener.',
    ],
    [
      'an exchange larger than all together',
      'tap: { max_total: 512KiB }',
      'sidecar.yaml:1: tap.max_exchange: given 1MiB, expected at most tap.max_total, which is 512KiB.',
    ],
    [
      'an empty list of metrics',
      'metrics: []',
      'sidecar.yaml:1: metrics: given an empty list, expected at least one metric. To judge nothing, set sampling.rate to 0.',
    ],
    [
      'an unknown metric',
      'metrics: [agent_goal_acuracy]',
      expect.stringMatching(
        /^sidecar\.yaml:1: metrics\[0\]: given "agent_goal_acuracy", .* Did you mean agent_goal_accuracy\?$/,
      ),
    ],
    [
      'a metric that needs a reference',
      'metrics: [agent_goal_accuracy_with_reference]',
      expect.stringMatching(/needs a reference .* Use it with the score command\.$/),
    ],
    [
      'a metric twice',
      'metrics: [agent_goal_accuracy, agent_goal_accuracy]',
      'sidecar.yaml:1: metrics[1]: given agent_goal_accuracy a second time, expected each metric once.',
    ],
    [
      'an entry without a name',
      'metrics: [{ threshold: 1 }]',
      expect.stringMatching(/^sidecar\.yaml:1: metrics\[0\]\.name: given no name/),
    ],
    [
      'a section of metrics',
      'metrics: { name: topic_adherence }',
      expect.stringMatching(/^sidecar\.yaml:1: metrics: given a section with keys, expected a list of metric names/),
    ],
    [
      'topic adherence without topics',
      'metrics: [topic_adherence]',
      'sidecar.yaml:1: metrics[0]: given topic_adherence without topics, expected reference_topics on the entry or on an agent. For a single agent, set REFERENCE_TOPICS.',
    ],
    [
      'a threshold out of range',
      'metrics:\n  - name: agent_goal_accuracy\n    threshold: 2',
      'sidecar.yaml:3: metrics[0].threshold: given "2", expected a value of at most 1.',
    ],
    [
      'an unknown parameter',
      'metrics: [{ name: agent_goal_accuracy, treshold: 1 }]',
      expect.stringMatching(
        /^sidecar\.yaml:1: metrics\[0\]\.treshold: given an unknown parameter, .* Did you mean threshold\?$/,
      ),
    ],
  ])('%s', (_, file, expected) => {
    expect(problems({ file })).toEqual([expected]);
  });

  it('names the environment variable it came from', () => {
    expect(problems({ env: { ...AGENT, SAMPLE_RATE: '10' } })).toEqual([
      'SAMPLE_RATE: sampling.rate: given "10", expected a number from 0 to 1.',
    ]);
  });

  it('names the --set it came from', () => {
    expect(problems({ set: ['sampling.rate=10', 'foo', 'judge.mode=m', 'agents.7.url=x'] })).toEqual([
      '--set foo: given no value, expected a.b=c, as in --set listen.port=8081.',
      '--set agents.7.url: given a place that does not exist, expected an existing one or the next of a list.',
      expect.stringMatching(/^--set judge\.mode: judge\.mode: given an unknown setting, .* Did you mean model\?$/),
      '--set sampling.rate: sampling.rate: given "10", expected a number from 0 to 1.',
    ]);
  });
});

it('takes no mask for a secret, as in what `config print` wrote', () => {
  expect(problems({ file: 'judge: { api_key: "****" }' })).toEqual([
    'sidecar.yaml:1: judge.api_key: given the mask that stands for it in print, expected the secret itself.',
  ]);
});

describe('agents', () => {
  const agents = (text: string) => problems({ env: {}, file: `agents:\n${text}` });

  it('must be there', () => {
    const missing =
      'agents: given none, expected at least one agent. Set AGENT_URL to the address of your agent, or list agents in a file given with --config.';
    expect(problems({ env: {} })).toEqual([missing]);
    expect(agents('  []')).toEqual([missing]);
  });

  it('names AGENT_URL, and not the variable that stands beside it, when only that is missing', () => {
    expect(problems({ env: { REFERENCE_TOPICS: 'tides' } })).toEqual([
      'agents: given REFERENCE_TOPICS without AGENT_URL, expected at least one agent. Set AGENT_URL to the address of your agent, or list agents in a file given with --config.',
    ]);
  });

  it.each([
    'localhost:8000',
    'ftp://h',
    'http://',
    'http://h:99999',
    'http://h:0',
    'http://h?a=1',
    'http://h#a',
    '/run',
    'http:/h',
    'http://h/a b',
    'unix:agent.sock',
    'unix://host/agent.sock',
    'unix:/run/agent.sock?a=1',
    'unix:/run/%zz.sock',
    'unix:/run/%ff.sock',
  ])('cannot have the URL %s', (url) => {
    expect(problems({ env: { AGENT_URL: url } })).toEqual([expect.stringContaining(`expected ${AGENT_URL_EXPECTED}`)]);
  });

  it.each(['http://h', 'https://h:8443/a/b/', 'http://[::1]:8000', 'HTTP://h', 'http://h/%20', 'unix:/run/agent.sock'])(
    'can have the URL %s',
    (url) => {
      expect(problems({ env: { AGENT_URL: url } })).toEqual([]);
    },
  );

  it.each(['two words', '', '-a', 'ä', 'a/b', 'a"b', 'a'.repeat(64)])('cannot have the name "%s"', (name) => {
    expect(agents(`  - { url: http://h, name: ${JSON.stringify(name)} }`)).toEqual([
      expect.stringMatching(/^sidecar\.yaml:2: agents\[0\]\.name: given .*, expected 1 to 63 letters/),
    ]);
  });

  it.each(['travel', '/a//b', '//a', '/../a', '/a/.', '/a?b', '/a b'])('cannot have the match %s', (match) => {
    expect(agents(`  - { url: http://h, match: ${JSON.stringify(match)} }`)).toEqual([
      expect.stringMatching(/^sidecar\.yaml:2: agents\[0\]\.match: given .*, expected a path prefix/),
    ]);
  });

  it.each(['/', '/a', '/a/', '/a.b/..c', '/%C3%A4'])('can have the match %s', (match) => {
    expect(agents(`  - { url: http://h, match: ${JSON.stringify(match)} }`)).toEqual([]);
  });

  it('must have names and path prefixes of their own', () => {
    expect(agents('  - { url: http://h:1, name: a, match: /x }\n  - { url: http://h:2, name: a, match: /x/ }')).toEqual(
      [
        'sidecar.yaml:3: agents[1].name: given "a", which agents[0] has too, expected a name of its own for each agent.',
        'sidecar.yaml:3: agents[1].match: given "/x", which agents[0] has too, expected a path prefix of its own for each agent.',
      ],
    );
  });

  it('must be named when there are several', () => {
    expect(agents('  - { url: http://h:1, match: /x }\n  - { url: http://h:2, name: b }')).toEqual([
      'sidecar.yaml:2: agents[0].name: given none, expected a name, since there are several agents.',
    ]);
  });

  it('must be sections of a list, with known keys and a URL', () => {
    expect(agents('  url: http://h')).toEqual([
      'sidecar.yaml:2: agents: given a section with keys, expected a list of agents, each with a url.',
    ]);
    expect(agents('  - http://h')).toEqual([
      'sidecar.yaml:2: agents[0]: given a single value, expected a section with name, url, match, reference_topics, tools.',
    ]);
    expect(agents('  - { name: a, ulr: http://h }')).toEqual([
      'sidecar.yaml:2: agents[0].ulr: given an unknown setting, expected one of name, url, match, reference_topics, tools. Did you mean url?',
      `sidecar.yaml:2: agents[0].url: given none, expected ${AGENT_URL_EXPECTED}.`,
    ]);
  });

  it('must have topics that are texts', () => {
    expect(agents('  - { url: http://h, reference_topics: [flights, [hotels]] }')).toEqual([
      'sidecar.yaml:2: agents[0].reference_topics: given a list, expected a list of texts.',
    ]);
    expect(agents('  - { url: http://h, tools: { name: search } }')).toEqual([
      'sidecar.yaml:2: agents[0].tools: given a section with keys, expected a list of texts.',
    ]);
  });

  it('cannot be the sidecar itself', () => {
    expect(problems({ env: { AGENT_URL: 'http://localhost:8080/run' } })).toEqual([
      expect.stringContaining('which is the address the sidecar listens on'),
    ]);
    expect(problems({ env: { AGENT_URL: 'http://agent:8080' } })).toEqual([]);
    expect(problems({ env: { AGENT_URL: 'http://localhost:8080', HOST: '192.0.2.1' } })).toEqual([]);
  });

  it.each([
    ['http://localhost:8080', {}],
    ['http://LOCALHOST.:8080', {}],
    ['http://sidecar.localhost:8080', {}],
    ['http://127.0.0.1:8080', {}],
    ['http://127.1:8080', {}],
    ['http://0x7f000001:8080', {}],
    ['http://0.0.0.0:8080', {}],
    ['http://[::1]:8080', { HOST: '::' }],
    ['http://[::ffff:127.0.0.1]:8080', { HOST: '::' }],
    ['http://[0:0:0:0:0:0:0:1]:8080', { HOST: '::1' }],
    ['http://[::1]:8080', { HOST: '0:0:0:0:0:0:0:1' }],
    ['http://192.0.2.1:8080', { HOST: '192.0.2.1' }],
    ['http://sidecar.internal:8080', { HOST: 'SIDECAR.internal' }],
    ['http://localhost', { PORT: '80' }],
    ['https://localhost', { PORT: '443' }],
  ])('cannot be the sidecar itself, however its address is spelled: %s', (AGENT_URL, env) => {
    expect(problems({ env: { AGENT_URL, ...env } })).toEqual([
      expect.stringMatching(/AGENT_URL: agents\[0\]\.url: given .* which is the address the sidecar listens on/),
    ]);
  });

  it.each([
    ['http://localhost:9464/metrics', {}],
    ['http://127.0.0.1:9464', { ADMIN_HOST: '127.0.0.1' }],
    ['http://[::1]:9999', { ADMIN_HOST: '::1', ADMIN_PORT: '9999' }],
    ['http://192.0.2.1:9464', { ADMIN_HOST: '192.0.2.1' }],
  ])('cannot be the admin port, which clients would reach through the proxy: %s', (AGENT_URL, env) => {
    expect(problems({ env: { AGENT_URL, ...env } })).toEqual([
      expect.stringMatching(
        /given .* which is the address of the sidecar's admin port, expected the address of the agent\. Move the agent or admin\.port/,
      ),
    ]);
  });

  it.each([
    ['http://agent:9464', {}],
    ['http://localhost:9464', { ADMIN_HOST: '192.0.2.1' }],
    ['http://localhost:8080', { PORT: '0' }],
    ['https://localhost:443', { PORT: '80' }],
  ])('may be another server, as far as can be told: %s', (AGENT_URL, env) => {
    expect(problems({ env: { AGENT_URL, ...env } })).toEqual([]);
  });
});

describe('ports', () => {
  it('may be equal on different addresses, and when the system chooses', () => {
    expect(problems({ set: ['admin.port=8080', 'admin.host=127.0.0.1', 'listen.host=192.0.2.1'] })).toEqual([]);
    expect(problems({ set: ['admin.port=0', 'listen.port=0'] })).toEqual([]);
  });
});

describe('several problems', () => {
  it('are all told at once, from every source, and nothing applies', () => {
    const result = read({
      env: { AGENT_URL: 'nowhere', LOG_LEVEL: 'loud' },
      file: 'judge:\n  modle: m\nsampling: { rate: 2 }\nmetrics:\n  - { name: topic_adherence, mode: precison, threshold: 7, foo: 1 }',
      set: ['listen.port=-1'],
    });
    expect(result).not.toHaveProperty('config');
    if (result.ok) return;
    expect(result.problems.map(({ setting }) => setting).toSorted()).toEqual([
      'agents[0].url',
      'judge.modle',
      'listen.port',
      'log.level',
      'metrics[0]',
      'metrics[0].foo',
      'metrics[0].mode',
      'metrics[0].threshold',
      'sampling.rate',
    ]);
  });

  it('include those of environment and --set when the file cannot be parsed, and no guess at what the file would say', () => {
    expect(problems({ env: { LOG_LEVEL: 'loud' }, file: 'agents: [' })).toEqual([
      expect.stringMatching(/^sidecar\.yaml:1: given a YAML fault/),
      expect.stringMatching(/^LOG_LEVEL: log\.level/),
    ]);
  });

  it('are counted in the headline', async () => {
    const result = await loadConfig({ config: '/nowhere/sidecar.yaml', set: ['log.level=loud'] }, {});
    expect(result).toMatchObject({
      ok: false,
      problems: [
        {
          setting: '',
          origin: { kind: 'file', path: '/nowhere/sidecar.yaml' },
          given: 'a file that cannot be read (ENOENT)',
        },
        { setting: 'log.level' },
      ],
    });
  });
});

describe('secrets', () => {
  const SECRET = 'hunter2';

  it.each([
    ['with a space', { file: `judge: { api_key: "sk ${SECRET}" }` }],
    ['in the environment', { env: { ...AGENT, OPENAI_API_KEY: `sk ${SECRET}` } }],
    ['in --set', { set: [`admin.token=a ${SECRET}`] }],
    ['under a misspelt name', { file: `judge: { api_kye: ${SECRET} }` }],
    ['under a misspelt name in --set', { set: [`judge.api_kye=${SECRET}`] }],
    ['in place of a section', { file: `judge: ${SECRET}` }],
    ['in place of a section, as a list', { file: `admin: [${SECRET}]` }],
    ['as a list', { file: `judge: { api_key: [${SECRET}] }` }],
    ['in a line that is broken YAML', { file: `judge: { api_key: ${SECRET}: [ }` }],
    ['in the user part of a URL', { env: { AGENT_URL: `http://user:${SECRET}@h` } }],
    ['in the query of a URL', { file: `judge: { base_url: "https://h/v1?key=${SECRET}" }` }],
    ['in the URL of a store', { env: { ...AGENT, STORE_URL: `redis://:${SECRET}@h` } }],
  ])('%s are not shown', (_, given) => {
    const found = problems(given);
    expect(found).not.toEqual([]);
    expect(found.join('\n')).not.toContain(SECRET);
  });
});

describe('the table of settings', () => {
  it('has defaults that it would accept', () => {
    const refused = Object.entries<Setting>(SETTINGS).filter(
      ([, { type, default: text }]) => text !== undefined && !type.reads.safeParse(text).success,
    );
    expect(refused).toEqual([]);
  });

  it('gives each setting an environment name of its own', () => {
    const names = Object.values<Setting>(SETTINGS).map(({ env }) => env);
    expect(new Set(names).size).toBe(names.length);
  });
});

it('any text at all is read or refused with a reason, never a crash', () => {
  const sound = (given: Given) => {
    const result = read(given);
    return result.ok || result.problems.length > 0;
  };
  const text = fc.string({ unit: 'binary', maxLength: 60 });
  const key = fc.constantFrom(
    ...Object.keys(SETTINGS),
    'agents.0.url',
    'agents',
    'metrics',
    'agents.0.reference_topics',
  );
  const property = fc.property(text, key, (given, name) =>
    [{ file: given }, { set: [given] }, { set: [`${name}=${given}`] }, { file: `${name}: ${given}` }].every(sound),
  );
  expect(() => fc.assert(property)).not.toThrow();
});

it('a valid configuration has no problems', () => {
  expect(problems({})).toEqual([]);
  expect(config().store).toEqual({ kind: 'memory' });
});
