import { connect } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Exchange } from '../../src/agui/exchange.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createGathering } from '../../src/lib/gathering.ts';
import { createObserver } from '../../src/observation.ts';
import { BOUNDS } from '../agui/captures.ts';
import { ask, httpAgent, RUN_REQUEST, startProxy, TAP } from './support.ts';
import { until } from './turns.ts';

// How much fits into a turn is a matter of time; here each step is followed by one.
vi.mock('../../src/lib/turn.ts', async () => {
  const { setImmediate: nextTurn } = await import('node:timers/promises');
  return { giveWay: () => nextTurn() };
});

const STREAMS = 30;
const STREAM_BYTES = 5 * 1024 * 1024;

/** Most bytes of a copy that are read in one turn of the event loop, a few times over. */
const BYTES_PER_TURN = 32 * 1024;

const RUN = `POST /run HTTP/1.1\r\nHost: c\r\nContent-Type: application/json\r\nContent-Length: ${RUN_REQUEST.length}\r\n\r\n${RUN_REQUEST}`;

/** A client that has read a whole stream and waits for its end. */
async function clientOf(port: number) {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
  });
  socket.write(RUN);
  let received = 0;
  await new Promise<void>((resolve) => {
    socket.on('data', (bytes) => {
      received += bytes.length;
      if (received > STREAM_BYTES) resolve();
    });
  });
  return socket;
}

it('30 streams of 5 MB that are aborted together leave the event loop its turns while they are read', async () => {
  const event = `data: ${JSON.stringify({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'x'.repeat(60) })}\n\n`;
  const stream = Buffer.from(
    `data: {"type":"RUN_STARTED","threadId":"t-1","runId":"r-1"}\n\n${event.repeat(STREAM_BYTES / event.length + 1)}`,
  );
  const agent = await httpAgent((request, response) => {
    request.resume();
    if (request.url === '/health') response.end('ok');
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).write(stream);
  });
  const exchanges: Exchange[] = [];
  let closed = 0;
  const observer = createObserver({
    runSpans: {
      start: () => ({ trace: { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 }, end: () => {} }),
    },
    prometheus: {
      requestStarted: () => {},
      requestClosed: () => (closed += 1),
      requestEnded: () => {},
      recordExchange: (exchange) => exchanges.push(exchange),
      recordLeftOut: () => {},
    },
    store: {
      runBegan: async () => {},
      runSeen: async () => {},
      runEnded: async () => {},
      runMissed: async () => {},
      append: async () => 'appended',
    },
    bounds: { ...BOUNDS, maxDecodedBytes: TAP.maxExchangeBytes },
    share: 1,
    gathering: createGathering({ delayMs: 60_000, most: 2 * STREAMS, mostWeight: Infinity, clock: systemClock }),
    log: { error: (fields: unknown) => expect.unreachable(String(fields)) },
  });
  const sidecar = await startProxy(agent.url, { observe: observer.observe });
  const clients = await Promise.all(Array.from({ length: STREAMS }, () => clientOf(sidecar.port)));

  let turns = 0;
  let isReading = true;
  const counting = until(() => {
    turns += 1;
    return !isReading;
  });
  closed = 0;
  for (const client of clients) client.destroy();
  await until(() => closed === STREAMS);
  const reading = observer.settled().then(() => {
    isReading = false;
  });
  // One after the other, and all before the copies are read.
  for (let request = 0; request < 20; request += 1) {
    expect((await ask(`${sidecar.url}/health`)).body.toString()).toBe('ok');
    expect(isReading).toBe(true);
  }
  await reading;
  await counting;

  expect(exchanges).toHaveLength(STREAMS);
  for (const { ending, eventCounts } of exchanges) {
    expect(ending).toBe('client_aborted');
    expect(eventCounts).toMatchObject({ RUN_STARTED: 1, TEXT_MESSAGE_CONTENT: expect.any(Number) });
  }
  expect(turns).toBeGreaterThan((STREAMS * TAP.maxExchangeBytes) / BYTES_PER_TURN);
});
