import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * CPU time that a process has used so far, all threads, in µs: the scheduler's own count, which is exact for every kind of
 * process alike, where `utime` and `stime` come in steps of 10 ms.
 */
export function cpuUs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((sum, thread) => sum + threadCpuNs(pid, thread), 0) / 1000;
}

function threadCpuNs(pid: number, thread: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  } catch {
    // It ended since the folder was read.
    return 0;
  }
}

/**
 * CPU time that processes of any kind have used of a core so far, in µs, in steps of 10 ms. What the host of a virtual machine
 * took away is part of it; interrupts, which the network of the host itself causes, are not.
 */
export function coreUs(core: string): number {
  const counts = new RegExp(`^cpu${core} +(?<counts>.*)$`, 'mu').exec(readFileSync('/proc/stat', 'utf8'))?.groups?.[
    'counts'
  ];
  const [user = NaN, nice = NaN, system = NaN, , , , , stolen = NaN] = (counts ?? '').split(' ').map(Number);
  return (user + nice + system + stolen) * 10_000;
}

/** Resident memory, in KiB. */
export function residentKiB(pid: number): number {
  return Number(/^VmRSS:\s+(?<kib>\d+) kB$/mu.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.groups?.['kib']);
}

const QUIET_MS = 100;
/** Of a core; timers and probes stay below it. */
const QUIET_SHARE = 0.03;

/** More than any load leaves to do, even on a busy machine. */
const MOST_ROUNDS = 300;

/**
 * Resolves when the processes have done what the load left behind: the sidecar reads its copies after the streams. A few that
 * wait for others to be read with (`tap.read_delay`) are read later, in the next window, as those of the last one were in this.
 *
 * @throws when they never are.
 */
export async function quiet(pids: readonly number[]): Promise<void> {
  const total = (): number => pids.reduce((sum, pid) => sum + cpuUs(pid), 0);
  let before = total();
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    await sleep(QUIET_MS);
    const after = total();
    if (after - before < QUIET_SHARE * QUIET_MS * 1000) return;
    before = after;
  }
  throw new Error(
    `The targets still use more than ${QUIET_SHARE * 100} % of a core ${(MOST_ROUNDS * QUIET_MS) / 1000} s after their load. Look for one that spins.`,
  );
}

/** @throws where processes cannot be accounted for. */
export function requireAccounting(): void {
  try {
    if (cpuUs(process.pid) > 0) return;
  } catch {
    // No such file.
  }
  throw new Error(
    'This benchmark reads CPU time and memory of processes from /proc/PID/task/*/schedstat and /proc/PID/status, which this system lacks. Run it on Linux, for example in a container of the image node:24.',
  );
}

/** Connections of one process for each stream that a target holds: agent and client have one with each of several targets. */
const FILES_PER_STREAM = 4;
/** Beside streams: listeners, pipes, the files of modules. */
const OTHER_FILES = 512;

/**
 * Node raises its own limit on open files as far as the system lets it.
 *
 * @throws when that is not enough for so many streams.
 */
export function requireOpenFiles(streams: number): void {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const hard = /^Max open files\s+\S+\s+(?<hard>\S+)/mu.exec(limits)?.groups?.['hard'];
  const needed = streams * FILES_PER_STREAM + OTHER_FILES;
  if (hard === 'unlimited' || Number(hard) >= needed) return;
  throw new Error(
    `${streams} open streams need ${needed} open files in one process, and the limit is ${hard}. Raise it: ulimit -n ${needed} in a shell of root, or a line for nofile in /etc/security/limits.conf. With --quick fewer streams are opened.`,
  );
}
