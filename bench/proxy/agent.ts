import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createNetServer, type AddressInfo, type Server } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { hostClockUs, type RunPlan, type SilencePlan } from './plan.ts';
import { type SilenceSeen, silencePath } from './silence.ts';

/**
 * An AG-UI agent as a process of its own. A POST runs the plan in its `forwardedProps`; `GET /hashes` tells, once, the
 * SHA-256 of every body that was sent since; a line with a run's id on the second port acknowledges its last event;
 * `GET /silences/PHASE/RUN` is answered with what was seen of a silent run once it has come so far.
 */

/** By run id. */
const hashes = new Map<string, string>();
const acknowledged = new Map<string, () => void>();
/** By the path that asks for it, each asked for once. */
const silences = new Map<string, PromiseWithResolvers<SilenceSeen>>();

interface RunInput {
  readonly threadId: string;
  readonly runId: string;
  readonly forwardedProps: RunPlan;
}

async function play(input: RunInput, response: ServerResponse): Promise<void> {
  const { threadId, runId, forwardedProps: plan } = input;
  if (plan.kind === 'silent') return beSilent(plan, runId, response);
  const messageId = `message-${runId}`;
  const sha256 = createHash('sha256');
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });

  function send(event: object): boolean {
    const text = `data: ${JSON.stringify({ ...event, timestamp: hostClockUs() })}\n\n`;
    sha256.update(text);
    return response.write(text);
  }
  const content = (delta: string): boolean => send({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta });

  send({ type: 'RUN_STARTED', threadId, runId });
  send({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' });
  await sendContent(plan, runId, content, response);
  send({ type: 'TEXT_MESSAGE_END', messageId });
  send({ type: 'RUN_FINISHED', threadId, runId });
  hashes.set(runId, sha256.digest('hex'));
  response.end();
}

async function sendContent(
  plan: Exclude<RunPlan, SilencePlan>,
  runId: string,
  content: (delta: string) => boolean,
  response: ServerResponse,
): Promise<void> {
  if (plan.kind === 'open') {
    for (let at = 0; !response.destroyed; at += 1) {
      content(`word ${at} `);
      await sleep(plan.everyMs * (0.5 + Math.random()));
    }
    return;
  }
  const filler = 'tide '.repeat(Math.ceil(plan.deltaLength / 5)).slice(0, plan.deltaLength);
  for (let at = 0; at < plan.events && !response.destroyed; at += 1) {
    switch (plan.kind) {
      case 'paced':
        // At moments of their own, or the streams of all targets would speak at once.
        await sleep(plan.everyMs * 2 * Math.random());
        content(filler);
        break;
      case 'burst':
        if (!content(filler)) await once(response, 'drain');
        break;
      case 'lock_step': {
        const wait = new Promise<void>((resolve) => acknowledged.set(runId, resolve));
        content(filler);
        await wait;
      }
    }
  }
}

async function beSilent({ isHeadSent, forMs }: SilencePlan, runId: string, response: ServerResponse): Promise<void> {
  const over = setTimeout(() => response.end(), forMs);
  const closed = once(response, 'close');
  let headAtUs: number | undefined;
  if (isHeadSent) {
    headAtUs = hostClockUs();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  }
  silenceAt(silencePath(runId, 'begun')).resolve({});
  await closed;
  clearTimeout(over);
  silenceAt(silencePath(runId, 'closed')).resolve({ headAtUs, closedAtUs: hostClockUs() });
}

/** Whoever comes first, the run or the question after it, makes the place where they meet. */
function silenceAt(path: string): PromiseWithResolvers<SilenceSeen> {
  const place = silences.get(path) ?? Promise.withResolvers<SilenceSeen>();
  silences.set(path, place);
  return place;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url: path = '' } = request;
  if (path.startsWith('/silences/')) {
    response.end(JSON.stringify(await silenceAt(path).promise));
    silences.delete(path);
    return;
  }
  if (request.method === 'GET') {
    response.end(JSON.stringify(Object.fromEntries(hashes)));
    hashes.clear();
    return;
  }
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  await play(JSON.parse(body), response);
}

async function listen(server: Server): Promise<number> {
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const server = createServer((request, response) => {
  // A target that leaves early is for the client to notice.
  answer(request, response).catch(() => response.destroy());
});
// What happens when an agent closes an idle connection is another question, and tested elsewhere.
server.keepAliveTimeout = 600_000;

const acknowledgements = createNetServer((socket) => {
  socket.setNoDelay();
  socket.on('error', () => {});
  createInterface(socket).on('line', (runId) => acknowledged.get(runId)?.());
});

process.on('disconnect', () => process.exit());
process.send?.({ port: await listen(server), acknowledgementPort: await listen(acknowledgements) });
