import { createServer, request as httpRequest, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createProxyServer } from '../src/proxy/server.ts';

/** One measured process: `agent EVENTS PAUSE_MS`, `pipe PORT`, `tap off PORT` or `tap on PORT`. */
const [role = '', first = '', second = ''] = process.argv.slice(2);

/** Sends `events` events of about 120 bytes, `pauseMs` apart. */
function agent(events: number, pauseMs: number): RequestListener {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const timer = setInterval(() => {
      if (sent === events) {
        clearInterval(timer);
        response.end();
        return;
      }
      const delta = `word ${(sent += 1)} `.padEnd(50, '.');
      response.write(`data: ${JSON.stringify({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'message-1', delta })}\n\n`);
    }, pauseMs);
  };
}

/** The least that a proxy in Node can do. */
function pipe(port: number): RequestListener {
  return (request, response) => {
    const { method, url: path, headers } = request;
    const upstream = httpRequest({ host: '127.0.0.1', port, method, path, headers }, (incoming) => {
      response.writeHead(incoming.statusCode ?? 502, incoming.headers);
      incoming.pipe(response);
    });
    request.pipe(upstream);
  };
}

async function start(): Promise<number> {
  if (role === 'agent' || role === 'pipe') {
    const server = createServer(role === 'agent' ? agent(Number(first), Number(second)) : pipe(Number(first)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return portOf(server.address());
  }
  const proxy = createProxyServer({
    agents: [{ name: 'agent', url: `http://127.0.0.1:${first}`, match: '/' }],
    observe: () => ({ trace: { traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 }, finished: () => {} }),
    tap: role === 'tap on' ? { maxExchangeBytes: 1024 * 1024, maxTotalBytes: 64 * 1024 * 1024 } : undefined,
    connectTimeoutMs: 10_000,
    onTapDropped: () => {},
    onFault: () => {},
    now: () => performance.timeOrigin + performance.now(),
  });
  return portOf(await proxy.listen({ port: 0, host: '127.0.0.1' }));
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const port = await start();
process.on('message', (question) => {
  const { user, system } = process.cpuUsage();
  process.send?.(question === 'cpu' ? user + system : port);
});
