import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import { type Pieces, REQUEST_ID } from './stream-agent.ts';

/** A body, without keeping it. */
export interface Digest {
  readonly bytes: number;
  readonly sha256: string;
}

export interface Received {
  /** Names the request to the agent. */
  readonly id: string;
  readonly status: number;
  readonly body: Digest;
}

export interface RunRequest {
  readonly path?: string;
  /** Connections to use; absent: a new one. */
  readonly connections?: Agent;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** The client leaves once it has read this many bytes. */
  readonly leaveAfterBytes?: number;
}

/** Posts a run and reads its answer to the end. Rejects when the answer is not whole, unless the client left. */
export async function receive(url: string, run: RunRequest): Promise<Received> {
  const { path = '/', connections, body, headers, leaveAfterBytes = Infinity } = run;
  const id = randomUUID();
  const request = httpRequest(`${url}${path}`, {
    method: 'POST',
    agent: connections ?? false,
    headers: { 'content-type': 'application/json', ...headers, [REQUEST_ID]: id },
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
    if (bytes >= leaveAfterBytes) break;
  }
  return { id, status: response.statusCode ?? 0, body: { bytes, sha256: hash.digest('hex') } };
}

/** Of the first `length` bytes of a body. */
export async function digestOf(pieces: Pieces, length: number): Promise<Digest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of pieces) {
    if (bytes === length) break;
    const part = bytesOf(piece).subarray(0, length - bytes);
    hash.update(part);
    bytes += part.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

const bytesOf = (piece: Uint8Array | string): Uint8Array => (typeof piece === 'string' ? Buffer.from(piece) : piece);

/** Runs `work` for each of `count` numbers, at most `atOnce` at the same time. */
export async function each(count: number, atOnce: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
