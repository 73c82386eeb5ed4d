import { describe, expect, it } from 'vitest';
import type { ProxyOptions } from '../../src/proxy/options.ts';
import { agentThat, rawAgent, rawClient, startProxy } from './support.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

/** The fields of the head that the agent reads, after its first line, when a client sends these lines. */
async function fieldsAtAgent(options: Partial<ProxyOptions>, ...lines: string[]): Promise<string[]> {
  const { fields } = await atAgent(options, ...lines);
  return fields;
}

async function atAgent(options: Partial<ProxyOptions>, ...lines: string[]) {
  let received: string[] = [];
  const agent = await agentThat((socket, head) => {
    received = head.split('\r\n\r\n')[0]!.split('\r\n');
    socket.write(OK);
  });
  const sidecar = await startProxy(agent.url, options);
  await rawClient(sidecar.port, `${lines.join('\r\n')}\r\n\r\n`).until('\r\n\r\n');
  const [target, ...fields] = received;
  return { target, fields, authority: `127.0.0.1:${agent.port}` };
}

/** Those of them that tell how the request came. */
function forwarding(fields: readonly string[]): string[] {
  return fields.filter((field) => /^(?:x[-_]forwarded[-_]|forwarded|x[-_]real[-_]ip)/i.test(field));
}

const CLAIMS = [
  'GET / HTTP/1.1',
  'Host: sidecar.example',
  'X-Forwarded-For: 192.0.2.1',
  'X-Forwarded-Host: shop.example',
  'X-Forwarded-Proto: https',
  'X-Forwarded-Port: 443',
  'Forwarded: for=192.0.2.1;proto=https',
  'X-Real-IP: 192.0.2.1',
];

describe('what a client says of the way its request came', () => {
  it('is believed by default, and the client is added to it', async () => {
    expect(forwarding(await fieldsAtAgent({}, ...CLAIMS))).toEqual([
      'X-Forwarded-Port: 443',
      'X-Real-IP: 192.0.2.1',
      'X-Forwarded-For: 192.0.2.1, 127.0.0.1',
      'X-Forwarded-Host: shop.example',
      'X-Forwarded-Proto: https',
      'Forwarded: for=192.0.2.1;proto=https, for=127.0.0.1;host="sidecar.example";proto=http',
    ]);
  });

  it('is said by the sidecar where the client says nothing; Forwarded is not begun', async () => {
    expect(forwarding(await fieldsAtAgent({}, 'GET / HTTP/1.1', 'Host: sidecar.example'))).toEqual([
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-Host: sidecar.example',
      'X-Forwarded-Proto: http',
    ]);
  });

  it('stays when the client names it in Connection: that is no way to hide the hops before', async () => {
    const fields = await fieldsAtAgent(
      {},
      ...CLAIMS,
      'Connection: x-forwarded-for, x-forwarded-host, x-forwarded-proto, forwarded',
    );
    expect(fields).toContain('X-Forwarded-For: 192.0.2.1, 127.0.0.1');
    expect(fields).toContain('X-Forwarded-Host: shop.example');
    expect(fields).toContain('X-Forwarded-Proto: https');
    expect(fields).toContain('Forwarded: for=192.0.2.1;proto=https, for=127.0.0.1;host="sidecar.example";proto=http');
  });

  it('is dropped and said anew with `replace`', async () => {
    const fields = await fieldsAtAgent(
      { forwardedHeaders: 'replace' },
      ...CLAIMS,
      'X-Forwarded-Server: a',
      'X-Kept: b',
    );

    expect(forwarding(fields)).toEqual([
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-Host: sidecar.example',
      'X-Forwarded-Proto: http',
    ]);
    expect(fields).toContain('X-Kept: b');
  });

  it.each(['X_Forwarded_For: 192.0.2.1', 'x-forwarded_HOST: a', 'X_REAL-ip: 192.0.2.1', 'FORWARDED: for=a'])(
    'does not slip through `replace` in another spelling: %s',
    async (claim) => {
      const fields = await fieldsAtAgent({ forwardedHeaders: 'replace' }, 'GET / HTTP/1.1', 'Host: c', claim);
      expect(forwarding(fields)).toEqual([
        'X-Forwarded-For: 127.0.0.1',
        'X-Forwarded-Host: c',
        'X-Forwarded-Proto: http',
      ]);
    },
  );

  it('passes untouched with `pass`, and nothing is added', async () => {
    const fields = await fieldsAtAgent({ forwardedHeaders: 'pass' }, ...CLAIMS);
    expect(forwarding(fields)).toEqual(CLAIMS.slice(2));

    expect(forwarding(await fieldsAtAgent({ forwardedHeaders: 'pass' }, 'GET / HTTP/1.1', 'Host: c'))).toEqual([]);
  });

  it('never tells the sidecar who the client is', async () => {
    const agent = await agentThat((socket) => socket.write(OK));
    const sidecar = await startProxy(agent.url);
    await rawClient(sidecar.port, `${CLAIMS.join('\r\n')}\r\n\r\n`).until('\r\n\r\n');

    expect(sidecar.requests[0]?.clientAddress).toBe('127.0.0.1');
  });
});

describe('the Host that the agent reads', () => {
  it('is its own by default', async () => {
    const { fields, authority } = await atAgent({}, 'GET / HTTP/1.1', 'hOsT: client.example:8080');
    expect(fields).toContain(`hOsT: ${authority}`);
  });

  it('is the client`s with `client`, in its place', async () => {
    const { fields } = await atAgent({ hostHeader: 'client' }, 'GET / HTTP/1.1', 'hOsT: client.example:8080', 'X-A: b');
    expect(fields.slice(0, 2)).toEqual(['hOsT: client.example:8080', 'X-A: b']);
  });

  it.each([
    ['is missing', 'GET / HTTP/1.0'],
    ['is empty', 'GET / HTTP/1.1', 'Host:'],
  ])('is the agent`s own when that of the client %s', async (_, ...lines) => {
    const { fields, authority } = await atAgent({ hostHeader: 'client' }, ...lines);
    expect(fields.filter((field) => /^host:/i.test(field))).toEqual([`Host: ${authority}`]);
  });

  it('is that of the target when the client sent one in absolute form (RFC 9112 §3.2.2)', async () => {
    const lines = ['GET http://target.example:81/run HTTP/1.1', 'Host: other.example'];
    const client = await atAgent({ hostHeader: 'client' }, ...lines);
    expect(client.target).toBe('GET /run HTTP/1.1');
    expect(client.fields).toContain('Host: target.example:81');
    expect(client.fields).toContain('X-Forwarded-Host: target.example:81');

    const own = await atAgent({}, ...lines);
    expect(own.fields).toContain(`Host: ${own.authority}`);
  });

  it.each(['GET', 'POST'])('has no say in the certificate that is expected of the agent (%s)', async (method) => {
    const hello = Promise.withResolvers<string>();
    const agent = await rawAgent((socket) => socket.once('data', (bytes) => hello.resolve(bytes.toString('latin1'))));
    const sidecar = await startProxy(`https://localhost:${agent.port}`, { hostHeader: 'client' });
    rawClient(sidecar.port, `${method} / HTTP/1.1\r\nHost: client.example\r\n\r\n`);

    // The name stands in the clear in the first message of TLS.
    const said = await hello.promise;
    expect(said).toContain('localhost');
    expect(said).not.toContain('client.example');
  });
});
