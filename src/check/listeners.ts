import { once } from 'node:events';
import { createServer, type ListenOptions, type Server } from 'node:net';
import { adminPlace } from '../admin/listener.ts';
import type { Config } from '../config/config.ts';
import { errorCode } from '../lib/error-code.ts';
import { ListenError, type ListenPlace, nameOfPlace } from '../lib/listen-error.ts';
import { proxyPlace } from '../proxy/listen-place.ts';
import { type CheckResult, sentence } from './check-result.ts';
import { reach } from './reach.ts';
import { isSidecar } from './running-sidecar.ts';

/** What came of an attempt to listen. */
type Attempt = { readonly server: Server } | { readonly cause: unknown };

/** Long enough for a process on this machine. */
const TIMEOUT_MS = 2000;

/**
 * Whether the two listeners could start, by starting them for a moment. What is taken is not a failure when the sidecar of
 * this configuration runs already: it has both places, and its admin listener says what it is.
 */
export async function checkListeners(
  { listen, admin }: Pick<Config, 'listen' | 'admin'>,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  // The admin listener first, as at a start, and held while the proxy's is tried: one may be in the way of the other.
  const adminAttempt = await tryToListen({ port: admin.port, host: admin.host });
  const { socket, port, host } = listen;
  const proxyAttempt = await tryToListen(socket === undefined ? { port, host } : { path: socket });
  await Promise.all([adminAttempt, proxyAttempt].map(letGo));

  const options = { timeoutMs: TIMEOUT_MS, signal };
  // A socket may be there without a process, left behind by a crash.
  const hasProxy = async (): Promise<boolean> =>
    socket === undefined
      ? port === 0 || isTaken(proxyAttempt)
      : isTaken(proxyAttempt) && (await reach(`unix:${encodeURI(socket)}`, {}, options)).kind === 'connected';
  const isRunning = isTaken(adminAttempt) && (await isSidecar(admin, options)) && (await hasProxy());
  return [
    resultOf('proxy', proxyPlace(listen), proxyAttempt, isRunning),
    resultOf('admin listener', adminPlace(admin), adminAttempt, isRunning),
  ];
}

function resultOf(item: string, place: ListenPlace, attempt: Attempt, isRunning: boolean): CheckResult {
  if ('server' in attempt) return { item, status: 'ok', detail: `Can listen on ${nameOfPlace(place)}.` };
  if (isRunning && isTaken(attempt)) {
    return {
      item,
      status: 'ok',
      detail: `${nameOfPlace(place)} is in use; a sidecar that runs already answers at the admin listener's place.`,
      remedy: 'A second one beside it needs places of its own: PORT or LISTEN_SOCKET, and ADMIN_PORT.',
    };
  }
  return { item, status: 'failed', detail: sentence(new ListenError(item, place, attempt.cause).message) };
}

async function tryToListen(where: ListenOptions): Promise<Attempt> {
  const server = createServer((client) => client.destroy());
  server.listen(where);
  try {
    await once(server, 'listening');
    return { server };
  } catch (cause) {
    return { cause };
  }
}

async function letGo(attempt: Attempt): Promise<void> {
  if (!('server' in attempt)) return;
  attempt.server.close();
  await once(attempt.server, 'close');
}

function isTaken(attempt: Attempt): boolean {
  return 'cause' in attempt && errorCode(attempt.cause) === 'EADDRINUSE';
}
