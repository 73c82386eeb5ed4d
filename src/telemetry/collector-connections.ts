import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { certificateFiles, type Environment } from './otel-environment.ts';

/** What one answer of the collector may cost. */
export interface AnswerBounds {
  /** Its head, interim ones included, and its body, in bytes. */
  readonly maxBytes: number;
  /** From its first byte on; before that, and for silence, the exporter's own limit holds. */
  readonly timeoutMs: number;
}

/** The connections of an exporter, made as it would make them itself, that end with an answer beyond its bounds. */
export async function openCollectorConnections(
  protocol: string,
  env: Environment,
  bounds: AnswerBounds,
): Promise<Agent> {
  const keepAlive = true;
  if (protocol === 'http:') return boundAnswers(new Agent({ keepAlive }), bounds);
  const { ca, cert, key } = certificateFiles(env);
  const [caRead, certRead, keyRead] = await Promise.all([ca, cert, key].map(readIfReadable));
  return boundAnswers(new TlsAgent({ keepAlive, ca: caRead, cert: certRead, key: keyRead }), bounds);
}

/** The exporter warns of a file that it cannot read, and does without. */
async function readIfReadable(path: string | undefined): Promise<Buffer | undefined> {
  return path === undefined ? undefined : readFile(path).catch(() => undefined);
}

/**
 * Ends a connection of `pool` once more was read since its last request than one answer may have, or for longer. An exporter
 * reads 4 MiB of each answer, and of one that comes in drops for as long as it goes on. A connection that was idle for that
 * long is closed as well.
 *
 * The error is the connection's own, so that it is the request that fails: of an answer that merely breaks off after a
 * status 200 the exporter takes its spans to have arrived.
 */
function boundAnswers(pool: Agent, { maxBytes, timeoutMs }: AnswerBounds): Agent {
  const beginnings = new WeakMap<Duplex, () => void>();
  const createConnection = pool.createConnection.bind(pool);
  const reuseSocket = pool.reuseSocket.bind(pool);

  function bound(connection: Duplex): void {
    const end = (problem: string): void => {
      connection.destroy(new Error(`the collector's answer ${problem}`));
    };
    let bytes = 0;
    let timer: NodeJS.Timeout | undefined;
    beginnings.set(connection, () => {
      bytes = 0;
      clearTimeout(timer);
    });
    connection
      .on('data', (chunk: Buffer) => {
        if (bytes === 0) timer = setTimeout(() => end(`did not end within ${timeoutMs} ms`), timeoutMs).unref();
        bytes += chunk.length;
        if (bytes > maxBytes) end(`did not end within ${maxBytes} bytes`);
      })
      .on('close', () => clearTimeout(timer))
      // Between two requests there is none to fail.
      .on('error', () => {});
  }

  return Object.assign(pool, {
    createConnection(...given: Parameters<Agent['createConnection']>) {
      const connection = createConnection(...given);
      if (connection) bound(connection);
      return connection;
    },
    reuseSocket(...given: Parameters<Agent['reuseSocket']>) {
      beginnings.get(given[0])?.();
      reuseSocket(...given);
    },
  });
}
