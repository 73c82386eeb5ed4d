import { readFileSync } from 'node:fs';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startServe } from '../support/serve.ts';
import {
  ask,
  bodyOf,
  httpAgent,
  observation,
  POST_JSON,
  rawClient,
  RUN_REQUEST,
  serve,
  startProxy,
} from './support.ts';

const FIXTURES = new URL('../fixtures/tls/', import.meta.url);
const pem = (name: string) => readFileSync(new URL(`${name}.pem`, FIXTURES), 'utf8');

/** An agent that speaks HTTPS, with the certificate of that name; see the fixtures for what each is good for. */
async function httpsAgent(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
  certificate: 'agent' | 'elsewhere' | 'expired' = 'agent',
) {
  const server = createServer({ key: pem('agent.key'), cert: pem(certificate) }, (request, response) => {
    void answer(request, response);
  });
  const { port, sockets } = await serve(server);
  return { server, sockets, url: `https://127.0.0.1:${port}`, urlByName: `https://localhost:${port}` };
}

/** What NODE_EXTRA_CA_CERTS does to a process when it starts. */
function trustAuthority(): void {
  const usual = getCACertificates('default');
  setDefaultCACertificates([...usual, pem('authority')]);
  onTestFinished(() => setDefaultCACertificates(usual));
}

describe('an agent behind HTTPS, whose authority is trusted', () => {
  it('is asked and streams as any other, on connections that are used again', async () => {
    trustAuthority();
    const used = new Set<Socket>();
    const seen = Promise.withResolvers<void>();
    const { url } = await httpsAgent(async (request, response) => {
      used.add(request.socket);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      response.write(`data: ${await bodyOf(request)}\n\n`);
      await seen.promise;
      response.end('data: 2\n\n');
    });
    const sidecar = await startProxy(`${url}/base`);
    const client = rawClient(
      sidecar.port,
      'POST / HTTP/1.1\r\nHost: c\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi',
    );
    await client.until('data: hi\n\n');
    seen.resolve();

    expect(await client.closed).toBe('end');
    expect(client.received()).toMatch(/data: 2\n\n\r\n0\r\n\r\n$/);
    expect((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).body.toString()).toMatch(/^data: \{.*\n\ndata: 2\n\n$/);
    expect(used.size).toBe(1);
  });

  it('is told its own name, in the handshake and in Host, whatever the client asked for', async () => {
    trustAuthority();
    const { urlByName } = await httpsAgent((request, response) => {
      response.end(`${(request.socket as TLSSocket & { servername: string }).servername} ${request.headers.host}`);
    });
    const sidecar = await startProxy(urlByName);

    const { body } = await ask(sidecar.url, { headers: { host: 'client.example' } });

    expect(body.toString()).toBe(`localhost ${new URL(urlByName).host}`);
  });

  it('costs no request when it closes a connection in the moment in which it is taken', async () => {
    trustAuthority();
    const used = new Set<Socket>();
    const agent = await httpsAgent((request, response) => {
      used.add(request.socket);
      request.resume().on('end', () => response.end('ok'));
    });
    const observe = () => {
      for (const socket of agent.sockets) socket.destroy();
      return observation(() => {});
    };
    const sidecar = await startProxy(agent.url, { observe });

    for (let round = 0; round < 10; round += 1) {
      expect((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).status).toBe(200);
    }
    expect(used.size).toBe(10);
  });

  it('may switch to WebSocket', async () => {
    trustAuthority();
    const agent = await httpsAgent(() => expect.unreachable());
    agent.server.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
      socket.pipe(socket);
    });
    const sidecar = await startProxy(agent.url);
    const client = rawClient(
      sidecar.port,
      'GET / HTTP/1.1\r\nHost: c\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nping',
    );

    await client.until('\r\n\r\nping');
  });

  it('breaks off as any other', async () => {
    trustAuthority();
    const { url } = await httpsAgent((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n', () => response.destroy());
    });
    const sidecar = await startProxy(url);

    await expect(ask(sidecar.url, POST_JSON, RUN_REQUEST)).rejects.toThrow('aborted');
    expect((await sidecar.ended()).end).toMatchObject({ transport: 'upstream_error', errorCode: 'upstream_reset' });
  });
});

describe('a refusal that an agent behind HTTPS sends while the client is still sending reaches it', () => {
  const UPLOAD = Buffer.alloc(5 * 1024 * 1024, 'x');
  const refuse = (response: ServerResponse, fields: OutgoingHttpHeaders = {}) =>
    response.writeHead(413, { 'content-length': 8, ...fields }).end('too much');

  const AGENTS = [
    {
      name: 'reads on',
      answer: (request: IncomingMessage, response: ServerResponse) => {
        request.resume();
        refuse(response);
      },
    },
    {
      name: 'closes',
      answer: (_: IncomingMessage, response: ServerResponse) => refuse(response, { connection: 'close' }),
    },
  ] as const;

  describe.each(AGENTS)('of one that then $name', ({ answer }) => {
    it.each([
      ['counted', { 'content-length': UPLOAD.length }],
      ['chunked', { 'transfer-encoding': 'chunked' }],
    ])('(%s)', async (_framing, headers) => {
      trustAuthority();
      const agent = await httpsAgent(answer);
      const sidecar = await startProxy(agent.url);

      const { status, body } = await ask(sidecar.url, { method: 'POST', headers }, UPLOAD);

      expect({ status, body: body.toString() }).toEqual({ status: 413, body: 'too much' });
    });
  });

  it('of one that resets while more is on its way to it', async () => {
    trustAuthority();
    const asked = Promise.withResolvers<ServerResponse>();
    const agent = await httpsAgent((_request, response) => asked.resolve(response));
    const sidecar = await startProxy(agent.url);
    const client = rawClient(
      sidecar.port,
      'POST / HTTP/1.1\r\nHost: c\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n',
    );
    const response = await asked.promise;

    // All in one turn: the sidecar is told of the client's bytes first, and fails to write them before it reads the answer.
    client.socket.write('more');
    refuse(response);
    for (const socket of agent.sockets) socket.resetAndDestroy();

    await client.closed;
    expect(client.received()).toMatch(/^HTTP\/1\.1 413 [^]*too much$/);
  });
});

describe('an agent behind HTTPS that cannot be trusted is asked nothing, and the client reads why', () => {
  const CASES = [
    {
      name: 'an authority that nobody trusts',
      trusted: false,
      certificate: 'agent',
      cause: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    },
    {
      name: 'a certificate for another host',
      trusted: true,
      certificate: 'elsewhere',
      cause: 'ERR_TLS_CERT_ALTNAME_INVALID',
    },
    { name: 'a certificate that has expired', trusted: true, certificate: 'expired', cause: 'CERT_HAS_EXPIRED' },
  ] as const;

  it.each(CASES)('$name', async ({ trusted, certificate, cause }) => {
    if (trusted) trustAuthority();
    const { url } = await httpsAgent(() => expect.unreachable(), certificate);
    const sidecar = await startProxy(url);

    const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body.toString()).error).toEqual({
      code: 'upstream_unreachable',
      message: expect.stringContaining(`(${cause})`),
    });
    expect((await sidecar.ended()).end).toMatchObject({
      transport: 'upstream_error',
      errorCode: 'upstream_unreachable',
    });
  });

  it('also when the client asks for the host that the certificate is for', async () => {
    trustAuthority();
    const { url } = await httpsAgent(() => expect.unreachable(), 'elsewhere');
    const sidecar = await startProxy(url);

    expect((await ask(sidecar.url, { headers: { host: 'elsewhere.example' } })).status).toBe(502);
  });

  it('nor one that speaks plain HTTP', async () => {
    const agent = await httpAgent(() => expect.unreachable());
    const sidecar = await startProxy(agent.url.replace('http:', 'https:'));

    const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);

    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body.toString()).error).toMatchObject({ code: 'upstream_unreachable' });
  });

  it('and one that speaks HTTPS is not understood where plain HTTP is expected', async () => {
    const { url } = await httpsAgent(() => expect.unreachable());
    const sidecar = await startProxy(url.replace('https:', 'http:'));

    expect((await ask(sidecar.url, POST_JSON, RUN_REQUEST)).status).toBe(502);
  });
});

describe('NODE_EXTRA_CA_CERTS', () => {
  it('names the authority that the sidecar trusts; without it the agent is a 502', async () => {
    const { url } = await httpsAgent(async (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${await bodyOf(request)}\n\n`);
    });
    const env = { AGENT_URL: url, OTEL_SDK_DISABLED: 'true' };
    const [trusting, doubting] = await Promise.all([
      startServe({ ...env, NODE_EXTRA_CA_CERTS: fileURLToPath(new URL('authority.pem', FIXTURES)) }),
      startServe(env),
    ]);
    onTestFinished(async () => {
      await Promise.all([trusting, doubting].map((sidecar) => sidecar[Symbol.asyncDispose]()));
    });

    expect(await ask(trusting.url, { method: 'POST' }, 'hi')).toMatchObject({
      status: 200,
      body: Buffer.from('data: hi\n\n'),
    });
    expect(await ask(doubting.url, { method: 'POST' }, 'hi')).toMatchObject({
      status: 502,
      body: expect.toSatisfy((body) => String(body).includes('(UNABLE_TO_VERIFY_LEAF_SIGNATURE)')),
    });
  });
});
