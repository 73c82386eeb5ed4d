import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { link, mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import type { CheckResult } from '../../src/check/check-result.ts';
import { check } from '../../src/commands/check.ts';
import { UsageError } from '../../src/lib/usage-error.ts';
import { startJudgeServer } from '../support/judge-server.ts';
import type { JudgeServerOptions } from '../support/judge-server.ts';
import { runCommand } from '../support/run-command.ts';

let running = new AsyncDisposableStack();

afterEach(async () => {
  await running.disposeAsync();
  running = new AsyncDisposableStack();
});

async function listen(server: Server, closeConnections: () => void): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  running.defer(async () => {
    server.close();
    closeConnections();
    await once(server, 'close');
  });
  // The border: a server that listens on TCP has an address with a port.
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

/** A small HTTP server on a free port; its URL. */
function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  return listen(server, () => server.closeAllConnections());
}

const status = (code: number) => serve((_, response) => response.writeHead(code).end());

/** A URL that nothing listens on: its port was free a moment ago. */
async function nobody(): Promise<string> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

async function startJudge(options: JudgeServerOptions): Promise<string> {
  return running.use(await startJudgeServer(options)).baseUrl;
}

/** Any free ports, and no collector. */
const APART = { HOST: '127.0.0.1', PORT: '0', ADMIN_HOST: '127.0.0.1', ADMIN_PORT: '0', OTEL_TRACES_EXPORTER: 'none' };

/** Runs the command with `--json`; free ports are taken, and the collector is left out, unless `env` says otherwise. */
async function checked(env: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const run = await runCommand(check, ['--json', ...args], { env: { ...APART, ...env } });
  const report: { ok: boolean; results: CheckResult[] } = JSON.parse(run.stdout);
  return { ...run, ...report, result: (item: string) => report.results.find((result) => result.item === item) };
}

const VERDICTS = {
  goal_and_end_state: { user_goal: 'A table for two at 7 pm.', end_state: 'The table is booked.' },
  outcome_comparison: { reason: 'Turn 4 confirms the booking.', verdict: '1' },
};

describe('check', () => {
  it('prints one line for each thing and ends with 0 when nothing failed', async () => {
    const run = await runCommand(check, [], {
      env: { ...APART, AGENT_URL: await status(405), AGENT_NAME: 'travel' },
    });
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^configuration +ok /),
      expect.stringMatching(/^store +ok /),
      expect.stringMatching(/^proxy +ok +Can listen on 127\.0\.0\.1:0\./),
      expect.stringMatching(/^admin listener +ok +Can listen on 127\.0\.0\.1:0\./),
      expect.stringMatching(/^agent travel +ok +http:.*405/),
      expect.stringMatching(/^judge +skipped +Nothing is judged.*OPENAI_API_KEY/),
      expect.stringMatching(/^exporter +skipped /),
    ]);
  });

  it('ends with 2 and lists every problem when the configuration is not valid, and asks nobody', async () => {
    let asked = 0;
    const url = await serve((_, response) => {
      asked += 1;
      response.end();
    });
    const env = { AGENT_URL: url, SAMPLE_RATE: '7', LOG_LEVEL: 'loud' };
    const plain = await runCommand(check, [], { env });
    expect(plain).toMatchObject({ status: 2, stdout: '' });
    expect(plain.stderr).toMatch(/2 problems:\n {2}SAMPLE_RATE: .*\n {2}LOG_LEVEL: /);
    const json = await runCommand(check, ['--json'], { env });
    expect(json.status).toBe(2);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      problems: [{ setting: 'sampling.rate', origin: { kind: 'env', name: 'SAMPLE_RATE' } }, { setting: 'log.level' }],
    });
    expect(asked).toBe(0);
  });

  it('refuses arguments it does not have', async () => {
    await expect(runCommand(check, ['--jsno'])).rejects.toBeInstanceOf(UsageError);
  });
});

describe('check of the listeners', () => {
  /** A free port, for a moment at least. */
  const freePort = async () => new URL(await nobody()).port;
  const portOf = (url: string) => new URL(url).port;

  /** What stands at the admin port of a sidecar that runs. */
  const admin = async () =>
    portOf(
      await serve((_, response) => response.setHeader('content-type', 'application/json').end('{"status":"live"}')),
    );

  async function listeners(env: Readonly<Record<string, string>>) {
    const run = await checked({ AGENT_URL: await status(200), ...env });
    return { status: run.status, proxy: run.result('proxy'), admin: run.result('admin listener') };
  }

  it('finds free ports free, and leaves them so', async () => {
    const env = { PORT: await freePort(), ADMIN_PORT: await freePort() };
    for (let time = 0; time < 2; time += 1) {
      expect(await listeners(env)).toMatchObject({
        status: 0,
        proxy: { status: 'ok', detail: `Can listen on 127.0.0.1:${env.PORT}.` },
        admin: { status: 'ok', detail: `Can listen on 127.0.0.1:${env.ADMIN_PORT}.` },
      });
    }
  });

  it.each([
    ['PORT', 'proxy', 'listen.port or PORT'],
    ['ADMIN_PORT', 'admin', 'admin.port or ADMIN_PORT'],
  ] as const)('fails when the port of %s is taken, in the words of a start', async (variable, listener, setting) => {
    const port = portOf(await status(200));
    const run = await listeners({ [variable]: port });
    expect(run.status).toBe(1);
    expect(run[listener]).toMatchObject({ status: 'failed', detail: expect.stringContaining('EADDRINUSE') });
    expect(run[listener]?.detail).toContain(`another process listens there: stop it, or set ${setting}.`);
  });

  it('fails for an address that is not of this machine', async () => {
    const { status: exit, proxy } = await listeners({ HOST: '999.1.1.1' });
    expect(exit).toBe(1);
    expect(proxy?.detail).toMatch(/^The proxy cannot listen on 999\.1\.1\.1:0 .* set listen\.host or HOST\.$/);
  });

  it('fails for a socket without a folder', async () => {
    const { status: exit, proxy } = await listeners({ LISTEN_SOCKET: '/nowhere/x.sock' });
    expect(exit).toBe(1);
    expect(proxy?.detail).toMatch(/its folder must exist .* set listen\.socket or LISTEN_SOCKET\.$/);
  });

  it.each(['0.0.0.0', '127.0.0.1'])('takes a sidecar that runs already for what it is (%s)', async (host) => {
    const env = { PORT: portOf(await status(200)), ADMIN_HOST: host, ADMIN_PORT: await admin() };
    const run = await listeners(env);
    expect(run).toMatchObject({ status: 0, proxy: { status: 'ok' }, admin: { status: 'ok' } });
    expect(run.proxy?.detail).toContain(`:${env.PORT} is in use; a sidecar that runs already`);
    expect(run.admin?.detail).toContain(`:${env.ADMIN_PORT} is in use; a sidecar that runs already`);
    expect(run.admin?.remedy).toContain('ADMIN_PORT');
  });

  it('fails beside a sidecar of another configuration, which has the admin port only', async () => {
    const run = await listeners({ PORT: await freePort(), ADMIN_PORT: await admin() });
    expect(run).toMatchObject({ status: 1, proxy: { status: 'ok' }, admin: { status: 'failed' } });
  });

  it.each<[string, RequestListener]>([
    ['404', (_, response) => response.writeHead(404).end('{"status":"live"}')],
    ['other JSON', (_, response) => response.end('{"status":"UP"}')],
    ['no JSON', (_, response) => response.end('live')],
    ['nothing', (_, response) => response.end()],
    ['a reset', (request) => request.socket.resetAndDestroy()],
    [
      'something without end',
      (_, response) => {
        const write = () => {
          while (!response.destroyed && response.write('x'.repeat(16_384)));
        };
        response.on('drain', write).on('error', () => {});
        write();
      },
    ],
  ])('takes nobody else for a sidecar: one whose answer is %s', async (_, answer) => {
    const run = await listeners({ PORT: portOf(await status(200)), ADMIN_PORT: portOf(await serve(answer)) });
    expect(run).toMatchObject({ status: 1, proxy: { status: 'failed' }, admin: { status: 'failed' } });
  });

  describe('with a socket', () => {
    async function socketPath(): Promise<string> {
      return join(await mkdtemp(join(tmpdir(), 'agui-')), 'proxy.sock');
    }

    it('finds it free, and leaves nothing behind', async () => {
      const path = await socketPath();
      expect(await listeners({ LISTEN_SOCKET: path })).toMatchObject({
        status: 0,
        proxy: { status: 'ok', detail: `Can listen on ${path}.` },
      });
      await expect(stat(path)).rejects.toThrow('ENOENT');
    });

    it.each([true, false])('leaves the one of a process alone (a sidecar: %s)', async (isSidecar) => {
      const path = await socketPath();
      const server = createServer((_, response) => response.end()).listen(path);
      await once(server, 'listening');
      running.defer(async () => {
        server.close();
        server.closeAllConnections();
        await once(server, 'close');
      });
      const run = await listeners({ LISTEN_SOCKET: path, ...(isSidecar && { ADMIN_PORT: await admin() }) });
      expect(run.proxy?.status).toBe(isSidecar ? 'ok' : 'failed');
      expect((await stat(path)).isSocket()).toBe(true);
      expect(await text((await once(get({ socketPath: path }), 'response'))[0])).toBe('');
    });

    it('fails for one that a crash left behind, whoever has the admin port', async () => {
      const path = await socketPath();
      const server = createServer().listen(`${path}.live`);
      await once(server, 'listening');
      // Node removes the socket under the name it was given, and leaves this one.
      await link(`${path}.live`, path);
      server.close();
      await once(server, 'close');
      const run = await listeners({ LISTEN_SOCKET: path, ADMIN_PORT: await admin() });
      expect(run).toMatchObject({ status: 1, proxy: { status: 'failed' }, admin: { status: 'failed' } });
      expect(run.proxy?.detail).toContain('if it is a socket that nobody listens on, remove it');
    });
  });
});

describe('check of an agent', () => {
  it.each([200, 302, 404, 405, 500])('takes status %i for a sign of life', async (code) => {
    expect(await checked({ AGENT_URL: await status(code) })).toMatchObject({ status: 0, ok: true });
  });

  it('asks with a GET for an event stream and never makes it run', async () => {
    const seen: unknown[] = [];
    const url = await serve((request, response) => {
      seen.push([request.method, request.url, request.headers.accept]);
      response.end();
    });
    await checked({ AGENT_URL: `${url}/agent` });
    expect(seen).toEqual([['GET', '/agent', 'text/event-stream']]);
  });

  it('does not wait for the end of a stream', async () => {
    const url = await serve((_, response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n'),
    );
    expect(await checked({ AGENT_URL: url })).toMatchObject({ ok: true });
  });

  it('is enough for one behind a unix socket that it accepts connections', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'agui-')), 'agent.sock');
    const missing = await checked({ AGENT_URL: `unix:${path}` });
    expect(missing.result('agent agent')).toMatchObject({
      status: 'failed',
      detail: `unix:${path} is a socket that does not exist.`,
    });

    const server = createServer().listen(path);
    await once(server, 'listening');
    running.defer(async () => void server.close());
    expect(await checked({ AGENT_URL: `unix:${path}` })).toMatchObject({ status: 0, ok: true });
  });

  it('fails when nothing listens, and says what to do', async () => {
    const url = await nobody();
    const run = await checked({ AGENT_URL: url });
    expect(run.status).toBe(1);
    expect(run.result('agent agent')).toMatchObject({
      status: 'failed',
      detail: `${url} refused the connection: nothing listens there.`,
      remedy: expect.stringContaining('AGENT_URL'),
    });
  });

  it('fails when what listens speaks HTTP without TLS, and says what its URL may have to begin with', async () => {
    const url = (await status(200)).replace('http:', 'https:');
    const run = await checked({ AGENT_URL: url });
    expect(run.result('agent agent')).toMatchObject({
      status: 'failed',
      detail: `${url} does not speak TLS: its URL may have to begin with http://.`,
    });
  });

  it('fails when what listens does not speak HTTP', async () => {
    const sockets = new Set<{ destroy(): void }>();
    const server = createTcpServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      socket.end('SSH-2.0-nothing\r\n');
    });
    const url = await listen(server, () => sockets.forEach((socket) => socket.destroy()));
    const run = await checked({ AGENT_URL: url });
    expect(run.result('agent agent')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('other than HTTP'),
    });
  });

  it('fails when no answer comes in time', async () => {
    const run = await checked({ AGENT_URL: await serve(() => {}), CONNECT_TIMEOUT: '50ms' });
    expect(run.result('agent agent')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('within 0.05 s'),
    });
  });

  it.each([1, 9, 6000])('connects to port %i, too, which fetch leaves out', async (port) => {
    const run = await checked({ AGENT_URL: `http://127.0.0.1:${port}` });
    expect(run.status).toBe(1);
    expect(run.result('agent agent')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('nothing listens there'),
    });
  });

  it('goes on with the others when one fails', async () => {
    const agents = [
      { name: 'up', url: await status(200), match: '/up' },
      { name: 'down', url: await nobody(), match: '/down' },
    ];
    const run = await checked({ AGENTS: JSON.stringify(agents) });
    expect(run.status).toBe(1);
    expect(run.result('agent up')?.status).toBe('ok');
    expect(run.result('agent down')?.status).toBe('failed');
  });
});

describe('check of the judge', () => {
  const withJudge = async (options: JudgeServerOptions) =>
    checked({
      AGENT_URL: await status(200),
      OPENAI_BASE_URL: await startJudge(options),
      OPENAI_API_KEY: 'k-hunter2',
      JUDGE_MODEL: 'm',
    });

  it('puts a small conversation to it, with the schemas used in service, and tells format, model, time and tokens', async () => {
    const run = await withJudge({ scripts: VERDICTS, apiKey: 'k-hunter2' });
    expect(run.status).toBe(0);
    expect(run.result('judge')).toMatchObject({ status: 'ok' });
    expect(run.result('judge')?.detail).toMatch(
      /^m at http:.* judges\. answers by json_schema, as scripted-judge-1, 2 requests in \d+ ms, 240 tokens in, 18 out\.$/,
    );
  });

  it('needs no key for an endpoint that wants none, and tells what was negotiated with it', async () => {
    const baseUrl = await startJudge({ scripts: VERDICTS, refuses: ['json_schema'] });
    const run = await checked({ AGENT_URL: await status(200), OPENAI_BASE_URL: baseUrl });
    expect(run.result('judge')).toMatchObject({ status: 'ok', detail: expect.stringContaining('answers by tool') });
  });

  it('fails for a wrong key, which it does not show', async () => {
    const run = await withJudge({ scripts: VERDICTS, apiKey: 'another' });
    expect(run.status).toBe(1);
    expect(run.result('judge')).toMatchObject({ status: 'failed', detail: expect.stringContaining('unauthorized') });
    expect(run.stdout + run.stderr).not.toContain('hunter2');
  });

  it('fails when nothing listens, which is about its address and not about key or model', async () => {
    const url = await nobody();
    const run = await checked({ AGENT_URL: await status(200), OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'k' });
    expect(run.status).toBe(1);
    expect(run.result('judge')).toMatchObject({
      status: 'failed',
      detail: `${url}/v1 refused the connection: nothing listens there.`,
      remedy: expect.stringContaining('judge.base_url (OPENAI_BASE_URL)'),
    });
    expect(run.result('judge')?.remedy).not.toMatch(/model|key/);
  });

  it.each<[string, NonNullable<JudgeServerOptions['scripts']>, RegExp]>([
    ['a wrong key', { '*': [{ status: 401 }] }, /^Correct judge\.api_key \(OPENAI_API_KEY\)/],
    ['a spent quota', { '*': [{ status: 429 }] }, /^Wait, .*OPENAI_API_KEY/],
    ['a wrong path', { '*': [{ status: 404 }] }, /OPENAI_BASE_URL.*JUDGE_MODEL/],
    ['no verdict', { '*': [{ raw: 'hello', contentType: 'text/html' }] }, /OPENAI_BASE_URL.*JUDGE_MODEL/],
  ])('has a remedy of its own for %s, which names the variables', async (_, scripts, remedy) => {
    const run = await withJudge({ scripts });
    expect(run.result('judge')).toMatchObject({ status: 'failed', remedy: expect.stringMatching(remedy) });
  });

  it('names the time allowed when the judge is silent', async () => {
    const url = await serve((request, response) => {
      if (request.method === 'GET') response.end();
    });
    const run = await checked({ AGENT_URL: await status(200), OPENAI_BASE_URL: url, JUDGE_TIMEOUT: '50ms' });
    expect(run.result('judge')).toMatchObject({ status: 'failed', remedy: expect.stringContaining('JUDGE_TIMEOUT') });
  });

  it('fails when the reply is no verdict', async () => {
    const garbage = { raw: '<html>welcome</html>', contentType: 'text/html' };
    const run = await withJudge({ scripts: { '*': [garbage, garbage] } });
    expect(run.status).toBe(1);
    expect(run.result('judge')).toMatchObject({ status: 'failed', detail: expect.stringContaining('malformed') });
  });

  it('says so when a judge that answers gets a plain case wrong', async () => {
    const wrong = { reason: 'No.', verdict: '0' };
    const run = await withJudge({ scripts: { ...VERDICTS, outcome_comparison: wrong } });
    expect(run.status).toBe(0);
    expect(run.result('judge')).toMatchObject({ status: 'ok', detail: expect.stringContaining('stronger model') });
  });

  it('asks once and tells of the failure rather than trying until it goes away', async () => {
    const run = await withJudge({ scripts: { '*': [{ status: 503 }] } });
    expect(run.result('judge')).toMatchObject({ status: 'failed', detail: expect.stringContaining('unavailable') });
  });
});

describe('check of tracing', () => {
  it.each([
    ['a sampler', { OTEL_TRACES_SAMPLER: 'often' }, 'OTEL_TRACES_SAMPLER: "often" is not known; using'],
    [
      'one exporter of two',
      { OTEL_TRACES_EXPORTER: 'console,jaeger' },
      'OTEL_TRACES_EXPORTER: "jaeger" is not known; expected otlp, console or none; spans go to console alone',
    ],
    [
      'the exporter',
      { OTEL_TRACES_EXPORTER: 'jaeger' },
      '"jaeger" is not known; expected otlp, console or none; no spans are made',
    ],
    [
      'a protocol',
      { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      'The OTLP protocol "grpc" is not available',
    ],
    ['a size', { OTEL_BSP_MAX_QUEUE_SIZE: 'much' }, 'OTEL_BSP_MAX_QUEUE_SIZE: "much" is not a whole number above 0'],
    ['a file of settings', { OTEL_CONFIG_FILE: '/etc/otel.yaml' }, 'OTEL_CONFIG_FILE decides alone'],
  ])('warns of %s that the sidecar would not take as it stands, and fails for none', async (_, env, detail) => {
    const run = await checked({ AGENT_URL: await status(200), OTEL_TRACES_EXPORTER: 'console', ...env });
    expect(run.result('tracing')).toEqual({
      item: 'tracing',
      status: 'warning',
      detail: expect.stringContaining(detail),
    });
    expect(run.ok).toBe(true);
  });

  it('says nothing of variables that make sense', async () => {
    const run = await checked({ AGENT_URL: await status(200), OTEL_TRACES_SAMPLER: 'traceidratio' });
    expect(run.result('tracing')).toBeUndefined();
  });
});

describe('check of the exporter', () => {
  const withExporter = async (env: Readonly<Record<string, string>>) => {
    const run = await checked({ AGENT_URL: await status(200), OTEL_TRACES_EXPORTER: 'otlp', ...env });
    return { ...run, exporter: run.result('exporter') };
  };

  it('sends an empty export to the traces path, with the configured headers', async () => {
    const seen: unknown[] = [];
    const url = await serve((request, response) => {
      void text(request).then((body) => {
        seen.push([request.method, request.url, request.headers['x-key'], body]);
        response.end('{}');
      });
    });
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/`, OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b, other = c' };
    const { exporter } = await withExporter(env);
    expect(exporter).toMatchObject({ status: 'ok' });
    expect(seen).toEqual([['POST', '/v1/traces', 'a b', '{"resourceSpans":[]}']]);
  });

  it('takes the endpoint for traces as it stands', async () => {
    const seen: unknown[] = [];
    const url = await serve((request, response) => {
      seen.push(request.url);
      response.end();
    });
    await withExporter({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://elsewhere',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/otel`,
    });
    expect(seen).toEqual(['/otel']);
  });

  it('fails when the configured collector is not there', async () => {
    const run = await withExporter({ OTEL_EXPORTER_OTLP_ENDPOINT: await nobody() });
    expect(run.status).toBe(1);
    expect(run.exporter).toMatchObject({ status: 'failed', detail: expect.stringContaining('nothing listens there') });
  });

  it('warns when nobody set an endpoint and nothing listens at the default one, and says how to turn spans off', async () => {
    // Whether something listens there is the machine's to say.
    const run = await withExporter({});
    const isThere = run.exporter?.status === 'ok';
    expect(run.status).toBe(0);
    if (isThere) return;
    expect(run.exporter).toMatchObject({
      status: 'warning',
      detail:
        'OTEL_EXPORTER_OTLP_ENDPOINT is not set, and the default http://localhost:4318/v1/traces refused the connection: nothing listens there.',
      remedy: expect.stringContaining('OTEL_TRACES_EXPORTER=none'),
    });
  });

  it.each([503, 429])('warns of a collector that fails for now, with %i', async (code) => {
    const run = await withExporter({ OTEL_EXPORTER_OTLP_ENDPOINT: await status(code) });
    expect(run.status).toBe(0);
    expect(run.exporter).toMatchObject({ status: 'warning', detail: expect.stringContaining(`status ${code}`) });
  });

  it('sends the credentials of the address as the exporter does, and does not show them', async () => {
    const seen: unknown[] = [];
    const url = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.end();
    });
    const { exporter } = await withExporter({ OTEL_EXPORTER_OTLP_ENDPOINT: url.replace('//', '//me:s%40me@') });
    expect(exporter).toMatchObject({ status: 'ok' });
    expect(JSON.stringify(exporter)).not.toContain('s%40me');
    expect(seen).toEqual([`Basic ${Buffer.from('me:s@me').toString('base64')}`]);
  });

  it.each([
    [401, 'OTEL_EXPORTER_OTLP_HEADERS'],
    [404, 'without /v1/traces'],
    [400, 'own log'],
    [415, 'own log'],
    [301, 'own log'],
  ])('fails with status %i and says where to look', async (code, remedy) => {
    const { exporter } = await withExporter({ OTEL_EXPORTER_OTLP_ENDPOINT: await status(code) });
    expect(exporter).toMatchObject({ status: 'failed', remedy: expect.stringContaining(remedy) });
  });

  it.each([{ OTEL_TRACES_EXPORTER: 'none' }, { OTEL_SDK_DISABLED: 'true' }])('is skipped with %j', async (env) => {
    const { exporter } = await withExporter(env);
    expect(exporter).toMatchObject({ status: 'skipped' });
  });

  it.each(['collector', 'localhost:4318', 'ftp://collector'])('fails for an endpoint like %s', async (endpoint) => {
    const { exporter } = await withExporter({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
    expect(exporter).toMatchObject({ status: 'failed', detail: expect.stringContaining('http:// or https://') });
  });
});
