import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ask, httpAgent, rawAgent, startProxy } from './support.ts';
import { standstill } from './turns.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** Kernel buffers on both legs take some; a sidecar that buffers takes all. */
const TOTAL = 256 * MIB;
const BOUND = 64 * MIB;

describe('backpressure', () => {
  it('holds an agent back whose client does not read, and loses nothing of what was sent', async () => {
    let written = 0;
    const agent = await httpAgent((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = Buffer.alloc(64 * KIB, 'x');
      const flood = () => {
        while (written < TOTAL) {
          written += chunk.length;
          if (!response.write(chunk)) {
            response.once('drain', flood);
            return;
          }
        }
        response.end();
      };
      flood();
    });
    const sidecar = await startProxy(agent.url);
    const client = connect(sidecar.port, '127.0.0.1');
    onTestFinished(() => {
      client.destroy();
    });
    client.pause();
    client.write('GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');

    expect(await standstill(() => written)).toBeLessThan(BOUND);

    let received = 0;
    client.on('data', (bytes) => {
      received += bytes.length;
    });
    client.resume();
    await once(client, 'end');
    expect(received).toBeGreaterThan(TOTAL);
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'complete', responseBytes: TOTAL });
    expect(sidecar.droppedBytes()).toBeGreaterThan(TOTAL - 2 * MIB);
  });

  it('holds a client back whose agent does not read', async () => {
    const agent = await rawAgent((socket) => socket.pause());
    const sidecar = await startProxy(agent.url);
    const client = connect(sidecar.port, '127.0.0.1');
    onTestFinished(() => {
      client.destroy();
    });
    client.write(`POST / HTTP/1.1\r\nHost: c\r\nContent-Length: ${TOTAL}\r\n\r\n`);
    let written = 0;
    const chunk = Buffer.alloc(64 * KIB);
    const flood = () => {
      while (written < TOTAL) {
        written += chunk.length;
        if (!client.write(chunk)) {
          client.once('drain', flood);
          return;
        }
      }
    };
    flood();

    expect(await standstill(() => written)).toBeLessThan(BOUND);
  });

  it('does not concern other clients', async () => {
    const agent = await httpAgent((request, response) => {
      if (request.url === '/flood') response.write(Buffer.alloc(64 * MIB));
      else response.end('ok');
    });
    const sidecar = await startProxy(agent.url);
    const stalled = connect(sidecar.port, '127.0.0.1').pause();
    onTestFinished(() => {
      stalled.destroy();
    });
    stalled.write('GET /flood HTTP/1.1\r\nHost: c\r\n\r\n');

    expect((await ask(sidecar.url)).body.toString()).toBe('ok');
  });
});
