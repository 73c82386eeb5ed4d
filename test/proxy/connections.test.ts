import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Refusal } from '../../src/proxy/refusals.ts';
import { watchSockets } from './socket-watch.ts';
import {
  agentThat,
  ask,
  bodyOf,
  httpAgent,
  observation,
  POST_JSON,
  rawAgent,
  rawClient,
  RUN_REQUEST,
  startProxy,
} from './support.ts';
import { until } from './turns.ts';

// Only the sidecar's limits run on the test's time; the sockets and their timers are real.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('connections to the agent', () => {
  it('are used again, also after an answer that had to be chunked', async () => {
    const used = new Set<Socket>();
    const agent = await httpAgent((request, response) => {
      used.add(request.socket);
      request.resume().on('end', () => response.end('ok'));
    });
    const sidecar = await startProxy(agent.url);
    for (let round = 0; round < 5; round += 1) await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect(used.size).toBe(1);
  });

  it.each(['destroy', 'resetAndDestroy', 'end'] as const)(
    'that the agent closes in the moment in which they are taken cost no request (%s)',
    async (close) => {
      const used = new Set<Socket>();
      const agent = await httpAgent((request, response) => {
        used.add(request.socket);
        request.resume().on('end', () => response.end('ok'));
      });
      // The sidecar has no turn to notice between its observer's call and the start of the agent's request.
      const observe = () => {
        for (const socket of agent.sockets) socket[close]();
        return observation(() => {});
      };
      const sidecar = await startProxy(agent.url, { observe });

      const statuses: number[] = [];
      for (let round = 0; round < 60; round += 1) {
        statuses.push((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).status);
      }

      expect(statuses).toEqual(Array.from({ length: 60 }, () => 200));
      expect(used.size).toBe(60);
    },
  );

  it('that go stale all at once cost no request of a burst of 80', async () => {
    const warmed = Promise.withResolvers<void>();
    const agent = await httpAgent(async (request, response) => {
      await bodyOf(request);
      await warmed.promise;
      response.end('ok');
    });
    let burst = false;
    const observe = () => {
      if (burst) for (const socket of agent.sockets) socket.destroy();
      burst = false;
      return observation(() => {});
    };
    const sidecar = await startProxy(agent.url, { observe });
    const posts = () => Promise.all(Array.from({ length: 80 }, () => ask(sidecar.url, POST_JSON, RUN_REQUEST)));
    const warming = posts();
    await until(() => agent.sockets.size === 80);
    warmed.resolve();
    await warming;

    burst = true;
    const statuses = (await posts()).map(({ status }) => status);

    expect(statuses).toEqual(Array.from({ length: 80 }, () => 200));
  });

  it('found closed cost no request either when the sidecar was too busy to look for a while', async () => {
    const agent = await httpAgent((request, response) => request.resume().on('end', () => response.end('ok')));
    let isBusy = false;
    const observe = () => {
      if (isBusy) {
        for (const socket of agent.sockets) socket.destroy();
        // In the turn in which the connection is taken, before anything can be read from it.
        setImmediate(() => vi.advanceTimersByTime(60_000));
      }
      return observation(() => {});
    };
    const sidecar = await startProxy(agent.url, { observe });
    await ask(sidecar.url, POST_JSON, RUN_REQUEST);
    isBusy = true;

    expect((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).status).toBe(200);
  });

  /** The idle timer of the kept connection to an agent that announces `hint`, which must then end it. */
  async function idleTimerUnder(hint: string | undefined): Promise<number> {
    const sockets = watchSockets();
    const agent = await agentThat((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${hint ? `Keep-Alive: ${hint}\r\n` : ''}Content-Length: 2\r\n\r\nok`);
    });
    const sidecar = await startProxy(agent.url);
    await ask(sidecar.url, POST_JSON, RUN_REQUEST);
    const [kept] = sockets.toAgent(agent);
    await until(() => Boolean(kept?.timeout));
    const timeout = kept?.timeout ?? 0;
    kept?.emit('timeout');
    await until(() => agent.sockets.size === 0);
    expect((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).status).toBe(200);
    return timeout;
  }

  it.each([
    ['nothing', undefined, 4_000],
    ['120 s', 'timeout=120', 4_000],
    ['5 s', 'timeout=5', 4_000],
    ['4 s', 'timeout=4', 3_000],
    ['2 s and a count', 'timeout=2, max=100', 1_000],
  ])('are closed a second before the agent does, or after 4 s: it announces %s', async (_name, hint, expectedMs) => {
    expect(await idleTimerUnder(hint)).toBe(expectedMs);
  });

  it('are closed a second before the agent does, wherever in its announcement that stands', async () => {
    expect(await idleTimerUnder('max=100, timeout=2')).toBe(1_000);
  });

  it.each(['timeout=1', 'timeout=0'])('are not kept when the agent announces %s', async (hint) => {
    const agent = await agentThat((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nKeep-Alive: ${hint}\r\nContent-Length: 2\r\n\r\nok`);
    });
    const sidecar = await startProxy(agent.url);
    await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    await until(() => agent.sockets.size === 0);
    expect((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).status).toBe(200);
  });

  it('that are reset before they stand, when nothing can have been sent, are tried once more', async () => {
    let connections = 0;
    const agent = await rawAgent((socket) => {
      connections += 1;
      // In the middle of the handshake.
      socket.once('data', () => socket.resetAndDestroy());
    });
    const sidecar = await startProxy(agent.url.replace('http:', 'https:'));

    const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body.toString()).error.code).toBe('upstream_unreachable');
    expect(connections).toBe(2);
  });

  /** Answers the first request of the first connection, and does `then` with the second one. */
  async function agentThatTires(then: 'reset' | 'half an answer') {
    const bodies: string[] = [];
    let connections = 0;
    const agent = await rawAgent((socket) => {
      connections += 1;
      const first = connections === 1;
      let seen = 0;
      socket.on('data', (bytes) => {
        seen += 1;
        bodies.push(bytes.toString('latin1').split('\r\n\r\n')[1] ?? '');
        if (!first || seen === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        else if (then === 'reset') socket.resetAndDestroy();
        else socket.write('HTTP/1.1 2', () => socket.resetAndDestroy());
      });
    });
    return { agent, bodies, connections: () => connections };
  }

  it('that are found closed are replaced once, with the same body', async () => {
    const { agent, bodies, connections } = await agentThatTires('reset');
    const sidecar = await startProxy(agent.url);
    await ask(sidecar.url, POST_JSON, 'one');

    const answer = await ask(sidecar.url, POST_JSON, 'two');

    expect(answer.body.toString()).toBe('ok');
    expect(bodies.at(-1)).toBe('two');
    expect(connections()).toBe(2);
    expect((await sidecar.ended(1)).end).toMatchObject({ transport: 'complete', requestBytes: 3 });
  });

  it('that replaced one are used for that request alone', async () => {
    const { agent, connections } = await agentThatTires('reset');
    const sidecar = await startProxy(agent.url);
    await ask(sidecar.url, POST_JSON, 'one');
    await ask(sidecar.url, POST_JSON, 'two');

    // Hangs where it is kept.
    await until(() => agent.sockets.size === 0);
    expect(connections()).toBe(2);
  });

  /** Answers the first request; does the work of the next for `workMs` and dies of it, once. Tells what it was asked. */
  async function agentThatDiesAtWork(workMs: number) {
    const asked: string[] = [];
    const agent = await httpAgent(async (request, response) => {
      asked.push(`${request.method} ${await bodyOf(request)}`);
      if (asked.length !== 2) return response.end('ok');
      vi.advanceTimersByTime(workMs);
      return request.socket.resetAndDestroy();
    });
    return { agent, asked };
  }

  it.each(['POST', 'PATCH'])('are not tried again with a %s that the agent may have acted on', async (method) => {
    const { agent, asked } = await agentThatDiesAtWork(100);
    const sidecar = await startProxy(agent.url);
    await ask(sidecar.url, { method }, 'one');

    const answer = await ask(sidecar.url, { method }, 'two');

    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body.toString()).error.code).toBe('upstream_reset');
    expect(asked).toEqual([`${method} one`, `${method} two`]);
    expect((await sidecar.ended(1)).end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_reset' });
  });

  it.each(['GET', 'PUT', 'DELETE', 'OPTIONS'])(
    'are replaced at any time for a %s, which may be repeated',
    async (method) => {
      const { agent, asked } = await agentThatDiesAtWork(60_000);
      const sidecar = await startProxy(agent.url);
      await ask(sidecar.url, { method, headers: { 'content-length': '3' } }, 'one');

      const answer = await ask(sidecar.url, { method, headers: { 'content-length': '3' } }, 'two');

      expect(answer.body.toString()).toBe('ok');
      expect(asked).toEqual([`${method} one`, `${method} two`, `${method} two`]);
    },
  );

  it('are not tried again when the agent had begun to answer', async () => {
    const { agent, connections } = await agentThatTires('half an answer');
    const sidecar = await startProxy(agent.url);
    await ask(sidecar.url, POST_JSON, 'one');

    expect((await ask(sidecar.url, POST_JSON, 'two')).status).toBe(502);
    expect(connections()).toBe(1);
  });

  it('are not tried again with a body that is too large to be held', async () => {
    const size = 200 * 1024;
    let requests = 0;
    const agent = await rawAgent((socket) => {
      let received = 0;
      socket.on('data', (bytes) => {
        received += bytes.length;
        if (requests === 0) {
          requests = 1;
          received = 0;
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        } else if (received > size) {
          requests += 1;
          socket.resetAndDestroy();
        }
      });
    });
    const sidecar = await startProxy(agent.url);
    await ask(sidecar.url, { method: 'GET' });

    expect((await ask(sidecar.url, POST_JSON, Buffer.alloc(size))).status).toBe(502);
    expect(requests).toBe(2);
  });

  it('that fail while new are not tried again: the agent may have acted', async () => {
    let connections = 0;
    const agent = await rawAgent((socket) => {
      connections += 1;
      socket.once('data', () => socket.resetAndDestroy());
    });
    const sidecar = await startProxy(agent.url);

    expect((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).status).toBe(502);
    expect(connections).toBe(1);
  });

  it('may be unix sockets', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agui-'));
    const path = join(folder, 'agent.sock');
    const agent = createServer((request, response) => response.end(`${request.headers.host} ${request.url}`));
    agent.listen(path);
    await once(agent, 'listening');
    onTestFinished(async () => {
      agent.closeAllConnections();
      agent.close();
      await rm(folder, { recursive: true });
    });
    const sidecar = await startProxy(`unix:${path}`);

    expect((await ask(`${sidecar.url}/run`)).body.toString()).toBe('localhost /run');
  });
});

describe('a connection of a client', () => {
  it('carries any number of requests', async () => {
    const agent = await httpAgent((request, response) => request.resume().on('end', () => response.end('ok')));
    const sidecar = await startProxy(agent.url);
    const client = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => client.destroy());
    for (let round = 0; round < 200; round += 1) {
      const { headers } = await ask(sidecar.url, { ...POST_JSON, agent: client }, RUN_REQUEST);
      expect(headers.connection).toBe('keep-alive');
    }
  });

  it('that sends requests without waiting gets the answers in order', async () => {
    const agent = await httpAgent((request, response) => response.end(request.url));
    const sidecar = await startProxy(agent.url);
    const client = rawClient(
      sidecar.port,
      'GET /one HTTP/1.1\r\nHost: c\r\n\r\nGET /two HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n',
    );
    await client.closed;

    expect(client.received()).toMatch(/\/one[^]*\/two/);
    await sidecar.ended(1);
  });

  it('that sends any number of requests without waiting has one of them under way at a time', async () => {
    let underWay = 0;
    let most = 0;
    const agent = await httpAgent(async (request, response) => {
      most = Math.max(most, (underWay += 1));
      await turn();
      underWay -= 1;
      response.end(request.url);
    });
    const sidecar = await startProxy(agent.url);
    const paths = Array.from({ length: 300 }, (_, index) => `/n${index}.`);
    const client = rawClient(sidecar.port, paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: c\r\n\r\n`).join(''));
    await client.until('/n299.');

    expect(client.received().match(/\/n\d+\./g)).toEqual(paths);
    expect(most).toBe(1);
  });

  it('that sends without end and without waiting is cut, and counted, before what waits grows large', async () => {
    const refused: Refusal[] = [];
    const agent = await httpAgent(() => {});
    const sidecar = await startProxy(agent.url, { onRefused: (refusal) => refused.push(refusal) });
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n'.repeat(3000));
    await client.closed;

    expect((await sidecar.ended(0)).end.transport).toBe('client_aborted');
    expect(refused).toEqual(['waiting_limit']);
    expect(sidecar.requests).toHaveLength(1);
  });

  it('that leaves with requests waiting for their turn ends the one under way, and the others never begin', async () => {
    const asked = Promise.withResolvers<void>();
    const agent = await httpAgent(() => asked.resolve());
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET /one HTTP/1.1\r\nHost: c\r\n\r\nGET /two HTTP/1.1\r\nHost: c\r\n\r\n');
    await asked.promise;
    client.socket.destroy();

    expect((await sidecar.ended(0)).end.transport).toBe('client_aborted');
    expect(sidecar.requests.map(({ path }) => path)).toEqual(['/one']);
  });
});
