import { describe, expect, it } from 'vitest';
import { ask, bodyOf, httpAgent, POST_JSON, rawAgent, rawClient, RUN_REQUEST, startProxy } from './support.ts';
import { until } from './turns.ts';

/** Answers each request with its own path and body, and counts the connections that it was asked on. */
async function echoAgent() {
  const asked: string[] = [];
  const agent = await httpAgent(async (request, response) => {
    const body = await bodyOf(request).catch(() => undefined);
    if (body === undefined) return;
    asked.push(`${request.url} ${body}`);
    response.end(`${request.url} ${body}`);
  });
  return { agent, asked };
}

/** Several requests, each of which must get its own answer: nothing of an earlier one may be left on a connection. */
async function expectOwnAnswers(url: string): Promise<void> {
  for (const path of ['/one', '/two', '/three']) {
    expect((await ask(`${url}${path}`, POST_JSON, path)).body.toString()).toBe(`${path} ${path}`);
  }
}

describe('a request body', () => {
  it.each(['end', 'destroy', 'resetAndDestroy'] as const)(
    'shorter than announced is no request for the agent, and does not touch the next (%s)',
    async (leave) => {
      const { agent, asked } = await echoAgent();
      const sidecar = await startProxy(agent.url);
      await expectOwnAnswers(sidecar.url);

      const client = rawClient(sidecar.port, 'POST /short HTTP/1.1\r\nHost: c\r\nContent-Length: 10\r\n\r\nhalf');
      await until(() => sidecar.requests.length === 4);
      client.socket[leave]();
      await client.closed;
      expect((await sidecar.ended(3)).end).toMatchObject({ transport: 'client_aborted' });

      await expectOwnAnswers(sidecar.url);
      expect(asked.filter((each) => each.startsWith('/short'))).toEqual([]);
      expect(client.received()).not.toMatch(/^HTTP\/1\.1 2/);
    },
  );

  it('longer than announced ends where it was announced; the rest is no request', async () => {
    const { agent, asked } = await echoAgent();
    const sidecar = await startProxy(agent.url);
    const client = rawClient(
      sidecar.port,
      'POST /long HTTP/1.1\r\nHost: c\r\nContent-Length: 4\r\n\r\nbody and more\r\n\r\n',
    );
    await client.closed;

    expect(client.received()).not.toContain('and more');
    expect(asked.filter((each) => each !== '/long body')).toEqual([]);
    await expectOwnAnswers(sidecar.url);
  });
});

describe('an answer', () => {
  it('shorter than announced is an error, and its connection is not used again', async () => {
    let connections = 0;
    const agent = await rawAgent((socket) => {
      connections += 1;
      socket.on('data', (bytes) => {
        const isShort = bytes.toString('latin1').startsWith('POST /short');
        if (isShort) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf');
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const sidecar = await startProxy(agent.url);

    for (let round = 1; round <= 5; round += 1) {
      await expect(ask(`${sidecar.url}/short`, POST_JSON, RUN_REQUEST)).rejects.toThrow('aborted');
      expect((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).body.toString()).toBe('ok');
      expect(connections).toBe(1 + round);
    }
  });
});
