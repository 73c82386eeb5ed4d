import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const TASKSET = 'taskset';

/** Which cores what is measured runs on, and which the load. Undefined: the system places both. */
export interface Cores {
  readonly targets: string | undefined;
  readonly load: string | undefined;
}

/** One core for all targets, so that they meet the same conditions; the others for agent and load client. */
export function assignCores(): Cores {
  const cores = allowedCores();
  if (cores.length < 2 || !hasTaskset()) return { targets: undefined, load: undefined };
  return { targets: String(cores.at(-1)), load: cores.slice(0, -1).join(',') };
}

/** A command line that runs on these cores only. */
export function pinned(cores: string | undefined, command: readonly string[]): readonly [string, ...string[]] {
  const [program = '', ...args] = command;
  return cores === undefined ? [program, ...args] : [TASKSET, '-c', cores, program, ...args];
}

function allowedCores(): number[] {
  const list = /^Cpus_allowed_list:\s*(?<list>\S+)$/mu.exec(readFileSync('/proc/self/status', 'utf8'))?.groups?.[
    'list'
  ];
  return (list ?? '').split(',').flatMap((range) => {
    const [first = NaN, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

function hasTaskset(): boolean {
  try {
    execFileSync(TASKSET, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
