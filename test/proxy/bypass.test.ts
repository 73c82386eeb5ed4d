import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Bypass, openBypass } from '../../src/proxy/bypass.ts';
import { copiedBody } from '../support/captured.ts';
import { type SidecarSockets, watchSockets } from './socket-watch.ts';
import { agentThat, ask, PASS_THROUGH, rawAgent, rawClient, startProxy } from './support.ts';
import { until } from './turns.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: c\r\n\r\n';

let sockets: SidecarSockets;
beforeEach(() => {
  sockets = watchSockets();
});

/** Writes pieces to the sidecar, each of which it reads by itself: the next goes out when it has read the one before. */
async function writeApart(socket: Socket, pieces: readonly string[]): Promise<void> {
  socket.setNoDelay(true);
  const peer = sockets.toAgent({ port: socket.localPort! }).find(({ localPort }) => localPort === socket.remotePort);
  for (const piece of pieces) {
    const before = peer!.bytesRead;
    socket.write(piece, 'latin1');
    await until(() => peer!.destroyed || peer!.bytesRead === before + piece.length);
  }
}

/** An agent that answers each request on a connection with the same bytes, and counts connections. */
async function repeatingAgent(pieces: readonly string[]) {
  let connections = 0;
  const agent = await rawAgent((socket) => {
    connections += 1;
    socket.on('data', (bytes) => {
      if (bytes.includes('\r\n\r\n')) void writeApart(socket, pieces);
    });
  });
  return { ...agent, connections: () => connections };
}

/** Bodies that say `one` and `two`, in forms that leave the plain path at different points. */
const FORMS: readonly { readonly name: string; readonly pieces: readonly string[] }[] = [
  { name: 'in one write', pieces: [`${HEAD}3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n`] },
  { name: 'with the body behind the head', pieces: [HEAD, '3\r\none\r\n', '3\r\ntwo\r\n', '0\r\n\r\n'] },
  { name: 'with a chunk in the head`s write', pieces: [`${HEAD}3\r\none\r\n`, '3\r\ntwo\r\n0\r\n\r\n'] },
  {
    name: 'with a head in two writes',
    pieces: [HEAD.slice(0, 30), `${HEAD.slice(30)}3\r\none\r\n3\r\ntwo\r\n`, '0\r\n\r\n'],
  },
  { name: 'cut inside the end of the head', pieces: [HEAD.slice(0, -2), `\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n`] },
  {
    name: 'cut inside a size, data and its end',
    pieces: [HEAD, '0', '3', '\r', '\no', 'ne', '\r', '\n3\r\ntwo\r\n0', '\r\n', '\r\n'],
  },
  { name: 'with an extension in the middle', pieces: [HEAD, '3\r\none\r\n', '3;x=y\r\ntwo\r\n', '0\r\n\r\n'] },
  { name: 'with a long size', pieces: [HEAD, '3\r\none\r\n', '000000000003\r\ntwo\r\n', '0\r\n\r\n'] },
  { name: 'with trailers', pieces: [HEAD, '3\r\none\r\n3\r\ntwo\r\n', '0\r\nX-Sum: 6\r\n\r\n'] },
  {
    name: 'behind interim responses',
    pieces: [
      'HTTP/1.1 102 Processing\r\n\r\n',
      `HTTP/1.1 102 Processing\r\n\r\n${HEAD}3\r\none\r\n`,
      '3\r\ntwo\r\n0\r\n\r\n',
    ],
  },
];

describe.each(FORMS)('a chunked response $name', ({ pieces }) => {
  it('arrives whole, is copied whole, and leaves the agent`s connection fit for the next', async () => {
    const agent = await repeatingAgent(pieces);
    const sidecar = await startProxy(agent.url);

    for (const index of [0, 1, 2]) {
      const { status, body } = await ask(sidecar.url);
      expect({ status, body: body.toString() }).toEqual({ status: 200, body: 'onetwo' });
      const { end, capture } = await sidecar.ended(index);
      expect(end).toMatchObject({ transport: 'complete', responseBytes: 6 });
      expect(copiedBody(capture).toString()).toBe('onetwo');
    }
    expect(agent.connections()).toBe(1);
    expect(sidecar.faults).toEqual([]);
  });
});

describe('a response that is not chunked', () => {
  it.each([
    ['counted', 'Content-Length: 3\r\n\r\none'],
    ['empty', 'Content-Length: 0\r\n\r\n'],
  ])('that is %s arrives whole, and bytes behind it end the agent`s connection only', async (_, rest) => {
    const agent = await repeatingAgent([`HTTP/1.1 200 OK\r\n${rest}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`]);
    const sidecar = await startProxy(agent.url);
    const client = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => client.destroy());

    for (const round of ['first', 'second', 'third']) {
      const { status, body } = await ask(sidecar.url, { agent: client });
      expect({ round, status, body: body.toString() }).toEqual({
        round,
        status: 200,
        body: rest.endsWith('one') ? 'one' : '',
      });
    }
    expect(agent.connections()).toBe(3);
  });
});

it('bytes behind the last chunk belong to nobody: they reach no client, and no connection is used again behind them', async () => {
  const agent = await repeatingAgent([
    `${HEAD}3\r\none\r\n`,
    '0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil',
  ]);
  const sidecar = await startProxy(agent.url);

  const bodies = [(await ask(sidecar.url)).body.toString(), (await ask(sidecar.url)).body.toString()];
  expect(bodies).toEqual(['one', 'one']);
  expect(agent.connections()).toBe(2);
});

it.each(['3\r\nonex\r\n', '3\r\none\n3\r\ntwo\r\n0\r\n\r\n', 'z\r\n', '-3\r\none\r\n', '3\none\n'])(
  'a body that turns into nonsense (%j) is an error for the client, never an end',
  async (nonsense) => {
    const agent = await agentThat((socket) => writeApart(socket, [HEAD, '3\r\none\r\n', nonsense]));
    const sidecar = await startProxy(agent.url);

    await expect(ask(sidecar.url)).rejects.toThrow(/aborted|socket hang up|Parse Error/);
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_invalid' });
  },
);

it.runIf(PASS_THROUGH)('what has come of a chunk passes before the rest of it has', async () => {
  const rest = Promise.withResolvers<void>();
  const agent = await agentThat(async (socket) => {
    await writeApart(socket, [HEAD, 'a\r\nhel']);
    await rest.promise;
    socket.write('lo wor\r\n0\r\n\r\n');
  });
  const sidecar = await startProxy(agent.url);
  const client = rawClient(sidecar.port, GET);

  await client.until('a\r\nhel');
  expect(client.received()).toMatch(/\r\n\r\na\r\nhel$/);
  rest.resolve();
  await client.until('lo wor');
});

describe('any number of heads in one read', () => {
  const ANSWER = `${HEAD}3\r\none\r\n0\r\n\r\n`;

  it('is read, as long as they can be meant', async () => {
    for (const interim of ['\r\n'.repeat(20_000), 'HTTP/1.1 102 P\r\n\r\n'.repeat(900)]) {
      const agent = await agentThat((socket) => socket.write(interim + ANSWER));
      const sidecar = await startProxy(agent.url);
      expect((await ask(sidecar.url)).body.toString()).toBe('one');
    }
  });

  it.each([2_000, 100_000])('of interim responses is a 502 past a bound (%i), and hurts nobody else', async (count) => {
    let isFirst = true;
    const agent = await agentThat((socket) => {
      socket.write((isFirst ? 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(count) : '') + ANSWER);
      isFirst = false;
    });
    const sidecar = await startProxy(agent.url);
    const answer = await ask(sidecar.url);

    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body.toString()).error.code).toBe('upstream_invalid');
    expect((await ask(sidecar.url)).body.toString()).toBe('one');
  });
});

it.each(['chunks', 'data', 'handedBack'] as const)(
  'a defect of whoever is told of %s ends that connection, is told, and nothing else',
  async (broken) => {
    const defect = new Error('broken assumption');
    const told: unknown[] = [];
    const agent = await agentThat((socket) => socket.write(`${HEAD}3\r\none\r\n0\r\n\r\n`));
    const request = httpRequest(agent.url, { agent: false });
    let bypass: Bypass | undefined;
    request.on('socket', (socket) => {
      bypass = openBypass(request, socket, socket, (thrown) => told.push(thrown));
    });
    request.on('response', (response) => {
      response.on('error', () => {});
      const events = { chunks: () => {}, data: () => {}, handedBack: () => {} };
      bypass?.take({
        ...events,
        [broken]: () => {
          throw defect;
        },
      });
    });
    request.on('error', () => {});
    request.end();

    await once(request, 'close');

    expect(told).toEqual([defect]);
    expect(request.socket?.destroyed).toBe(true);
  },
);
