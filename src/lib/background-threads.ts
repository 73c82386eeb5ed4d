import { readdirSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** What Node calls the threads on which V8 compiles and collects, where it names them: Node 24 does. */
const V8_WORKER = 'V8Worker\n';

/** Above the main thread: a tenth of its weight (sched(7)). At 19 the process used nearly twice the CPU time (docs/adr/005). */
const NICER_BY = 10;

const MOST_NICE = 19;

/**
 * Lets the main thread go before V8's own threads where they share a core: Linux gives each of equal ones some milliseconds at
 * a time, which whatever the main thread has to do then waits for. Never throws: what cannot be done (another system, no
 * permission, a thread that has ended) is left as it is.
 *
 * @param tasks where Linux lists the threads of this process.
 */
export function lowerBackgroundThreads(tasks = '/proc/self/task'): void {
  for (const id of ids(tasks)) {
    try {
      // To Linux the priority of a process is that of the thread whose number is given (setpriority(2)).
      if (readFileSync(`${tasks}/${id}/comm`, 'latin1') !== V8_WORKER) continue;
      setPriority(Number(id), Math.min(MOST_NICE, getPriority() + NICER_BY));
    } catch {
      // The next one may be possible.
    }
  }
}

function ids(tasks: string): readonly string[] {
  try {
    return readdirSync(tasks);
  } catch {
    return [];
  }
}
