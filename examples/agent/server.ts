import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { json } from 'node:stream/consumers';
import { RunAgentInputSchema } from '@ag-ui/core/schemas';
import { EventEncoder } from '@ag-ui/encoder';
import { listen, type RunningServer } from '../lib/listen.ts';
import { run } from './run.ts';

export interface HarbourAgentOptions {
  /** 0 takes any free port. */
  readonly port: number;
  readonly host?: string;
  /** Pause before each event, in milliseconds, so that the stream looks like one of a model. Default 25. */
  readonly gapMs?: number;
}

/**
 * The harbour agent behind HTTP, as AG-UI has it: POST a RunAgentInput to any path, and the run's events come back as
 * server-sent events, or as protobuf frames when `Accept` asks for them.
 */
export function startHarbourAgent({ port, host, gapMs = 25 }: HarbourAgentOptions): Promise<RunningServer> {
  const server = createServer((request, response) => {
    answer(request, response, gapMs).catch((error: unknown) => {
      console.error('harbour agent:', error);
      response.destroy();
    });
  });
  return listen(server, port, host);
}

async function answer(request: IncomingMessage, response: ServerResponse, gapMs: number): Promise<void> {
  if (request.method !== 'POST') {
    sendJson(response, request.method === 'GET' ? 200 : 405, { agent: 'harbour', use: 'POST a RunAgentInput' });
    return;
  }
  const input = RunAgentInputSchema.safeParse(await json(request).catch(() => undefined));
  if (!input.success) {
    sendJson(response, 422, { error: 'the body is not a RunAgentInput', issues: input.error.issues });
    return;
  }

  const encoder = new EventEncoder({ accept: request.headers.accept ?? '' });
  response.writeHead(200, { 'content-type': encoder.getContentType(), 'cache-control': 'no-cache' });
  // Who closes the connection wants no more of the run.
  const left = new AbortController();
  response.once('close', () => left.abort());
  for (const event of run(input.data)) {
    await pause(gapMs);
    if (left.signal.aborted) return;
    response.write(encoder.encodeBinary(event));
  }
  response.end();
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
