import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { agentThat, bodyOf, httpAgent, serve } from '../proxy/support.ts';
import { endSpans, start as startUntilStopped, type Started } from './started.ts';

afterEach(() => vi.unstubAllEnvs());

const KIB = 1024;

/** The SDK under `environment`, until the test is over. */
function start(environment: Record<string, string>): Started {
  const started = startUntilStopped({ OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_LOG_LEVEL: 'warn', ...environment });
  onTestFinished(() => started.telemetry.shutdown());
  return started;
}

/** Ends a span and waits until it is known what became of it. */
async function exportOne({ counts }: Started): Promise<void> {
  const settled = () => counts.exported + counts.failed;
  const before = settled();
  endSpans(1);
  await until(() => settled() > before);
}

const until = (condition: () => boolean) => vi.waitUntil(condition, { timeout: 20_000, interval: 2 });

/** Waits for a line of the log with `text`; it comes behind the count. */
const logged = ({ log }: Started, text: string) => until(() => log.some((line) => line.includes(text)));

/** Writes `piece` for as long as somebody reads. */
function writeForEver(socket: Socket, piece: string): void {
  const write = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', write);
  write();
}

const CHUNK = `${(32 * KIB).toString(16)}\r\n${'x'.repeat(32 * KIB)}\r\n`;
const head = (status: string, ...fields: string[]) => [`HTTP/1.1 ${status}`, ...fields, '', ''].join('\r\n');

describe('an answer of the collector that has no end', () => {
  it.each<[string, (socket: Socket) => void]>([
    [
      'after a success',
      (socket) => {
        socket.write(head('200 OK', 'Transfer-Encoding: chunked'));
        writeForEver(socket, CHUNK);
      },
    ],
    [
      'after a status that is tried again',
      (socket) => {
        socket.write(head('503 Service Unavailable', 'Transfer-Encoding: chunked'));
        writeForEver(socket, CHUNK);
      },
    ],
    [
      'without a length',
      (socket) => {
        socket.write(head('200 OK', 'Connection: close'));
        writeForEver(socket, CHUNK);
      },
    ],
    ['of interim answers', (socket) => writeForEver(socket, head('102 Processing').repeat(1000))],
    [
      'that is silent behind too much of it',
      (socket) => {
        socket.write(head('200 OK', `Content-Length: ${KIB * KIB}`));
        socket.write('x'.repeat(128 * KIB));
      },
    ],
  ])('(%s) costs its spans, is not asked for again, and is read no further', async (_, answer) => {
    let requests = 0;
    const closed = Promise.withResolvers<void>();
    const collector = await agentThat((socket) => {
      requests += 1;
      socket.once('close', () => closed.resolve());
      answer(socket);
    });
    const started = start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    await exportOne(started);
    expect(started.counts).toEqual({ exported: 0, failed: 1, dropped: 0 });
    await closed.promise;
    expect(requests).toBe(1);
    await logged(started, "the collector's answer did not end within 65536 bytes");
  });

  it('(in drops) is given up when nobody waits for its batch any more', async () => {
    const closed = Promise.withResolvers<void>();
    const collector = await agentThat((socket) => {
      socket.write(head('200 OK', `Content-Length: ${KIB}`));
      const drops = setInterval(() => socket.write(' '), 5);
      socket.once('close', () => {
        clearInterval(drops);
        closed.resolve();
      });
    });
    const started = start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_EXPORT_TIMEOUT: '100' });
    await exportOne(started);
    expect(started.counts).toEqual({ exported: 0, failed: 1, dropped: 0 });
    await closed.promise;
  });

  it('is said once, and not with every batch', async () => {
    const collector = await agentThat((socket) => {
      socket.write(head('200 OK', 'Transfer-Encoding: chunked'));
      writeForEver(socket, CHUNK);
    });
    const started = start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    for (let batch = 0; batch < 3; batch += 1) await exportOne(started);
    await logged(started, 'did not end');
    await started.telemetry.shutdown();
    expect(started.counts.failed).toBe(3);
    const errors = started.log
      .map((line) => (JSON.parse(line) as { level: number }).level)
      .filter((level) => level >= 50);
    expect(errors).toHaveLength(1);
  });
});

describe('connections to the collector', () => {
  it('are used again: the bound is that of one answer', async () => {
    const sockets = new Set<Socket>();
    const collector = await httpAgent(async (request, response) => {
      sockets.add(request.socket);
      await bodyOf(request);
      response.writeHead(200, { 'content-type': 'application/json' }).end(`{}${' '.repeat(50 * KIB)}`);
    });
    const started = start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    for (let batch = 0; batch < 4; batch += 1) await exportOne(started);
    expect(started.counts).toEqual({ exported: 4, failed: 0, dropped: 0 });
    expect(sockets.size).toBe(1);
  });

  it('are closed when more and more comes though nothing was asked, and the next batch goes by another', async () => {
    const connections: Socket[] = [];
    const collector = await agentThat((socket) => {
      connections.push(socket);
      socket.write(`${head('200 OK', 'Content-Length: 2')}{}`);
    });
    const started = start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    await exportOne(started);
    const [first] = connections;
    if (first === undefined) throw new Error('expected a connection');
    const closed = new Promise((resolve) => first.once('close', resolve));
    writeForEver(first, CHUNK);
    await closed;
    await exportOne(started);
    expect(started.counts).toEqual({ exported: 2, failed: 0, dropped: 0 });
    expect(connections).toHaveLength(2);
  });
});

describe('a collector behind HTTPS', () => {
  const FIXTURES = new URL('../fixtures/tls/', import.meta.url);
  const file = (name: string) => fileURLToPath(new URL(`${name}.pem`, FIXTURES));
  const pem = (name: string) => readFileSync(file(name), 'utf8');

  /** One that only listens to those whom the authority of the tests knows. */
  async function strictCollector(answer: (request: IncomingMessage, response: ServerResponse) => unknown) {
    const identity = { key: pem('agent.key'), cert: pem('agent'), ca: pem('authority') };
    const server = createServer({ ...identity, requestCert: true, rejectUnauthorized: true });
    const { port } = await serve(server.on('request', (request, response) => void answer(request, response)));
    return { OTEL_EXPORTER_OTLP_ENDPOINT: `https://127.0.0.1:${port}` };
  }

  const TRUST = { OTEL_EXPORTER_OTLP_CERTIFICATE: file('authority') };
  const IDENTITY = {
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: file('agent'),
    OTEL_EXPORTER_OTLP_CLIENT_KEY: file('agent.key'),
  };

  it.each([
    ['the general variables', { ...TRUST, ...IDENTITY }, 1],
    [
      'those for traces first',
      {
        ...IDENTITY,
        OTEL_EXPORTER_OTLP_CERTIFICATE: file('elsewhere'),
        OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: file('authority'),
      },
      1,
    ],
    ['no authority', IDENTITY, 0],
    ['no certificate of its own', TRUST, 0],
    ['a file that does not exist', { ...IDENTITY, OTEL_EXPORTER_OTLP_CERTIFICATE: file('nowhere') }, 0],
  ])('is spoken to with the certificates of the environment: %s', async (_, certificates, exported) => {
    const address = await strictCollector(async (request, response) => {
      await bodyOf(request);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    const started = start({ ...address, ...certificates, OTEL_EXPORTER_OTLP_TIMEOUT: '500' });
    await exportOne(started);
    expect(started.counts).toEqual({ exported, failed: 1 - exported, dropped: 0 });
    expect(started.log.join('').includes('Failed to read root certificate file')).toBe(_.includes('does not exist'));
  });

  it('is cut like any other when its answer has no end', async () => {
    const closed = Promise.withResolvers<void>();
    const address = await strictCollector((_, response) => {
      response.once('close', () => closed.resolve());
      response.writeHead(200);
      response.write('x'.repeat(128 * KIB));
    });
    const started = start({ ...address, ...TRUST, ...IDENTITY });
    await exportOne(started);
    await closed.promise;
    expect(started.counts).toEqual({ exported: 0, failed: 1, dropped: 0 });
    await logged(started, 'did not end within 65536 bytes');
  });
});
