import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { mkdtemp } from 'node:fs/promises';
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

/** Runs the command with `--json`; the collector is left out unless `env` says otherwise. */
async function checked(env: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const run = await runCommand(check, ['--json', ...args], { env: { OTEL_TRACES_EXPORTER: 'none', ...env } });
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
      env: { AGENT_URL: await status(405), AGENT_NAME: 'travel', OTEL_TRACES_EXPORTER: 'none' },
    });
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^configuration +ok /),
      expect.stringMatching(/^store +ok /),
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

  it.each([
    [401, 'OTEL_EXPORTER_OTLP_HEADERS'],
    [404, 'without /v1/traces'],
  ])('fails with status %i and says where to look', async (code, remedy) => {
    const { exporter } = await withExporter({ OTEL_EXPORTER_OTLP_ENDPOINT: await status(code) });
    expect(exporter).toMatchObject({ status: 'failed', remedy: expect.stringContaining(remedy) });
  });

  it.each([{ OTEL_TRACES_EXPORTER: 'none' }, { OTEL_SDK_DISABLED: 'true' }])('is skipped with %j', async (env) => {
    const { exporter } = await withExporter(env);
    expect(exporter).toMatchObject({ status: 'skipped' });
  });

  it('fails for an endpoint that is no URL', async () => {
    const { exporter } = await withExporter({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' });
    expect(exporter).toMatchObject({ status: 'failed', detail: expect.stringContaining('is not a URL') });
  });
});
