import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ask, httpAgent, POST_JSON, RUN_REQUEST } from '../proxy/support.ts';
import { peakMemory, tellsPeakMemory } from '../support/memory.ts';
import { startServe } from '../support/serve.ts';

const MIB = 1024 * 1024;
const FLOOD_BYTES = 300 * MIB;

/** What a sidecar at work holds is no growth. */
const WARM_UP_BYTES = 50 * MIB;

/** Far more than a sidecar that holds its agent back needs, and far less than the flood. */
const GROWTH_BYTES = 128 * MIB;

/** What the kernel takes on both legs is some MiB. */
const ACCEPTED_BYTES = 64 * MIB;

const PIECE = Buffer.alloc(256 * 1024, 'data: x\n\n');

/** Sends `bytes` bytes as fast as they are taken; gives how many were written. */
function flood(response: ServerResponse, bytes: number): () => number {
  let written = 0;
  const send = (): void => {
    for (let isTaken = true; isTaken && written < bytes; written += PIECE.length) isTaken = response.write(PIECE);
    if (written >= bytes) response.end();
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.on('drain', send).on('error', () => {});
  send();
  return () => written;
}

/** An agent that sends as many bytes as the path says, and reads nothing of what is sent to `/ignored`. */
async function floodingAgent() {
  let accepted: (() => number) | undefined;
  const agent = await httpAgent((request, response) => {
    if (request.url === '/ignored') return request.pause();
    request.resume();
    const written = flood(response, Number(request.url?.slice(1)));
    if (request.method === 'GET') accepted = written;
    return request;
  });
  return { agent, acceptedBytes: () => accepted?.() ?? 0 };
}

function stalledClient(url: string, head: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).pause();
  socket.on('error', () => {});
  socket.write(head);
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

/** A stream from its first byte to its last. While one as long as the flood passes, the flood had the time to. */
async function passStream(url: string, bytes: number): Promise<void> {
  const { status, body } = await ask(`${url}/${bytes}`, POST_JSON, RUN_REQUEST);
  expect(status).toBe(200);
  expect(body).toHaveLength(bytes);
}

describe.skipIf(!tellsPeakMemory)('the memory of the sidecar stays what it was', { timeout: 180_000 }, () => {
  it('while a client reads nothing of 300 MB', async () => {
    const { agent, acceptedBytes } = await floodingAgent();
    await using sidecar = await startServe({ AGENT_URL: agent.url });
    await passStream(sidecar.url, WARM_UP_BYTES);
    const before = await peakMemory(sidecar.pid);

    const client = stalledClient(sidecar.url, `GET /${FLOOD_BYTES} HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n`);
    await once(client, 'readable');
    await passStream(sidecar.url, FLOOD_BYTES);

    expect(acceptedBytes()).toBeLessThan(ACCEPTED_BYTES);
    expect((await peakMemory(sidecar.pid)) - before).toBeLessThan(GROWTH_BYTES);

    let received = 0;
    client.removeAllListeners('readable');
    client.on('data', (bytes) => {
      received += bytes.length;
    });
    client.resume();
    await once(client, 'end');
    expect(received).toBeGreaterThan(FLOOD_BYTES);
    expect((await peakMemory(sidecar.pid)) - before).toBeLessThan(GROWTH_BYTES);
  });

  it('while an agent reads nothing of 300 MB', async () => {
    const { agent } = await floodingAgent();
    await using sidecar = await startServe({ AGENT_URL: agent.url });
    await passStream(sidecar.url, WARM_UP_BYTES);
    const before = await peakMemory(sidecar.pid);

    const client = stalledClient(
      sidecar.url,
      `POST /ignored HTTP/1.1\r\nHost: c\r\nContent-Length: ${FLOOD_BYTES}\r\n\r\n`,
    );
    let sent = 0;
    const upload = () => {
      for (let isTaken = true; isTaken && sent < FLOOD_BYTES; sent += PIECE.length) isTaken = client.write(PIECE);
    };
    client.on('drain', upload);
    upload();
    await passStream(sidecar.url, FLOOD_BYTES);

    expect(sent).toBeLessThan(ACCEPTED_BYTES);
    expect((await peakMemory(sidecar.pid)) - before).toBeLessThan(GROWTH_BYTES);
  });
});
