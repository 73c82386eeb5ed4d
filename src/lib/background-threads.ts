import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** What Node calls the threads on which V8 compiles and collects; Node 22 has no name for them. */
const V8_WORKER = 'V8Worker\n';

/** A tenth of the weight of the main thread (sched(7)); at 19 that thread was seen to spin for them. */
const NICENESS = 10;

/**
 * Lets the main thread go before V8's own threads where they share a core: Linux gives each of equal ones some milliseconds at
 * a time, which whatever the main thread has to do then waits for. Never throws: where it cannot be done (another system, no
 * permission), all stays as it is.
 *
 * @param tasks where Linux lists the threads of this process.
 * @returns how many threads give way from now on.
 */
export function lowerBackgroundThreads(tasks = '/proc/self/task'): number {
  try {
    const workers = readdirSync(tasks).filter((id) => readFileSync(`${tasks}/${id}/comm`, 'latin1') === V8_WORKER);
    // To Linux the priority of a process is that of the thread whose number is given (setpriority(2)).
    for (const id of workers) setPriority(Number(id), NICENESS);
    return workers.length;
  } catch {
    return 0;
  }
}
