import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { listen } from '../lib/listen.ts';

export interface Sidecar extends AsyncDisposable {
  /** Where clients talk to it. */
  readonly url: string;
  /** Where its metrics and probes are. */
  readonly adminUrl: string;
  /** Throws when the process has ended. */
  assertRunning(): void;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LOG_LINES_KEPT = 40;
const STOP_DEADLINE_MS = 10_000;

/** What a process needs of its surroundings; everything else could change what the demo is meant to show. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'SystemRoot', 'NODE_COMPILE_CACHE'];

/**
 * Starts `agui-sidecar serve` as a process of its own, configured by `settings` as anybody would configure it, and waits
 * until it is ready.
 *
 * @throws when it ends or is not ready before `signal` aborts; the message holds the end of its log.
 */
export async function startSidecar(settings: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Sidecar> {
  const [port, adminPort] = [await freePort(8080), await freePort(9464)];
  const inherited = INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const child = spawn(process.execPath, ['src/cli.ts', 'serve'], {
    cwd: ROOT,
    env: {
      ...Object.fromEntries(inherited),
      ...settings,
      HOST: '127.0.0.1',
      PORT: String(port),
      ADMIN_HOST: '127.0.0.1',
      ADMIN_PORT: String(adminPort),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own: Ctrl-C at the terminal is for this process, which then stops the sidecar in order.
    detached: true,
  });
  const killAtExit = (): void => void child.kill('SIGKILL');
  process.once('exit', killAtExit);

  let log: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = [...log, ...text.trimEnd().split('\n')].slice(-LOG_LINES_KEPT);
  });
  let failure: Error | undefined;
  child.once('error', (error) => (failure = error));
  const ended = once(child, 'close').catch(() => undefined);
  const hasEnded = (): boolean => failure !== undefined || child.exitCode !== null || child.signalCode !== null;
  const problem = (what: string): Error =>
    new Error(`The sidecar ${what}. The end of its log:\n${log.map((line) => `  ${line}`).join('\n')}`, {
      cause: failure,
    });

  const sidecar: Sidecar = {
    url: `http://127.0.0.1:${port}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    assertRunning() {
      if (hasEnded()) throw problem(`ended with status ${child.exitCode ?? child.signalCode}`);
    },
    async [Symbol.asyncDispose]() {
      process.off('exit', killAtExit);
      if (hasEnded()) return;
      const kill = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
      child.kill('SIGTERM');
      await ended;
      clearTimeout(kill);
    },
  };
  try {
    while (!(await isReady(sidecar.adminUrl))) {
      sidecar.assertRunning();
      if (signal.aborted) throw problem('was not ready in time');
      await pause(50);
    }
  } catch (error) {
    await sidecar[Symbol.asyncDispose]();
    throw error;
  }
  return sidecar;
}

async function isReady(adminUrl: string): Promise<boolean> {
  const probe = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
  await probe?.body?.cancel();
  return probe?.ok ?? false;
}

/** `wanted` if nobody listens there, else a port that was free just now. */
async function freePort(wanted: number): Promise<number> {
  for (const port of [wanted, 0]) {
    const probe = await listen(createServer(), port).catch(() => undefined);
    if (probe === undefined) continue;
    await probe[Symbol.asyncDispose]();
    return probe.port;
  }
  throw new Error('no port is free on 127.0.0.1');
}
