import { connect as connectHttp2 } from 'node:http2';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentThat, ask, httpAgent, rawAgent, rawClient, startProxy } from './support.ts';

/** Frames of HTTP/2: nine bytes of head (length, type, flags, stream), then the payload. */
function frame(type: number, payload: Buffer, stream = 0): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const SETTINGS = frame(4, Buffer.alloc(0));
const GOAWAY = frame(7, Buffer.alloc(8));
const RESET_STREAM = frame(3, Buffer.alloc(4), 1);

describe('HTTP/2 is spoken on neither side', () => {
  it('a client that begins with it is refused at once, while streams go on', async () => {
    const agent = await httpAgent((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    });
    const sidecar = await startProxy(agent.url);
    const stream = rawClient(sidecar.port, 'GET / HTTP/1.1\r\nHost: c\r\n\r\n');
    await stream.until('data: 1');

    for (let round = 0; round < 20; round += 1) {
      const session = connectHttp2(sidecar.url);
      onTestFinished(() => session.destroy());
      session.on('error', () => {});
      const request = session.request({ ':path': '/' });
      request.on('error', () => {});
      await new Promise<void>((resolve) => session.on('close', () => resolve()));
    }

    expect(stream.socket.destroyed).toBe(false);
    expect(sidecar.requests).toHaveLength(1);
    expect(sidecar.faults).toEqual([]);
  });

  it.each([
    ['its settings', SETTINGS],
    ['settings and a farewell', Buffer.concat([SETTINGS, GOAWAY])],
    ['a storm of farewells', Buffer.concat(Array.from({ length: 1_000 }, () => GOAWAY))],
    ['a storm of resets', Buffer.concat(Array.from({ length: 1_000 }, () => RESET_STREAM))],
  ])(
    'an agent that answers with %s is no HTTP for the sidecar: 502, and the next one is served',
    async (_name, bytes) => {
      const agent = await agentThat((socket, head) => {
        if (head.startsWith('GET /fine')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        else socket.write(bytes);
      });
      const sidecar = await startProxy(agent.url);

      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(sidecar.url)));

      for (const { status, body } of answers) {
        expect(status).toBe(502);
        expect(JSON.parse(body.toString()).error.code).toBe('upstream_invalid');
      }
      expect((await ask(`${sidecar.url}/fine`)).body.toString()).toBe('ok');
      expect(sidecar.faults).toEqual([]);
    },
  );

  it('and an agent is never offered it', async () => {
    const hello = Promise.withResolvers<Buffer>();
    const agent = await rawAgent((socket) => {
      socket.once('data', (bytes) => {
        hello.resolve(bytes);
        socket.destroy();
      });
    });
    const sidecar = await startProxy(agent.url.replace('http:', 'https:'));
    await ask(sidecar.url);

    // What a TLS client offers (ALPN, RFC 7301) is in clear text in its first message: names, each behind its length.
    const offered = Buffer.from('\0\x03\x02h2', 'latin1');
    expect((await hello.promise).includes(offered)).toBe(false);
    expect((await hello.promise).includes(Buffer.from('http/1.1\x02h2', 'latin1'))).toBe(false);
  });
});
