import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../src/agui/exchange.ts';
import { readCapture } from '../../src/agui/read-capture.ts';
import { BOUNDS } from '../agui/captures.ts';
import { ask, bodyOf, httpAgent, POST_JSON, RUN_REQUEST, startProxy } from './support.ts';

const TEXT = 'Ebbe um 4 \u2013 \u6f6e\u304c\u5f15\u304f \u{1F6A2}\u{1F9D1}\u200d\u2708\ufe0f';
const EVENTS = [
  { type: 'RUN_STARTED', threadId: 't-1', runId: 'r-1' },
  { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
  ...Array.from(TEXT, (delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta })),
  { type: 'TEXT_MESSAGE_END', messageId: 'm' },
  { type: 'RUN_FINISHED', threadId: 't-1', runId: 'r-1' },
].map((event) => JSON.stringify(event));

const STREAMS: Readonly<Record<string, Buffer>> = {
  LF: Buffer.from(EVENTS.map((json) => `data: ${json}\n\n`).join('')),
  CRLF: Buffer.from(EVENTS.map((json) => `data: ${json}\r\n\r\n`).join('')),
  CR: Buffer.from(EVENTS.map((json) => `data: ${json}\r\r`).join('')),
  'a byte order mark': Buffer.from(`\uFEFF${EVENTS.map((json) => `data: ${json}\n\n`).join('')}`),
};

/** The stream as its agent sent it, with one write for each of `pieces`; the same as the sidecar passed and read it. */
async function through(pieces: readonly Buffer[]): Promise<{ body: Buffer; exchange: Exchange | undefined }> {
  const agent = await httpAgent(async (request, response) => {
    await bodyOf(request);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) {
      response.write(piece);
      await turn();
    }
    response.end();
  });
  const sidecar = await startProxy(agent.url);
  const { body } = await ask(sidecar.url, POST_JSON, RUN_REQUEST);
  const { capture } = await sidecar.ended();
  return { body, exchange: await readCapture(capture!, BOUNDS) };
}

function inPiecesOf(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

describe.each(Object.entries(STREAMS))('a stream with %s', (_name, stream) => {
  it.each([1, 2, 3, 4, 5, 6, 7])('in writes of %i bytes passes as it is, and its text is read whole', async (size) => {
    const { body, exchange } = await through(inPiecesOf(stream, size));

    expect(body).toEqual(stream);
    expect(exchange).toMatchObject({ ending: 'success', output: [{ id: 'm', role: 'assistant', text: TEXT }] });
  });
});

describe('a byte order mark', () => {
  const stream = STREAMS['a byte order mark']!;

  it.each([0, 1, 2, 3])('cut behind its byte %i hides no event', async (at) => {
    const { body, exchange } = await through([stream.subarray(0, at), stream.subarray(at)]);

    expect(body).toEqual(stream);
    expect(exchange?.eventCounts).toMatchObject({ RUN_STARTED: 1, RUN_FINISHED: 1 });
    expect(exchange?.ending).toBe('success');
  });
});
