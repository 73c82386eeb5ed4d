import { describe, expect, it } from 'vitest';
import { agentThat, closedPort, rawClient, startProxy } from './support.ts';

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
    await sidecar.ended();
    expect(sidecar.proxy.activeStreams().get('agent')).toBe(0);
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

  it('behind a request that is still waiting for its answer ends the connection, and nothing else', async () => {
    const asked = Promise.withResolvers<void>();
    const agent = await agentThat(() => asked.resolve());
    const sidecar = await startProxy(agent.url);
    const client = rawClient(sidecar.port, 'GET /slow HTTP/1.1\r\nHost: c\r\n\r\n');
    await asked.promise;
    client.socket.write(HANDSHAKE);
    await client.closed;

    expect((await sidecar.ended()).end.transport).toBe('client_aborted');
    expect(sidecar.proxy.activeStreams().get('agent')).toBe(0);
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

describe('any other upgrade', () => {
  it('is stripped: a POST that offers h2c is a POST', async () => {
    const agent = await agentThat((socket, head) => {
      expect(head).not.toMatch(/upgrade|http2-settings/i);
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(
      sidecar.port,
      'POST / HTTP/1.1\r\nHost: c\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: 2\r\n\r\nhi',
    );

    await client.until('\r\n\r\nok');
  });
});
