import { Agent, createServer, request as httpRequest } from 'node:http';
import { announce, listen } from './serve.ts';

/** `PORT` of the agent. The least that a proxy in Node can do, and what every ratio is about. */
const port = Number(process.argv[2]);
const agent = new Agent({ keepAlive: true });

const server = createServer((request, response) => {
  const { method, url: path, headers } = request;
  const upstream = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent }, (incoming) => {
    response.writeHead(incoming.statusCode ?? 502, incoming.headers);
    incoming.pipe(response);
  });
  upstream.on('error', () => response.destroy());
  response.on('close', () => {
    if (!response.writableFinished) upstream.destroy();
  });
  request.pipe(upstream);
});
announce(await listen(server));
