import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export interface ServeProcess extends AsyncDisposable {
  /** Where clients talk to it. */
  readonly url: string;
  readonly adminUrl: string;
  /** Log lines so far, parsed. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** Resolves as soon as a line with this message has been logged. */
  logged(message: string): Promise<void>;
  readonly pid: number;
  /** What it writes to standard error, unless it was given a file for it. */
  readonly stderr: Readable | null;
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit status. */
  readonly exited: Promise<number | null>;
  /** The text form of the metrics, scraped until `isEnough` says so. */
  scrape(isEnough: (metrics: Metrics) => boolean): Promise<Metrics>;
}

interface Metrics {
  readonly text: string;
  /** Sum of all series of `name` whose labels hold all of `labels`. */
  readonly sum: (name: string, labels?: Readonly<Record<string, string>>) => number;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** File descriptors that the process is given for its output. */
interface OutputFiles {
  readonly stdout?: number;
  /** The ports have to be set, too: nobody can read which ones were free. */
  readonly stderr?: number;
}

/** Runs `agui-sidecar serve` as a user would, on free ports, with nothing of this process's environment but PATH. */
export async function startServe(
  env: Readonly<Record<string, string>>,
  files: OutputFiles = {},
): Promise<ServeProcess> {
  const child = spawn(process.execPath, ['src/cli.ts', 'serve'], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      PORT: '0',
      ADMIN_HOST: '127.0.0.1',
      ADMIN_PORT: '0',
      // A machine that is busy with other tests must not change what is copied.
      TAP_MAX_LOOP_DELAY: '0s',
      TAP_READ_DELAY: '0s',
      ...env,
    },
    stdio: ['ignore', files.stdout ?? 'ignore', files.stderr ?? 'pipe'],
  });
  const exited = once(child, 'close').then(([status]: (number | null)[]) => status ?? null);
  const log: Record<string, unknown>[] = [];
  const lines = new EventEmitter();
  const ready = Promise.withResolvers<{ readonly proxy: string; readonly admin: string }>();
  const hear = (line: string): void => {
    const entry: Record<string, unknown> = line.startsWith('{') ? JSON.parse(line) : { msg: line };
    log.push(entry);
    lines.emit('line');
    if (entry['msg'] === 'ready') ready.resolve({ proxy: String(entry['proxy']), admin: String(entry['admin']) });
  };
  if (child.stderr) {
    createInterface(child.stderr).on('line', hear);
  } else {
    const [proxy, admin] = [`127.0.0.1:${env['PORT']}`, `127.0.0.1:${env['ADMIN_PORT']}`];
    void untilReady(admin, () => child.exitCode === null).then(() => ready.resolve({ proxy, admin }));
  }
  void exited.then((status) => ready.reject(new Error(`serve ended with ${status}: ${JSON.stringify(log)}`)));

  const { proxy, admin } = await ready.promise;
  const adminUrl = `http://${admin}`;
  return {
    url: `http://${proxy}`,
    adminUrl,
    log,
    exited,
    pid: child.pid ?? 0,
    stderr: child.stderr,
    async logged(message) {
      while (!log.some(({ msg }) => String(msg).includes(message))) await once(lines, 'line');
    },
    signal: (name) => child.kill(name),
    async scrape(isEnough) {
      for (;;) {
        const response = await fetch(`${adminUrl}/metrics`);
        const metrics = readMetrics(await response.text());
        if (isEnough(metrics)) return metrics;
        await pause(20);
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Asks until the readiness probe says yes, or there is nobody to ask. */
async function untilReady(admin: string, isRunning: () => boolean): Promise<void> {
  while (isRunning()) {
    const response = await fetch(`http://${admin}/readyz`).catch(() => undefined);
    if (response?.ok === true) return;
    await pause(20);
  }
}

function readMetrics(text: string): Metrics {
  const samples = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => /^(?<name>[a-z_]+)(?:\{(?<labels>.*)\})? (?<value>\S+)/u.exec(line)?.groups);
  return {
    text,
    sum: (name, labels = {}) =>
      samples
        .filter((sample) => sample?.['name'] === name)
        .filter((sample) =>
          Object.entries(labels).every(([key, value]) => sample?.['labels']?.includes(`${key}="${value}"`)),
        )
        .reduce((total, sample) => total + Number(sample?.['value']), 0),
  };
}
