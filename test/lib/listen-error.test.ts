import { link, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ListenError } from '../../src/lib/listen-error.ts';

const settings = { host: 'listen.host or HOST', port: 'listen.port or PORT' };

/** What the system says when something is to listen there. */
async function refusal(where: ListenOptions): Promise<unknown> {
  const server = createServer();
  const failed = once(server, 'error');
  server.listen(where, () => server.close());
  const [error] = await failed;
  return error;
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'listen-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

describe('a listener whose address cannot be had says which setting is wrong', () => {
  async function messageFor(host: string, port = 0): Promise<string> {
    return new ListenError('proxy', { host, port, settings }, await refusal({ host, port })).message;
  }

  it('its host, when that is neither an address nor a name of one', async () => {
    expect(await messageFor('999.1.1.1')).toMatch(
      /^the proxy cannot listen on 999\.1\.1\.1:0 \(getaddrinfo E[A-Z_]+ 999\.1\.1\.1\); that is no address, .* set listen\.host or HOST$/,
    );
  });

  it('its host, when that is the address of another machine', async () => {
    expect(await messageFor('192.0.2.1')).toMatch(
      /EADDRNOTAVAIL.*\); that is no address of this machine: set listen\.host or HOST$/,
    );
  });

  it('its port, when another process has it', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const address = taken.address();
    const port = typeof address === 'object' && address ? address.port : 0;

    expect(await messageFor('127.0.0.1', port)).toMatch(/EADDRINUSE.*: stop it, or set listen\.port or PORT$/);
  });

  // Who runs the tests may be allowed to take any port, and a machine may speak IPv6 or not.
  it.each([
    ['EACCES', /: set listen\.port or PORT to one above 1023$/],
    ['EAFNOSUPPORT', /: set listen\.host or HOST$/],
    ['EMFILE', /; set listen\.host or HOST, or listen\.port or PORT$/],
  ])('or what the system holds against it (%s)', (code, remedy) => {
    const cause = Object.assign(new Error(`listen ${code}`), { code });
    const { message } = new ListenError('proxy', { host: '::1', port: 80, settings }, cause);
    expect(message).toMatch(remedy);
    expect(message).toContain(`cannot listen on [::1]:80 (listen ${code})`);
  });
});

describe.skipIf(process.platform === 'win32')(
  'a listener whose socket cannot be had says what is wrong with it',
  () => {
    async function messageFor(socket: string): Promise<string> {
      const cause = await refusal({ path: socket });
      return new ListenError('proxy', { socket, setting: 'listen.socket or LISTEN_SOCKET' }, cause).message;
    }

    it('its folder, when there is none', async () => {
      const socket = join(await folder(), 'none', 'x.sock');
      expect(await messageFor(socket)).toMatch(
        /^the proxy cannot listen on .*x\.sock \(.*\); its folder must exist and be open for writing: .* set listen\.socket or LISTEN_SOCKET$/,
      );
    });

    it('what stands there already: a socket in use, one that was left behind, or a file', async () => {
      const path = await folder();
      const server = createServer().listen(join(path, 'used'));
      await once(server, 'listening');
      const remedy = /: if it is a socket that nobody listens on, remove it, or set listen\.socket or LISTEN_SOCKET$/;
      expect(await messageFor(join(path, 'used'))).toMatch(remedy);

      // Node removes the socket under the name it was given, and leaves this one.
      await link(join(path, 'used'), join(path, 'stale'));
      server.close();
      expect(await messageFor(join(path, 'stale'))).toMatch(remedy);

      await writeFile(join(path, 'file'), '');
      expect(await messageFor(join(path, 'file'))).toMatch(remedy);
    });

    it('its length, which counts in bytes', async () => {
      const socket = join(await folder(), 'ü'.repeat(70));
      expect(await messageFor(socket)).toMatch(/: set listen\.socket or LISTEN_SOCKET to a shorter one$/);
    });
  },
);
