import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { readAsOrdinary } from '../../src/proxy/upgrade.ts';
import { agentThat, bodyOf, closedPort, httpAgent, muteAgent, rawAgent, rawClient, startProxy } from './support.ts';
import { until } from './turns.ts';

const HANDSHAKE =
  'GET /chat?x=1 HTTP/1.1\r\nHost: c\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\r\n';

const SWITCH =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: a\r\n\r\n';

describe('a WebSocket handshake', () => {
  it('is relayed, and then bytes both ways', async () => {
    let head = '';
    const agent = await agentThat((socket, received) => {
      head = received;
      socket.write(`${SWITCH}hello`);
      socket.on('data', (bytes) => socket.write(`echo:${bytes.toString()}`));
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, HANDSHAKE);
    await client.until('hello');
    client.socket.write('ping');
    await client.until('echo:ping');
    client.socket.end();
    await client.closed;

    expect(head).toMatch(/^GET \/chat\?x=1 HTTP\/1\.1\r\n/);
    expect(head).toMatch(/\r\nConnection: Upgrade\r\n/);
    expect(head).toMatch(/\r\nUpgrade: websocket\r\n/);
    expect(head).toContain('Sec-WebSocket-Key: k');
    expect(client.received()).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\nSec-WebSocket-Accept: a\r\n/);
    const { end, capture } = await sidecar.ended();
    expect(end).toMatchObject({ transport: 'complete', status: 101 });
    expect(capture).toBeUndefined();
    expect(sidecar.endings()).toBe(1);
  });

  it('loses no byte that either side sends behind its head in one packet, or before the other has answered', async () => {
    const asked = Promise.withResolvers<() => void>();
    let received = '';
    const agent = await rawAgent((socket) => {
      socket.on('data', (bytes) => {
        received += bytes.toString('latin1');
        asked.resolve(() => socket.write(`${SWITCH}\x81\x05hello`, 'latin1'));
      });
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, `${HANDSHAKE}\x81\xffin the packet, `);
    const answer = await asked.promise;
    client.socket.write('before the answer, ');
    await turn();
    answer();
    await client.until('hello');
    client.socket.end('and after it');
    await client.closed;

    expect(received.split('\r\n\r\n')[1]).toBe('\x81\xffin the packet, before the answer, and after it');
    expect(client.received().split('\r\n\r\n')[1]).toBe('\x81\x05hello');
  });

  it('passes megabytes both ways at once, unchanged', async () => {
    const sent = randomBytes(4 * 1024 * 1024);
    const agent = await agentThat((socket) => {
      socket.write(SWITCH);
      socket.pipe(socket);
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, HANDSHAKE);
    await client.until('\r\n\r\n');
    const hash = createHash('sha256');
    let left = sent.length;
    const whole = new Promise<void>((resolve) => {
      client.socket.on('data', (bytes) => {
        hash.update(bytes);
        left -= bytes.length;
        if (left === 0) resolve();
      });
    });
    client.socket.write(sent);

    await whole;
    expect(hash.digest()).toEqual(createHash('sha256').update(sent).digest());
  });

  it('gives the client the last words that the agent sends when it has read the client`s end', async () => {
    const agent = await agentThat((socket) => {
      socket.write(SWITCH);
      socket.on('end', () => socket.end('last words'));
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, HANDSHAKE);
    await client.until('\r\n\r\n');
    client.socket.end('bye');
    await client.closed;

    expect(client.received()).toMatch(/\r\n\r\nlast words$/);
  });

  it.each(['destroy', 'resetAndDestroy', 'end'] as const)(
    'whose client leaves before the agent has answered is over at once for the agent too (%s)',
    async (leave) => {
      const agent = await muteAgent();
      const sidecar = await startProxy(agent.url);
      const client = rawClient(sidecar.port, HANDSHAKE);
      await agent.asked;

      client.socket[leave]();

      await agent.left;
      expect((await sidecar.ended()).end.transport).toBe('client_aborted');
    },
  );

  it.each(['end', 'destroy', 'resetAndDestroy'] as const)('that the agent breaks off is a 502 (%s)', async (leave) => {
    const agent = await agentThat((socket) => socket[leave]());
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, HANDSHAKE);
    await client.closed;

    expect(client.received()).toMatch(/^HTTP\/1\.1 502 [^]*upstream_reset/);
  });

  it.each([
    ['in odd case', HANDSHAKE.replace('Upgrade: websocket', 'uPGRADE:\tWebSocket '), SWITCH],
    ['whose agent sends interim answers first', HANDSHAKE, `HTTP/1.1 102 Processing\r\n\r\n${SWITCH}`],
  ])('may be one %s', async (_name, handshake, answer) => {
    const agent = await agentThat((socket) => socket.write(`${answer}hello`));
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, handshake);
    await client.until('hello');

    expect(client.received()).toContain('HTTP/1.1 101 Switching Protocols\r\n');
  });

  it('is refused by an agent that answers it as an ordinary request, and the whole answer passes', async () => {
    const agent = await agentThat((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n4\r\n, no\r\n0\r\n\r\n'),
    );
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, HANDSHAKE);

    expect(await client.closed).toBe('end');
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n2\r\nno\r\n4\r\n, no\r\n0\r\n\r\n$/);
  });

  it('ends on both sides when the agent ends it', async () => {
    const agent = await agentThat((socket) => {
      socket.write(SWITCH);
      socket.once('data', () => socket.destroy());
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, HANDSHAKE);
    await client.until('\r\n\r\n');
    client.socket.write('bye');

    await client.closed;
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'complete', status: 101 });
  });

  it('that the agent refuses is refused for the client', async () => {
    const agent = await agentThat((socket) =>
      socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nX-Why: no\r\n\r\nno'),
    );
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, HANDSHAKE);
    await client.closed;

    expect(client.received()).toMatch(/^HTTP\/1\.1 403 Forbidden\r\nContent-Length: 2\r\nX-Why: no\r\n[^]*\r\n\r\nno$/);
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'complete', status: 403 });
  });

  it('to an agent that is down is a 502', async () => {
    const sidecar = await startProxy(`http://127.0.0.1:${await closedPort()}`);
    const client = rawClient(sidecar.port, HANDSHAKE);
    await client.closed;

    expect(client.received()).toMatch(/^HTTP\/1\.1 502 /);
    expect(client.received()).toContain('upstream_unreachable');
  });

  it('behind a request that is still waiting for its answer ends the connection behind that answer', async () => {
    const asked: Socket[] = [];
    const agent = await agentThat((socket) => asked.push(socket));
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, `GET /slow HTTP/1.1\r\nHost: c\r\n\r\n${HANDSHAKE}`);
    await until(() => asked.length > 0);
    await turn();
    asked[0]?.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow');

    expect(await client.closed).toBe('end');
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nslow$/);
    expect(sidecar.requests.map(({ path }) => path)).toEqual(['/slow']);
  });

  it('behind a request that is still waiting for its answer does not keep its client from leaving', async () => {
    const agent = await agentThat(() => {});
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, `GET /slow HTTP/1.1\r\nHost: c\r\n\r\n${HANDSHAKE}`);
    await until(() => agent.sockets.size > 0);
    client.socket.destroy();

    expect((await sidecar.ended()).end.transport).toBe('client_aborted');
    expect(sidecar.endings()).toBe(1);
  });

  it('ends when its client has left, though the agent does not care', async () => {
    const agent = await rawAgent(
      (socket) => {
        socket.once('data', () => socket.write(SWITCH));
      },
      { allowHalfOpen: true },
    );
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, HANDSHAKE);
    await client.until('101 Switching');
    const [agentSide] = agent.sockets;
    client.socket.end();
    await once(agentSide!, 'end');
    vi.advanceTimersByTime(5_000);

    await client.closed;
    expect((await sidecar.ended()).end).toMatchObject({ status: 101 });
  });

  it('is cut when the sidecar stops', async () => {
    const agent = await agentThat((socket) => socket.write(SWITCH));
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, HANDSHAKE);
    await client.until('\r\n\r\n');

    await sidecar.proxy.close({ graceMs: 10 });

    await client.closed;
    expect(sidecar.endings()).toBe(1);
  });
});

const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';

const SENT: { readonly name: string; readonly pieces: readonly string[]; readonly seen: string }[] = [
  {
    name: 'with its body in the same packet',
    pieces: [`POST / HTTP/1.1\r\nHost: c\r\n${H2C}Content-Length: 2\r\n\r\nhi`],
    seen: 'POST / hi',
  },
  {
    name: 'with its body later',
    pieces: [`POST / HTTP/1.1\r\nHost: c\r\n${H2C}Content-Length: 4\r\n\r\n`, 'hi', 'ho'],
    seen: 'POST / hiho',
  },
  {
    name: 'with its body in chunks, the first cut in two',
    pieces: [`POST / HTTP/1.1\r\nHost: c\r\n${H2C}Transfer-Encoding: chunked\r\n\r\n2\r\nh`, 'i\r\n', '0\r\n\r\n'],
    seen: 'POST / hi',
  },
  {
    name: 'with no body',
    pieces: [`GET /x?y HTTP/1.1\r\nHost: c\r\n${H2C}X-Place: Caf\xe9\r\n\r\n`],
    seen: 'GET /x?y ',
  },
];

describe('any other upgrade', () => {
  it.each(SENT)('is stripped: what offers h2c is an ordinary request ($name)', async ({ pieces, seen }) => {
    const agent = await httpAgent(async (request, response) => {
      expect(request.rawHeaders.join()).not.toMatch(/upgrade|http2-settings/i);
      response.end(`${request.method} ${request.url} ${await bodyOf(request)}.`);
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, '');
    for (const piece of pieces) {
      client.socket.write(piece, 'latin1');
      await new Promise((resolve) => setImmediate(resolve));
    }

    await client.until(`${seen}.`);
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'complete', status: 200 });
  });

  it.each([
    ['WebSocket among others', 'Connection: Upgrade\r\nUpgrade: h2c, websocket'],
    ['WebSocket that Connection does not name', 'Upgrade: websocket'],
    ['TLS', 'Connection: Upgrade\r\nUpgrade: TLS/1.2'],
    ['nothing', 'Connection: Upgrade\r\nUpgrade:'],
  ])('is stripped: what offers %s is an ordinary request', async (_name, fields) => {
    const agent = await httpAgent(async (request, response) => {
      expect(request.rawHeaders.join()).not.toMatch(/upgrade/i);
      response.end(`${request.method} ${await bodyOf(request)}.`);
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, `POST / HTTP/1.1\r\nHost: c\r\n${fields}\r\nContent-Length: 2\r\n\r\nhi`);

    await client.until('POST hi.');
  });

  it('is stripped: WebSocket opens with a GET, so a POST that offers it is a POST with its body', async () => {
    const agent = await rawAgent((socket) => {
      let received = '';
      socket.on('data', (bytes) => {
        received += bytes.toString('latin1');
        if (received.endsWith('\r\n\r\nhi')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(
      sidecar.port,
      HANDSHAKE.replace('GET', 'POST').replace('\r\n\r\n', '\r\nContent-Length: 2\r\n\r\nhi'),
    );

    await client.until('\r\n\r\nok');
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('may be offered any number of times on one connection', async () => {
    const agent = await httpAgent(async (request, response) => {
      response.end(`${request.method} ${request.url} ${await bodyOf(request)}.`);
    });
    const sidecar = await startProxy(agent.url);

    expect(await warningsOfManyOffers(sidecar.port)).toEqual([]);
  });
});

describe('HTTP/2 without asking first', () => {
  const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0';

  it.each([
    ['in one packet', [PREFACE]],
    ['byte by byte', PREFACE.split('')],
    ['with a host', ['PRI * HTTP/2.0\r\nHost: c\r\n\r\nSM\r\n\r\n']],
    ['on an ordinary request line', ['GET / HTTP/2.0\r\nHost: c\r\n\r\n']],
  ])('is refused once, in HTTP/1.1, and closed; no agent hears of it (%s)', async (_name, pieces) => {
    const agent = await rawAgent(() => expect.unreachable());
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, '');
    for (const piece of pieces) {
      client.socket.write(piece, 'latin1');
      await turn();
    }
    await client.closed;

    expect(client.received().match(/HTTP\/1\.1 \d{3} /g)).toEqual([expect.stringMatching(/ (400|505) $/)]);
    expect(sidecar.requests).toEqual([]);
  });

  it('does no harm to a connection that speaks HTTP/1.1 first', async () => {
    const agent = await httpAgent((_request, response) => response.end('ok'));
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await client.until('ok');
    client.socket.write(PREFACE, 'latin1');
    await client.closed;

    expect(client.received().match(/HTTP\/1\.1 \d{3} /g)).toEqual([
      'HTTP/1.1 200 ',
      expect.stringMatching(/ (400|505) $/),
    ]);
  });
});

/** Offers h2c many times on one connection; what Node warned of meanwhile, such as listeners that pile up on it. */
async function warningsOfManyOffers(port: number): Promise<readonly unknown[]> {
  const warned = vi.spyOn(process, 'emitWarning');
  onTestFinished(() => warned.mockRestore());
  const client = rawClient(port, '');
  for (let round = 0; round < 12; round += 1) {
    client.socket.write(`POST /${round} HTTP/1.1\r\nHost: c\r\n${H2C}Content-Length: 2\r\n\r\nhi`);
    await client.until(`POST /${round} hi.`);
    client.socket.write(`GET /${round} HTTP/1.1\r\nHost: c\r\n\r\n`);
    await client.until(`GET /${round} .`);
  }
  return warned.mock.calls;
}

// What Node before 22.21 makes of every such request: an upgrade, which nobody was asked about.
describe('a server that is not asked about upgrades', () => {
  async function serverThatGivesBack() {
    const server = createServer((request, response) => {
      const fields = request.rawHeaders.filter((_, index) => index % 2 === 0);
      void bodyOf(request).then((body) => response.end(`${request.method} ${request.url} ${body}. ${fields.join()}`));
    });
    server.on('upgrade', (request, socket, firstBytes) => {
      readAsOrdinary(server, { request, protocol: 'h2c', socket, firstBytes });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }

  it.each(SENT)('reads one that is given back as an ordinary request ($name)', async ({ pieces, seen }) => {
    const client = rawClient(await serverThatGivesBack(), '');
    for (const piece of pieces) {
      client.socket.write(piece, 'latin1');
      await new Promise((resolve) => setImmediate(resolve));
    }

    await client.until(`${seen}.`);
    expect(client.received()).not.toMatch(/\bUpgrade\b/);
  });

  it('reads any number of them, and others in between, on one connection', async () => {
    expect(await warningsOfManyOffers(await serverThatGivesBack())).toEqual([]);
  });

  it('reads a body of any size', async () => {
    const body = 'x'.repeat(1024 * 1024);
    const head = `POST / HTTP/1.1\r\nHost: c\r\n${H2C}Content-Length: ${body.length}\r\n\r\n`;
    const client = rawClient(await serverThatGivesBack(), head + body);

    await client.until('x. Host');
    expect(client.received()).toContain(`POST / ${body}.`);
  });
});
