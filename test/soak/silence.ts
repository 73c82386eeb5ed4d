/**
 * `npm run soak` runs the sidecar as a user would, with its defaults, and holds several exchanges silent for 310 s: longer
 * than any timer that HTTP servers, clients and proxies come with (5 s, 60 s, 2 min, 4 min, 5 min). `-- --seconds N` tries
 * it with another length. Each exchange must come through whole; exit status 1 when one does not.
 *
 * The tests prove the same without waiting (test/proxy/silence.test.ts); this is for what a test cannot speed up.
 */
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startServe } from '../support/serve.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '310' } } });
const silenceMs = Number(values.seconds) * 1000;
if (!(silenceMs > 0)) throw new TypeError(`--seconds: given "${values.seconds}", expected a number above 0.`);

const BEFORE = 'data: {"type":"RUN_STARTED"}\n\n';
const AFTER = 'data: {"type":"RUN_FINISHED"}\n\n';
const BODY = BEFORE + AFTER;
const EVENT_STREAM = { 'content-type': 'text/event-stream' };

/** What the agent does on each path. All of them end in the same bytes. */
const ANSWERS: Readonly<Record<string, (response: ServerResponse) => Promise<unknown>>> = {
  '/before-the-head': async (response) => {
    await pause(silenceMs);
    response.writeHead(200, EVENT_STREAM).end(BODY);
  },
  '/before-the-first-event': async (response) => {
    response.writeHead(200, EVENT_STREAM).flushHeaders();
    await pause(silenceMs);
    response.end(BODY);
  },
  '/between-two-events': async (response) => {
    response.writeHead(200, EVENT_STREAM).write(BEFORE);
    await pause(silenceMs);
    response.end(AFTER);
  },
  '/inside-a-counted-body': async (response) => {
    response.writeHead(200, { ...EVENT_STREAM, 'content-length': BODY.length }).write(BEFORE);
    await pause(silenceMs);
    response.end(AFTER);
  },
  '/while-the-client-uploads': async (response) => {
    response.writeHead(200, EVENT_STREAM).end(BODY);
  },
};

const agent = createServer((request, response) => {
  void answer(request, response);
});
agent.requestTimeout = 0;
agent.listen(0, '127.0.0.1');
await once(agent, 'listening');

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.resume();
  await once(request, 'end');
  await ANSWERS[request.url ?? '']?.(response);
}

/** Asks for `path` and resolves when the answer is whole; rejects when it is not, or is not what the agent sent. */
async function exchange(url: string, path: string): Promise<void> {
  const request = httpRequest(`${url}${path}`, {
    agent: false,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 2 },
  });
  request.write('{');
  const [[response]] = await Promise.all([
    once(request, 'response') as Promise<[IncomingMessage]>,
    pause(path === '/while-the-client-uploads' ? silenceMs : 0).then(() => request.end('}')),
  ]);
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += chunk;
  if (response.statusCode !== 200 || body !== BODY) throw new Error(`status ${response.statusCode}, body "${body}"`);
}

await using sidecar = await startServe({ AGENT_URL: `http://127.0.0.1:${(agent.address() as AddressInfo).port}` });
const startedAt = performance.now();
console.log(`silent for ${silenceMs / 1000} s, through the defaults of \`serve\``);
await Promise.all(
  Object.keys(ANSWERS).map(async (path) => {
    const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
    try {
      await exchange(sidecar.url, path);
      console.log(`ok      ${path} (${seconds()})`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`failed  ${path} (${seconds()}): ${String(error)}`);
    }
  }),
);
agent.closeAllConnections();
agent.close();
