import { parentPort, Worker } from 'node:worker_threads';
import { type JsonValue, parseJson } from '../src/lib/json.ts';
import { saveFind } from './finds.ts';

/** No input should take anywhere near as long, on any machine. */
const HANGS_AFTER_MS = 60_000;

interface Begun {
  readonly target: string;
  readonly input: string;
}

export interface Watchdog extends AsyncDisposable {
  /** The input that is run from now on. */
  begin(target: string, input: JsonValue): void;
}

/**
 * Watches from a thread of its own, since an input that hangs holds up the one that runs it. The input is kept as a find
 * and the process ends.
 */
export function startWatchdog(): Watchdog {
  const worker = new Worker(new URL(import.meta.url));
  worker.unref();
  return {
    // As text: the inputs nest deeper than they can be cloned.
    begin: (target, input) => worker.postMessage({ target, input: JSON.stringify(input) } satisfies Begun, []),
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}

function watch(port: NonNullable<typeof parentPort>): void {
  let timer: NodeJS.Timeout | undefined;
  port.on('message', ({ target, input }: Begun) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const file = saveFind(target, parseJson(input) ?? null, `hangs: it took more than ${HANGS_AFTER_MS} ms`);
      process.stderr.write(`${target}: an input hangs. It is kept in ${file}\n`);
      process.kill(process.pid, 'SIGKILL');
    }, HANGS_AFTER_MS);
  });
}

if (parentPort) watch(parentPort);
