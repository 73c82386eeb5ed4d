import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { METRIC } from '../../../src/telemetry/semconv.ts';
import { pinned } from '../cores.ts';
import { failure, stop, stopWithRunner } from '../processes.ts';
import { accepts, freePort } from './ports.ts';
import type { Copied, TargetKind } from './target.ts';

/**
 * The whole product, as `agui-sidecar serve` runs it: observer, reading, conversations and Prometheus. Nothing is judged and
 * no span is exported, since neither is part of the data path. `checkout` is the folder that it runs from, `settings` are
 * of the environment, `logFile` is where its log goes instead of to the runner, which says what is an error in it.
 */
export function sidecarTarget(
  name: string,
  checkout: string,
  settings: Readonly<Record<string, string>>,
  logFile?: string,
): TargetKind {
  return {
    name,
    async start({ agentPort, cores }) {
      const [program, ...args] = pinned(cores.targets, [process.execPath, ...startArguments(checkout)]);
      // Which port it was given stands in its log, if that can be read.
      const given =
        logFile === undefined ? { proxy: 0, admin: 0 } : { proxy: await freePort(), admin: await freePort() };
      const log = logFile === undefined ? undefined : openSync(logFile, 'a');
      const child = spawn(program, args, {
        cwd: checkout,
        stdio: ['ignore', 'ignore', log ?? 'pipe'],
        // Nothing of this process's environment but PATH: a key in it would turn the judge on.
        env: {
          PATH: process.env['PATH'],
          HOST: '127.0.0.1',
          PORT: String(given.proxy),
          ADMIN_HOST: '127.0.0.1',
          ADMIN_PORT: String(given.admin),
          AGENT_URL: `http://127.0.0.1:${agentPort}`,
          // Soon enough that conversations also close while it is measured.
          CLOSING_IDLE: '2s',
          OTEL_TRACES_EXPORTER: 'none',
          // A core that many targets share is late all the time; a tap that gives up would look cheap.
          TAP_MAX_LOOP_DELAY: '0s',
          ...settings,
        },
      });
      stopWithRunner(child);
      if (log !== undefined) closeSync(log);
      const ready = child.stderr ? portsInLog(name, child.stderr) : accepts(given.proxy).then(() => given);
      const ports = await Promise.race([ready, failure(child, name)]);
      return {
        name,
        port: ports.proxy,
        pid: child.pid ?? 0,
        readShare: Number(settings['TAP_SHARE'] ?? 1),
        copied: () => readCopied(ports.admin),
        stop: () => stop(child),
      };
    },
  };
}

/** What `npm start` gives to Node in a checkout. */
function startArguments(checkout: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as PackageJson;
  const [, ...args] = scripts.start.split(' ');
  return args;
}

interface PackageJson {
  readonly scripts: { readonly start: string };
}

interface Ports {
  readonly proxy: number;
  readonly admin: number;
}

/** Reads the log to its end, and resolves when it says where the sidecar listens. */
function portsInLog(name: string, log: Readable): Promise<Ports> {
  return new Promise((resolve) => {
    createInterface(log).on('line', (line) => {
      const entry: Record<string, unknown> = line.startsWith('{') ? JSON.parse(line) : { msg: line };
      if (entry['msg'] === 'ready') resolve({ proxy: portOf(entry['proxy']), admin: portOf(entry['admin']) });
      else if (Number(entry['level'] ?? ERROR) >= ERROR) process.stderr.write(`${name}: ${line}\n`);
    });
  });
}

/** Of the log. What is less is of no interest here, and a stack trace has no level. */
const ERROR = 50;

const portOf = (address: unknown): number => Number(String(address).split(':').at(-1));

async function readCopied(adminPort: number): Promise<Copied> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/metrics`);
  const text = await response.text();
  return { events: sumOf(text, METRIC.streamEvents), droppedBytes: sumOf(text, METRIC.teeDroppedBytes) };
}

/** Sum of all series of one name. */
function sumOf(exposition: string, name: string): number {
  return exposition
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
