import type { CheckResult } from './check-result.ts';
import { reach } from './reach.ts';
import type { ReachOptions } from './reach.ts';

/**
 * Whether an agent can be reached. It is never asked to run: an AG-UI run is a POST, and this is a GET, so that any
 * status, 404 and 405 among them, shows that a server is there.
 */
export async function checkAgent(agent: { name: string; url: string }, options: ReachOptions): Promise<CheckResult> {
  const item = `agent ${agent.name}`;
  const reached = await reach(agent.url, { headers: { accept: 'text/event-stream' } }, options);
  switch (reached.kind) {
    case 'answered':
      return { item, status: 'ok', detail: `${agent.url} answers (status ${reached.status} to a GET).` };
    case 'connected':
      return { item, status: 'ok', detail: `${agent.url} accepts connections.` };
    case 'unreachable': {
      const remedy = 'Start the agent, or correct its url (AGENT_URL for a single agent).';
      return { item, status: 'failed', detail: `${agent.url} ${reached.why}.`, remedy };
    }
  }
}
