import { describe, expect, it } from 'vitest';
import type { AgentFailure } from '../../src/proxy/errors.ts';
import type { ProxyOptions } from '../../src/proxy/options.ts';
import {
  agentThat,
  ask,
  closedPort,
  httpAgent,
  muteAgent,
  POST_JSON,
  rawClient,
  RUN_REQUEST,
  startProxy,
} from './support.ts';

const CHUNKED = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';

/** A proxy in front of one agent, and what it reports of that agent. */
async function reporting(agentUrl: string, options: Partial<ProxyOptions> = {}) {
  const failures: AgentFailure[] = [];
  const sidecar = await startProxy(agentUrl, { onAgentFailed: (failure) => failures.push(failure), ...options });
  return { sidecar, failures };
}

describe('the failure of an agent is reported once', () => {
  it('with the name of the agent, its place, and the cause: it cannot be reached', async () => {
    const port = await closedPort();
    const { sidecar, failures } = await reporting(`http://127.0.0.1:${port}`);
    expect((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).status).toBe(502);
    expect(failures).toEqual([
      { agent: 'agent', host: '127.0.0.1', port, code: 'upstream_unreachable', cause: 'ECONNREFUSED' },
    ]);
  });

  it('when it closes its connection before it answers', async () => {
    const agent = await agentThat((socket) => socket.resetAndDestroy());
    const { sidecar, failures } = await reporting(agent.url);
    await ask(sidecar.url, POST_JSON, RUN_REQUEST);
    expect(failures).toMatchObject([{ code: 'upstream_reset', cause: 'ECONNRESET' }]);
  });

  it('when its stream breaks off', async () => {
    const agent = await agentThat((socket) => socket.write(`${CHUNKED}9\r\ndata: 1\n\n\r\n`));
    const { sidecar, failures } = await reporting(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await client.until('data: 1');
    for (const socket of agent.sockets) socket.resetAndDestroy();
    await client.closed;
    expect((await sidecar.ended()).end.errorCode).toBe('upstream_reset');
    expect(failures).toMatchObject([{ code: 'upstream_reset' }]);
  });

  it('when it is no HTTP server, or answers in a way that could be read in two', async () => {
    for (const answer of ['SSH-2.0-nothing\r\n', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n']) {
      const agent = await agentThat((socket) => socket.end(answer));
      const { sidecar, failures } = await reporting(agent.url);
      expect((await ask(sidecar.url)).status).toBe(502);
      expect(failures).toMatchObject([{ code: 'upstream_invalid' }]);
    }
  });

  it.each([
    ['a size that is no number', 'g\r\n'],
    ['an extension that no parser takes', '9; a=b\r\ndata: 2\n\n\r\n'],
    ['data that go on behind their size', '3\r\nabcdef\r\n'],
    ['a head of its own in place of a chunk', 'HTTP/1.1 200 OK\r\n\r\n'],
  ])('when its stream goes on with %s', async (_name, rest) => {
    const agent = await agentThat((socket) => socket.write(`${CHUNKED}9\r\ndata: 1\n\n\r\n`));
    const { sidecar, failures } = await reporting(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await client.until('data: 1');
    for (const socket of agent.sockets) socket.write(rest);
    await client.closed;
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_invalid' });
    expect(failures).toMatchObject([
      { code: 'upstream_invalid', cause: expect.stringMatching(/^HPE_|behind its end/) },
    ]);
  });

  it('when it does not answer in time, and by which limit', async () => {
    const agent = await muteAgent();
    const { sidecar, failures } = await reporting(agent.url, { firstByteTimeoutMs: 1 });
    expect((await ask(sidecar.url)).status).toBe(504);
    expect(failures).toMatchObject([{ code: 'upstream_timeout', cause: 'no response within 1 ms' }]);
  });
});

describe('nothing is reported', () => {
  it('of an answer, whatever its status', async () => {
    const agent = await httpAgent((_request, response) => response.writeHead(503).end());
    const { sidecar, failures } = await reporting(agent.url);
    expect((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).status).toBe(503);
    await sidecar.ended();
    expect(failures).toEqual([]);
  });

  describe.each([
    ['before the head', ''],
    ['in its stream', `${CHUNKED}9\r\ndata: 1\n\n\r\n`],
  ])('%s', (_, sent) => {
    /** A request under way, of whose answer the agent has sent as much. */
    async function underWay() {
      const asked = Promise.withResolvers<void>();
      const left = Promise.withResolvers<void>();
      const agent = await agentThat((socket) => {
        socket.write(sent);
        socket.once('close', () => left.resolve());
        asked.resolve();
      });
      const reported = await reporting(agent.url);
      const client = rawClient(reported.sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
      await (sent === '' ? asked.promise : client.until('data: 1'));
      return { ...reported, client, left: left.promise };
    }

    it('of an agent whose client leaves', async () => {
      const { sidecar, failures, client, left } = await underWay();
      client.socket.destroy();
      await left;
      expect((await sidecar.ended()).end.transport).toBe('client_aborted');
      expect(failures).toEqual([]);
    });

    it('of an agent whose request the sidecar cuts because it stops', async () => {
      const { sidecar, failures } = await underWay();
      await sidecar.proxy.close({ graceMs: 0 });
      expect((await sidecar.ended()).end.errorCode).toBe('shutting_down');
      expect(failures).toEqual([]);
    });
  });
});

it('a report that throws costs the client nothing', async () => {
  const { sidecar } = await reporting(`http://127.0.0.1:${await closedPort()}`, {
    onAgentFailed: () => {
      throw new Error('no log');
    },
  });
  expect((await ask(sidecar.url)).status).toBe(502);
  expect((await ask(sidecar.url)).status).toBe(502);
  expect(sidecar.faults).toMatchObject([{ message: 'no log' }, { message: 'no log' }]);
});
