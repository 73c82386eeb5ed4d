import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveConfig } from '../../src/config/resolve.ts';
import { startSidecar } from '../../src/main.ts';
import { METRICS } from '../../src/metrics/registry.ts';
import type { Refusal } from '../../src/proxy/refusals.ts';
import type { ProxyOptions } from '../../src/proxy/options.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { agentThat, ask, closedPort, httpAgent, rawAgent, rawClient, startProxy } from './support.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** The first line that the agent reads when a client sends `head`, which comes to its end here. */
async function targetAtAgent(head: string, options: Partial<ProxyOptions> = {}): Promise<string> {
  const asked = Promise.withResolvers<string>();
  const agent = await agentThat((socket, received) => {
    asked.resolve(received.split('\r\n', 1)[0]!);
    socket.write(OK);
  });
  const sidecar = await startProxy(agent.url, options);
  await rawClient(sidecar.port, `${head}\r\n\r\n`).until('ok');
  return asked.promise;
}

/** What a client reads whose request must not reach the agent. */
async function refusal(bytes: string, options: Partial<ProxyOptions> = {}) {
  const agent = await agentThat((socket) => socket.write(OK));
  const refused: Refusal[] = [];
  const sidecar = await startProxy(agent.url, { onRefused: (reason) => refused.push(reason), ...options });
  const client = rawClient(sidecar.port, bytes);
  await client.until('\r\n\r\n');
  expect(client.received()).toContain('Connection: close');
  expect(await client.closed).toBe('end');
  const [head = '', body = ''] = client.received().split('\r\n\r\n');
  expect(agent.sockets.size).toBe(0);
  expect(sidecar.requests).toEqual([]);
  return { status: Number(head.split(' ')[1]), error: JSON.parse(body).error, text: client.received(), refused };
}

describe('the agent that a request goes to', () => {
  it.each([
    ['an address of the cloud`s metadata', 'http://169.254.169.254/latest/meta-data', '/latest/meta-data'],
    ['another host', 'http://evil.example:81/run?x=1', '/run?x=1'],
    ['another host by https', 'https://evil.example/run', '/run'],
    ['a host without a path', 'http://evil.example', '/'],
    ['a host with a query only', 'HTTP://evil.example?x', '/?x'],
    ['an IPv6 address', 'http://[fd00:ec2::254]/run', '/run'],
  ])('is not for an absolute target to say: %s', async (_, target, path) => {
    expect(await targetAtAgent(`GET ${target} HTTP/1.1\r\nHost: c`)).toBe(`GET ${path} HTTP/1.1`);
  });

  it.each(['//evil.example/path', '/\\evil.example', '/http://evil.example/', '/@evil.example', '/.evil.example'])(
    'is not for a path that looks like more to say: %s',
    async (path) => {
      expect(await targetAtAgent(`GET ${path} HTTP/1.1\r\nHost: c`)).toBe(`GET ${path} HTTP/1.1`);
    },
  );

  it.each(['Host', 'X-Forwarded-Host', 'X-Forwarded-Server', 'X-Host', 'X-Original-URL', 'X-Rewrite-URL', 'Forwarded'])(
    'is not for %s to say',
    async (name) => {
      const other = await rawAgent(() => expect.unreachable());
      const value = name === 'Forwarded' ? `host="127.0.0.1:${other.port}"` : `127.0.0.1:${other.port}`;
      const fields = name === 'Host' ? `Host: ${value}` : `Host: c\r\n${name}: ${value}`;
      for (const hostHeader of ['agent', 'client'] as const) {
        expect(await targetAtAgent(`GET /run HTTP/1.1\r\n${fields}`, { hostHeader })).toBe('GET /run HTTP/1.1');
      }
    },
  );

  it('is not for an upgrade with an absolute target to say', async () => {
    const head = 'GET http://evil.example/chat HTTP/1.1\r\nHost: c\r\nConnection: Upgrade\r\nUpgrade: websocket';
    expect(await targetAtAgent(head)).toBe('GET /chat HTTP/1.1');
  });

  it.each([
    '/%00',
    '/a%0d%0aX-Injected:%20yes',
    '/a%2F..%2Fb',
    '/%2e%2e/b',
    '/a;b=c/..;/d',
    '/?q=%0a%22%27<script>',
    '/a?next=http://evil.example/../x',
  ])('reads the target as the client wrote it: %s', async (target) => {
    expect(await targetAtAgent(`GET ${target} HTTP/1.1\r\nHost: c`)).toBe(`GET ${target} HTTP/1.1`);
  });

  it('reads `OPTIONS *` as such', async () => {
    expect(await targetAtAgent('OPTIONS * HTTP/1.1\r\nHost: c')).toBe('OPTIONS * HTTP/1.1');
  });
});

describe('a request that can be read in two ways is refused before the agent is asked', () => {
  it.each([
    ['credentials in the target', 'GET http://user:secret@evil.example/ HTTP/1.1\r\nHost: c\r\n\r\n'],
    ['a target without a host', 'GET http:///secret HTTP/1.1\r\nHost: c\r\n\r\n'],
    ['a target with a doubtful host', 'GET http://evil.example\\secret/ HTTP/1.1\r\nHost: c\r\n\r\n'],
    ['another scheme', 'GET file:///secret HTTP/1.1\r\nHost: c\r\n\r\n'],
    ['a scheme that is none of ours', 'GET gopher://secret:70/ HTTP/1.1\r\nHost: c\r\n\r\n'],
    ['`*` of another method than OPTIONS', 'GET * HTTP/1.1\r\nHost: c\r\n\r\n'],
    ['more behind `*`', 'OPTIONS *secret HTTP/1.1\r\nHost: c\r\n\r\n'],
    ['a target that is no path', 'GET secret HTTP/1.1\r\nHost: c\r\n\r\n'],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: c\r\nHost: secret\r\n\r\n'],
    ['one host twice', 'GET / HTTP/1.1\r\nHost: secret\r\nhOST: secret\r\n\r\n'],
    ['no host', 'GET /secret HTTP/1.1\r\n\r\n'],
    ['a host with a path', 'GET / HTTP/1.1\r\nHost: c/secret\r\n\r\n'],
    ['a host with credentials', 'GET / HTTP/1.1\r\nHost: secret@c\r\n\r\n'],
    ['a host with a space', 'GET / HTTP/1.1\r\nHost: c secret\r\n\r\n'],
    ['a host with a quote', 'GET / HTTP/1.1\r\nHost: c"secret\r\n\r\n'],
    [
      'a body of two framings',
      'POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a coding that is not chunked at its end',
      'POST / HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: identity\r\n\r\nsecret',
    ],
    ['chunks of HTTP/1.0', 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 6\r\nContent-Length: 7\r\n\r\nsecret'],
  ])('400: %s', async (_, bytes) => {
    const { status, error, text, refused } = await refusal(bytes);

    expect(status).toBe(400);
    expect(error.code).toBe('bad_request');
    expect(text).not.toContain('secret');
    expect(refused).toEqual(['bad_request']);
  });

  it.each([
    [
      'a coding over chunked',
      'POST / HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
      501,
      'coding_unsupported',
    ],
    ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: c\r\n\r\n', 505, 'version_unsupported'],
    ['HTTP/0.9', 'GET /\r\n\r\n', 505, 'version_unsupported'],
  ])('%s', async (_, bytes, status, code) => {
    expect(await refusal(bytes)).toMatchObject({ status, error: { code }, refused: [code] });
  });

  it('also when it asks to be told to go on, and when it asks for an upgrade', async () => {
    const doubtful = 'POST http://user@evil.example/ HTTP/1.1\r\nHost: c\r\nContent-Length: 1\r\n';

    expect((await refusal(`${doubtful}Expect: 100-continue\r\n\r\n`)).status).toBe(400);
    expect((await refusal(`${doubtful}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)).status).toBe(400);
  });
});

describe('CONNECT', () => {
  it('is refused, and what is behind it is not looked at', async () => {
    const other = await rawAgent(() => expect.unreachable());

    const { status, error, text, refused } = await refusal(
      `CONNECT 127.0.0.1:${other.port} HTTP/1.1\r\nHost: 127.0.0.1:${other.port}\r\n\r\nGET /secret HTTP/1.1\r\nHost: c\r\n\r\n`,
    );

    expect(status).toBe(501);
    expect(error.code).toBe('tunnel_refused');
    expect(text.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
    expect(refused).toEqual(['tunnel_refused']);
  });

  it('waits behind an answer that is due', async () => {
    const asked = Promise.withResolvers<() => void>();
    const agent = await agentThat((socket) => asked.resolve(() => socket.write(OK)));
    const sidecar = await startProxy(agent.url);
    const client = rawClient(
      sidecar.port,
      'GET / HTTP/1.1\r\nHost: c\r\n\r\nCONNECT evil:80 HTTP/1.1\r\nHost: evil:80\r\n\r\n',
    );
    (await asked.promise)();
    await client.closed;

    expect(client.received()).toMatch(/^HTTP\/1\.1 200 OK[^]*okHTTP\/1\.1 501 Not Implemented/);
  });
});

describe('what a client or an agent says', () => {
  it('is not in the sidecar`s own answers', async () => {
    const sidecar = await startProxy('', {
      agents: [{ name: 'one', url: `http://127.0.0.1:${await closedPort()}`, match: '/one' }],
    });
    const marked = { headers: { 'x-secret': 's3cret', 'user-agent': 's3cret' } };

    const unrouted = await ask(`${sidecar.url}/s3cret?s3cret`, marked);
    const unreachable = await ask(`${sidecar.url}/one/s3cret`, marked);

    expect([unrouted.status, unreachable.status]).toEqual([404, 502]);
    for (const { body, rawHeaders, statusMessage } of [unrouted, unreachable]) {
      expect([body.toString(), ...rawHeaders, statusMessage].join(' ')).not.toContain('s3cret');
    }
  });

  it.each([
    ['a folded field', 'HTTP/1.1 302 Found\r\nLocation: /\r\n Set-Cookie: a=1\r\nContent-Length: 0\r\n\r\n'],
    ['a bare CR in a field', 'HTTP/1.1 302 Found\r\nLocation: /\rSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n'],
    ['a control character in the phrase', 'HTTP/1.1 200 O\x01K\r\nContent-Length: 0\r\n\r\n'],
    ['a NUL in a field', 'HTTP/1.1 200 OK\r\nX-A: a\x00b\r\nContent-Length: 0\r\n\r\n'],
  ])('cannot begin a line of its own in an answer: %s', async (_, bytes) => {
    const agent = await agentThat((socket) => socket.end(bytes, 'latin1'));
    const sidecar = await startProxy(agent.url);

    const answer = await ask(sidecar.url);

    expect(answer.status).toBe(502);
    expect(answer.statusMessage).toBe('Bad Gateway');
    expect(JSON.parse(answer.body.toString()).error.code).toBe('upstream_invalid');
    expect(answer.headers).not.toHaveProperty('set-cookie');
  });

  it('passes where it is allowed: a phrase and a Location as the agent wrote them', async () => {
    const agent = await agentThat((socket) =>
      socket.end(
        'HTTP/1.1 302 Over <there>\r\nLocation: //evil.example/\xe9?a=%0d%0a\r\nContent-Length: 0\r\n\r\n',
        'latin1',
      ),
    );
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await client.until('\r\n\r\n');

    expect(client.received()).toContain('HTTP/1.1 302 Over <there>\r\nLocation: //evil.example/\xe9?a=%0d%0a\r\n');
  });
});

describe('the admin port', () => {
  const PATHS = [
    '/metrics',
    '/livez',
    '/readyz',
    '/console',
    '/api',
    '/api/x',
    '//metrics',
    '/./metrics',
    '/%6detrics',
  ];

  async function sidecarFor(agentUrl: string, match: string) {
    process.env['OTEL_SDK_DISABLED'] = 'true';
    const env = { AGENT_URL: agentUrl, AGENT_MATCH: match, HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1' };
    const sets = ['listen.port=0', 'admin.port=0', 'shutdown.grace=0s'];
    const result = resolveConfig({ env, sets }, METRICS);
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    const sidecar = await startSidecar(result.config, { log: createLog({ level: 'silent' }), worker: false });
    onTestFinished(() => sidecar.stop());
    const metrics = async () => (await ask(`http://127.0.0.1:${sidecar.adminPort}/metrics`)).body.toString();
    return { ...sidecar, metrics };
  }

  it('is not reached through the port of the proxy: its paths are the agent`s there', async () => {
    const agent = await httpAgent((request, response) => response.end(`the agent at ${request.url}`));
    const { proxyPort, adminPort } = await sidecarFor(agent.url, '/');

    for (const path of PATHS) {
      const client = rawClient(
        proxyPort,
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${adminPort}\r\nConnection: close\r\n\r\n`,
      );
      await client.closed;
      expect(client.received()).toContain(`the agent at ${path}`);
    }
    const absolute = rawClient(
      proxyPort,
      `GET http://127.0.0.1:${adminPort}/metrics HTTP/1.1\r\nHost: 127.0.0.1:${adminPort}\r\nConnection: close\r\n\r\n`,
    );
    await absolute.closed;
    expect(absolute.received()).toContain('the agent at /metrics');
  });

  it('is not reached where no agent takes its paths: 404, and counted', async () => {
    const agent = await httpAgent(() => expect.unreachable());
    const { proxyPort, metrics } = await sidecarFor(agent.url, '/agent');

    for (const path of PATHS) {
      const { status, body } = await ask(`http://127.0.0.1:${proxyPort}${path}`);
      expect([path, status, JSON.parse(body.toString()).error.code]).toEqual([path, 404, 'no_route']);
    }
    expect(await metrics()).toContain(`agui_proxy_refused_total{reason="no_route"} ${PATHS.length}\n`);
  });
});
