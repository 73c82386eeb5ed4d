import { hostAndPort } from '../lib/host-and-port.ts';
import { isJsonObject, parseJson } from '../lib/json.ts';
import type { ReachOptions } from './reach.ts';

/** The address of a wildcard by which a process on the same machine is reached. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/**
 * Whether the admin listener of a sidecar answers there. On a port that Node's `fetch` leaves out, such as 6000, none is found.
 *
 * @throws only when `signal` aborts.
 */
export async function isSidecar(
  { host, port }: { readonly host: string; readonly port: number },
  { timeoutMs, signal }: ReachOptions,
): Promise<boolean> {
  const reached = LOOPBACK[host] ?? host;
  const url = `http://${hostAndPort(reached, port)}/livez`;
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    // A sidecar says it in one piece; somebody else may have no end to say.
    const reader = response.body?.getReader();
    const piece = await reader?.read();
    await reader?.cancel();
    const answer = parseJson(Buffer.from(piece?.value ?? []).toString());
    return response.ok && isJsonObject(answer) && answer['status'] === 'live';
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
