import { Agent } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProxyServer } from '../../src/proxy/server.ts';
import { ask, bodyOf, httpAgent, POST_JSON, proxyOptions, rawClient, RUN_REQUEST, startProxy } from './support.ts';

/** An agent whose streams begin at once and end when told. */
async function steeredAgent() {
  const finish = Promise.withResolvers<void>();
  const asked: (string | undefined)[] = [];
  const agent = await httpAgent(async (request, response) => {
    asked.push(request.url);
    await bodyOf(request);
    if (request.url === '/short') return response.end('ok');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n');
    await finish.promise;
    return response.end('data: 2\n\n');
  });
  return { agent, asked, finish: () => finish.resolve() };
}

const STREAM = 'GET / HTTP/1.1\r\nHost: c\r\n\r\n';
const SHORT = 'GET /short HTTP/1.1\r\nHost: c\r\n\r\n';

/** Asks until connections are refused. */
async function untilRefused(url: string): Promise<void> {
  const isAnswered = () =>
    ask(`${url}/short`).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code !== 'ECONNREFUSED',
    );
  while (await isAnswered());
}

describe('stopping', () => {
  it('lets an open stream come to its end, and tells its observation before it is done', async () => {
    const { agent, finish } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, STREAM);
    await client.until('data: 1');

    const stopped = sidecar.proxy.close({ graceMs: 60_000 });
    await untilRefused(sidecar.url);
    finish();
    await client.until('data: 2');
    await stopped;

    expect(sidecar.endings()).toBe(sidecar.requests.length);
    expect((await sidecar.ended(sidecar.endings() - 1)).end.transport).toBe('complete');
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

  it('answers whoever is in the queue of the listener when it stops', async () => {
    const { agent } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    // Made by the kernel within this turn, and taken by Node in later ones.
    const clients = Array.from({ length: 100 }, () => rawClient(sidecar.port, SHORT));

    await sidecar.proxy.close({ graceMs: 60_000 });

    expect(new Set(await Promise.all(clients.map(({ closed }) => closed)))).toEqual(new Set(['end']));
    for (const client of clients) expect(client.received()).toMatch(/^HTTP\/1.1 200 .*ok$/s);
  });

  it('can tell clients to leave first, and go on to accept', async () => {
    const { agent } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    const before = sidecar.proxy.accepted();

    sidecar.proxy.startDraining();

    for (let each = 0; each < 3; each++) {
      expect(await ask(`${sidecar.url}/short`)).toMatchObject({ status: 200, headers: { connection: 'close' } });
    }
    expect(sidecar.proxy.accepted() - before).toBe(3);
  });

  it('closes connections that are idle, and those on which nothing ever came', async () => {
    const { agent } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    const idle = rawClient(sidecar.port, SHORT);
    await idle.until('\r\n\r\nok');
    const silent = rawClient(sidecar.port, '');

    await sidecar.proxy.close({ graceMs: 60_000 });

    expect(await Promise.all([idle.closed, silent.closed])).toEqual(['end', 'end']);
  });

  it('closes no connection on which a request has begun to come', async () => {
    const { agent, finish } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    const open = rawClient(sidecar.port, STREAM);
    const slow = rawClient(sidecar.port, `${SHORT}GET /sh`);
    const idle = rawClient(sidecar.port, SHORT);
    await Promise.all([open.until('data: 1'), slow.until('\r\n\r\nok'), idle.until('\r\n\r\nok')]);
    slow.socket.write('ort');

    const stopped = sidecar.proxy.close({ graceMs: 60_000 });
    await idle.closed;
    slow.socket.write(' HTTP/1.1\r\nHost: c\r\n\r\n');
    expect(await slow.closed).toBe('end');
    finish();
    await stopped;

    expect(slow.received().match(/HTTP\/1.1 200/g)).toHaveLength(2);
  });

  it('answers what was pipelined before it says that it closes', async () => {
    const { agent, finish } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    sidecar.proxy.startDraining();

    const client = rawClient(sidecar.port, `${STREAM}${SHORT}`);
    await client.until('data: 1');
    finish();
    expect(await client.closed).toBe('end');

    const [, first, second] = client.received().split('HTTP/1.1 200 OK');
    expect(first).toMatch(/connection: keep-alive\r\n.*data: 2\n\n\r\n0\r\n\r\n$/is);
    expect(second).toMatch(/connection: close\r\n.*ok$/is);
  });

  it('takes no request behind an answer that was said to be the last', async () => {
    const { agent, asked, finish } = await steeredAgent();
    const sidecar = await startProxy(agent.url);
    sidecar.proxy.startDraining();

    const client = rawClient(sidecar.port, STREAM);
    await client.until('data: 1');
    client.socket.write(SHORT);
    await ask(`${sidecar.url}/short`);
    finish();
    expect(await client.closed).toBe('end');

    expect(client.received()).toMatch(/data: 2\n\n\r\n0\r\n\r\n$/);
    expect(asked).toEqual(['/', '/short']);
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
