import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pinned } from './cores.ts';

/** A process of the bench that announced itself over IPC. */
export interface Announced<Announcement> {
  readonly child: ChildProcess;
  readonly announcement: Announcement;
}

/** Runs a module of the bench on `cores` and waits for its first message. */
export async function startModule<Announcement>(
  module: URL,
  args: readonly number[],
  cores: string | undefined,
): Promise<Announced<Announcement>> {
  const path = fileURLToPath(module);
  const [program, ...rest] = pinned(cores, [process.execPath, path, ...args.map(String)]);
  const child = spawn(program, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  stopWithRunner(child);
  const [announcement] = await Promise.race([once(child, 'message'), failure(child, path)]);
  return { child, announcement };
}

/** Rejects when the process ends before it could be used. */
export async function failure(child: ChildProcess, name: string): Promise<never> {
  const [status] = await once(child, 'exit');
  throw new Error(`${name} ended with ${status} before it was ready. What it wrote stands above.`);
}

/** How long a process may take to end when it is asked to. */
const STOP_MS = 1000;

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await Promise.race([ended, sleep(STOP_MS, undefined, { ref: false })]);
  child.kill('SIGKILL');
  await ended;
}

const children = new Set<ChildProcess>();

/** However the runner ends, this process does too. */
export function stopWithRunner(child: ChildProcess): void {
  if (children.size === 0) {
    process.once('exit', () => {
      for (const each of children) each.kill('SIGTERM');
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  }
  children.add(child);
  child.once('exit', () => children.delete(child));
}
