import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lowerBackgroundThreads } from '../../src/lib/background-threads.ts';
import { startServe } from '../support/serve.ts';

/** Linux, and a Node that names its threads. */
const HAS_NAMED_WORKERS = existsSync('/proc/self/task') && Number(process.versions.node.split('.')[0]) >= 24;

/** What a process has, of those that are still there when they are looked at. */
async function threadsOf(pid: number): Promise<readonly { readonly name: string; readonly niceness: number }[]> {
  const folder = `/proc/${pid}/task`;
  const all = await Promise.all(
    (await readdir(folder)).map(async (id) => {
      const name = await readFile(`${folder}/${id}/comm`, 'utf8').catch(() => undefined);
      return name === undefined ? [] : [{ name: name.trim(), niceness: getPriority(Number(id)) }];
    }),
  );
  return all.flat();
}

/** A list of threads as Linux gives it: each is a folder with its name. */
async function listOf(ids: readonly number[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agui-tasks-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const id of ids) {
    await mkdir(join(folder, String(id)));
    await writeFile(join(folder, String(id), 'comm'), 'V8Worker\n');
  }
  return folder;
}

async function startSleeper(): Promise<number> {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill());
  await once(child, 'spawn');
  return child.pid ?? NaN;
}

/** No process has a number as large (proc_sys_kernel(5)). */
const NOBODY = 2 ** 31 - 1;

describe('the threads on which V8 compiles and collects', () => {
  it.runIf(HAS_NAMED_WORKERS)('give way to the one of the streams, and no other thread does', async () => {
    await using sidecar = await startServe({ AGENT_URL: 'http://127.0.0.1:9', OTEL_TRACES_EXPORTER: 'none' });
    const threads = await threadsOf(sidecar.pid);
    const nicenessOf = (isWorker: boolean) =>
      new Set(threads.filter(({ name }) => (name === 'V8Worker') === isWorker).map(({ niceness }) => niceness));

    expect(nicenessOf(true)).toEqual(new Set([Math.min(19, getPriority() + 10)]));
    expect(nicenessOf(false)).toEqual(new Set([getPriority()]));
  });

  it.runIf(process.platform === 'linux')('give way also where one of them has ended meanwhile', async () => {
    const pid = await startSleeper();
    // In whatever order they are listed, some are before it.
    const gone = Array.from({ length: 20 }, (_, index) => NOBODY - index);
    lowerBackgroundThreads(await listOf([...gone.slice(10), pid, ...gone.slice(0, 10)]));

    expect(getPriority(pid)).toBe(Math.min(19, getPriority() + 10));
  });

  it('stay as they are where the system lists none', () => {
    expect(() => lowerBackgroundThreads('/no/such/folder')).not.toThrow();
  });
});
