import { Agent, createServer, request as httpRequest } from 'node:http';
import { announce, listen } from '../proxy/targets/serve.ts';

/** `PORT TROUBLE_PORT`: the bare pipe of the bench `proxy`, with a second agent below `/trouble`. */
const [port = 0, troublePort = 0] = process.argv.slice(2).map(Number);
const agent = new Agent({ keepAlive: true });

const server = createServer((request, response) => {
  const { method, url: path = '', headers } = request;
  const upstreamPort = path.startsWith('/trouble') ? troublePort : port;
  const upstream = httpRequest({ host: '127.0.0.1', port: upstreamPort, method, path, headers, agent }, (incoming) => {
    response.writeHead(incoming.statusCode ?? 502, incoming.headers);
    incoming.pipe(response);
  });
  upstream.on('error', () => response.destroy());
  request.pipe(upstream);
});
announce(await listen(server));
