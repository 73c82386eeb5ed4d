import { once } from 'node:events';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { createServer, request as httpRequest, type RequestListener } from 'node:http';
import { createServer as createNetServer, type ListenOptions, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProxyServer } from '../../src/proxy/server.ts';
import { ask, bodyOf, httpAgent, POST_JSON, proxyOptions, RUN_REQUEST, startProxy } from './support.ts';

/** Everything that is said to the agent of who asked for what. */
const tellProvenance: RequestListener = (request, response) => {
  const { headers } = request;
  response.end(JSON.stringify([headers.host, headers['x-forwarded-for'] ?? null, headers['x-forwarded-host'] ?? null]));
};

async function listening(server: Server, where: ListenOptions): Promise<Server> {
  server.listen(where);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return server;
}

const portOf = (server: Server) => (server.address() as { port: number }).port;

/** Where a machine has no IPv6, or none that IPv4 is mapped into, there is nothing to reach. */
const hasHost = async (host: string) => {
  const probe = createNetServer().listen({ port: 0, host });
  return once(probe, 'listening').then(
    () => {
      probe.close();
      return true;
    },
    () => false,
  );
};
const hasIpv6 = await hasHost('::1');

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'agui-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

/** The sidecar, listening somewhere else than the tests' usual address. */
async function sidecarAt(agentUrl: string, where: ListenOptions) {
  const proxy = createProxyServer(proxyOptions(agentUrl));
  const address = await proxy.listen(where);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return address;
}

describe.skipIf(!hasIpv6)('IPv6', () => {
  it('is how an agent may be reached; Host has its address in brackets', async () => {
    const server = createServer(tellProvenance);
    await listening(server, { port: 0, host: '::1' });
    onTestFinished(() => server.closeAllConnections());
    const sidecar = await startProxy(`http://[::1]:${portOf(server)}/base`);

    const { body } = await ask(sidecar.url);

    expect(JSON.parse(body.toString())[0]).toBe(`[::1]:${portOf(server)}`);
    expect(sidecar.requests[0]?.upstream).toEqual({ host: '::1', port: portOf(server) });
  });

  it('is how a client may come; the agent is told its address as it is', async () => {
    const agent = await httpAgent(tellProvenance);
    const address = await sidecarAt(agent.url, { port: 0, host: '::1' });
    expect(address).toMatchObject({ address: '::1' });
    const { port } = address as { port: number };

    const { body } = await ask(`http://[::1]:${port}/`);

    expect(JSON.parse(body.toString())).toEqual([`127.0.0.1:${agent.port}`, '::1', `[::1]:${port}`]);
  });

  it('listens for both: a client that comes by IPv4 is told of as such', async () => {
    const agent = await httpAgent(tellProvenance);
    const { port } = (await sidecarAt(agent.url, { port: 0, host: '::' })) as { port: number };

    const { body } = await ask(`http://127.0.0.1:${port}/`);

    expect(JSON.parse(body.toString()).slice(1)).toEqual(['127.0.0.1', `127.0.0.1:${port}`]);
  });

  it('of an agent that is down is a 502 that shows no address', async () => {
    const server = await listening(createNetServer(), { port: 0, host: '::1' });
    const port = portOf(server);
    server.close();
    await once(server, 'close');
    const sidecar = await startProxy(`http://[::1]:${port}`);

    const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect(answer.status).toBe(502);
    expect(answer.body.toString()).toContain('(ECONNREFUSED)');
    expect(answer.body.toString()).not.toContain('::1');
  });
});

// Where there are no such sockets, the paths mean something else.
describe.skipIf(process.platform === 'win32')('a unix socket', () => {
  it('is how an agent may be reached, by a path with any characters, and streams', async () => {
    const path = join(await folder(), 'agent of 海.sock');
    const server = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${request.url} ${request.headers.host} `);
      void bodyOf(request).then((body) => response.end(`${body}\n\n`));
    });
    await listening(server, { path });
    onTestFinished(() => server.closeAllConnections());
    const sidecar = await startProxy(`unix:${encodeURI(path)}`);

    for (let round = 0; round < 2; round += 1) {
      const answer = await ask(`${sidecar.url}/run?x=1`, POST_JSON, 'hi');
      expect(answer.body.toString()).toBe('data: /run?x=1 localhost hi\n\n');
    }
    expect(sidecar.requests[0]?.upstream).toEqual({ host: path, port: 0 });
  });

  it.each([
    ['that is not there', 'ENOENT'],
    ['on which nobody listens', 'ECONNREFUSED'],
  ])('%s is a 502 that does not show its path', async (_name, cause) => {
    const path = join(await folder(), 'secret.sock');
    if (cause === 'ECONNREFUSED') {
      const server = await listening(createNetServer(), { path });
      // A process that ends without closing leaves the file behind; so does moving it away and back.
      await rename(path, `${path}.left`);
      server.close();
      await once(server, 'close');
      await rename(`${path}.left`, path);
    }
    const sidecar = await startProxy(`unix:${path}`);

    const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body.toString()).error).toMatchObject({
      code: 'upstream_unreachable',
      message: expect.stringContaining(`(${cause})`),
    });
    expect(answer.body.toString()).not.toContain('secret');
  });

  it('is how a client may come: it has no address to tell the agent, and what is told of hops before it is kept', async () => {
    const path = join(await folder(), 'sidecar.sock');
    const agent = await httpAgent(tellProvenance);
    expect(await sidecarAt(agent.url, { path })).toBe(path);

    const answers: unknown[] = [];
    for (const headers of [{ host: 'c' }, { host: 'c', 'x-forwarded-for': '10.0.0.1' }]) {
      const request = httpRequest({ socketPath: path, headers, agent: false }).end();
      const [response] = await once(request, 'response');
      answers.push(JSON.parse(await bodyOf(response)));
    }

    const host = `127.0.0.1:${agent.port}`;
    expect(answers).toEqual([
      [host, null, 'c'],
      [host, '10.0.0.1', 'c'],
    ]);
  });
});
