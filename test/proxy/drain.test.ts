import { Agent } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProxyServer } from '../../src/proxy/server.ts';
import { ask, bodyOf, httpAgent, POST_JSON, proxyOptions, rawClient, RUN_REQUEST, startProxy } from './support.ts';

/** An agent whose streams begin at once and end when told. */
async function steeredAgent() {
  const finish = Promise.withResolvers<void>();
  const agent = await httpAgent(async (request, response) => {
    await bodyOf(request);
    if (request.url === '/short') return response.end('ok');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n');
    await finish.promise;
    return response.end('data: 2\n\n');
  });
  return { agent, finish: () => finish.resolve() };
}

const STREAM = 'GET / HTTP/1.1\r\nHost: c\r\n\r\n';

describe('stopping', () => {
  it('lets an open stream come to its end, and tells its observation before it is done', async () => {
    const { agent, finish } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, STREAM);
    await client.until('data: 1');

    const stopped = sidecar.proxy.close({ graceMs: 60_000 });
    await expect(ask(sidecar.url)).rejects.toThrow('ECONNREFUSED');
    finish();
    await client.until('data: 2');
    await stopped;

    expect(sidecar.endings()).toBe(1);
    expect((await sidecar.ended()).end.transport).toBe('complete');
    expect(client.received()).toMatch(/\r\n0\r\n\r\n$/);
  });

  it('cuts what is still open when the grace is over, and blames neither side', async () => {
    const { agent } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, STREAM);
    await client.until('data: 1');

    await sidecar.proxy.close({ graceMs: 10 });

    await client.closed;
    expect(client.received()).not.toMatch(/\r\n0\r\n/);
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'client_aborted', errorCode: 'shutting_down' });
  });

  it('may be asked again with a shorter grace', async () => {
    const { agent } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, STREAM);
    await client.until('data: 1');

    const patient = sidecar.proxy.close({ graceMs: 60_000 });
    await sidecar.proxy.close({ graceMs: 0 });
    await patient;
    await sidecar.proxy[Symbol.asyncDispose]();

    expect(sidecar.endings()).toBe(1);
  });

  it('answers on connections that are open, tells their clients to leave, and resets none', async () => {
    const { agent, finish } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    const open = rawClient(sidecar.port, STREAM);
    await open.until('data: 1');
    const client = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => client.destroy());
    const post = () => ask(`${sidecar.url}/short`, { ...POST_JSON, agent: client }, RUN_REQUEST);
    expect((await post()).headers.connection).toBe('keep-alive');

    const stopped = sidecar.proxy.close({ graceMs: 60_000 });
    const answer = await post();
    finish();
    await stopped;

    expect(answer).toMatchObject({ status: 200, headers: { connection: 'close' } });
  });

  it('closes connections that are idle', async () => {
    const { agent } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    const idle = rawClient(sidecar.port, 'GET /short HTTP/1.1\r\nHost: c\r\n\r\n');
    await idle.until('\r\n\r\nok');

    await sidecar.proxy.close({ graceMs: 60_000 });

    expect(await idle.closed).toBe('end');
  });

  it('is possible before it listened, and twice', async () => {
    const { agent } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    const never = createProxyServer(proxyOptions(agent.url));

    for (const proxy of [never, sidecar.proxy, sidecar.proxy]) {
      await expect(proxy.close({ graceMs: 60_000 })).resolves.toBeUndefined();
    }
  });
});

describe('listening', () => {
  it('rejects when the port is taken', async () => {
    const { agent } = await steeredAgent();
    const first = await startProxy(agent.url);
    const second = createProxyServer(proxyOptions(agent.url));

    await expect(second.listen({ port: first.port, host: '127.0.0.1' })).rejects.toThrow('EADDRINUSE');
  });
});
