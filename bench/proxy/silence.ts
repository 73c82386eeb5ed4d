import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

/** What the agent saw of one run of silence, on the clock of the host, in µs. */
export interface SilenceSeen {
  /** Just before the head was written; undefined: it was not, so far. */
  readonly headAtUs?: number | undefined;
  /** The connection of the request closed, or the silence was over. */
  readonly closedAtUs?: number;
}

/** `begun`: the agent has the request, and has sent the head if it was to. */
export type SilencePhase = 'begun' | 'closed';

export const silencePath = (runId: string, phase: SilencePhase): string => `/silences/${phase}/${runId}`;

/** Asks the agent, beside any proxy, and resolves once the run has come so far. */
export async function silenceSeen(agentPort: number, runId: string, phase: SilencePhase): Promise<SilenceSeen> {
  const request = get({ host: '127.0.0.1', port: agentPort, path: silencePath(runId, phase) });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += chunk;
  return JSON.parse(body) as SilenceSeen;
}
