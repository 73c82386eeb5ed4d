import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lowerBackgroundThreads } from '../../src/lib/background-threads.ts';
import { startServe } from '../support/serve.ts';

const HAS_THREADS = existsSync('/proc/self/task');

/** Name and niceness of each thread of a process (proc_pid_stat(5)). */
function threadsOf(pid: number): { readonly name: string; readonly niceness: number }[] {
  return readdirSync(`/proc/${pid}/task`).map((id) => {
    const stat = readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8');
    const nameEnd = stat.lastIndexOf(')');
    return {
      name: stat.slice(stat.indexOf('(') + 1, nameEnd),
      // The 19th field; behind the name comes the third.
      niceness: Number(stat.slice(nameEnd + 2).split(' ')[16]),
    };
  });
}

describe('the threads on which V8 compiles and collects', () => {
  it.runIf(HAS_THREADS)('give way to the one of the streams, and no other thread does', async () => {
    await using sidecar = await startServe({ AGENT_URL: 'http://127.0.0.1:9', OTEL_TRACES_EXPORTER: 'none' });
    const threads = threadsOf(sidecar.pid);
    const nicenessOf = (isWorker: boolean) =>
      new Set(threads.filter(({ name }) => (name === 'V8Worker') === isWorker).map(({ niceness }) => niceness));

    expect(nicenessOf(true)).toEqual(new Set([10]));
    expect(nicenessOf(false)).toEqual(new Set([0]));
  });

  it('stay as they are where the system lists none', () => {
    expect(lowerBackgroundThreads('/no/such/folder')).toBe(0);
  });

  it('stay as they are where it is not permitted, or a thread has ended meanwhile', () => {
    const tasks = mkdtempSync(join(tmpdir(), 'agui-tasks-'));
    // No process has a number as large (proc_sys_kernel(5)).
    mkdirSync(join(tasks, '2147483647'));
    writeFileSync(join(tasks, '2147483647', 'comm'), 'V8Worker\n');

    expect(lowerBackgroundThreads(tasks)).toBe(0);
  });
});
