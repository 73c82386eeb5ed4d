import { splitTarget } from './target.ts';

/** What routing needs to know of an agent. */
export interface Routable {
  readonly name: string;
  /** Path prefix on the sidecar; `/` takes everything. */
  readonly match: string;
  /** Path of the agent's url that the rest is appended to: at least `/`. */
  readonly basePath: string;
}

/** Where one request goes. */
export interface Route<Agent> {
  readonly agent: Agent;
  /** Request target for the agent: its base path, the rest and the query. */
  readonly target: string;
  /** Path and query with the agent's prefix stripped. */
  readonly agentPath: string;
  /** Path as the client sent it, without the query. */
  readonly path: string;
}

/** Finds the agent for a request target; null when no prefix covers it. */
export type Router<Agent> = (requestTarget: string) => Route<Agent> | null;

/**
 * Routes by the longest `match` that covers the path up to a segment boundary. Paths are compared as bytes: nothing is
 * decoded, so nothing is read twice in two ways.
 *
 * @throws {TypeError} when a match does not start with `/`, or two agents share one.
 */
export function createRouter<Agent extends Routable>(agents: readonly Agent[]): Router<Agent> {
  const byPrefix = new Map<string, Agent>();
  for (const agent of agents) {
    if (!agent.match.startsWith('/')) {
      throw new TypeError(`Agent "${agent.name}" has match "${agent.match}"; a match is a path that starts with "/".`);
    }
    const prefix = agent.match.replace(/\/+$/, '');
    const other = byPrefix.get(prefix);
    if (other) {
      throw new TypeError(
        `Agents "${other.name}" and "${agent.name}" both have match "${agent.match}"; each needs one of its own.`,
      );
    }
    byPrefix.set(prefix, agent);
  }
  const longestFirst = [...byPrefix].toSorted(([one], [two]) => two.length - one.length);

  return (requestTarget) => {
    const [path, query] = splitTarget(requestTarget);
    // `OPTIONS *` asks about the server as a whole; it has no path to map.
    if (path === '*') {
      const agent = byPrefix.get('');
      return agent ? { agent, target: '*', agentPath: '*', path } : null;
    }
    const found = longestFirst.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`));
    if (!found) return null;
    const [prefix, agent] = found;
    const rest = path.slice(prefix.length);
    const confined = prefix !== '' || agent.basePath !== '/';
    if (confined && climbs(rest)) return null;
    const addsNothing = rest === '' || rest === '/';
    const mapped = addsNothing ? agent.basePath : agent.basePath.replace(/\/$/, '') + rest;
    return { agent, target: mapped + query, agentPath: (rest || '/') + query, path };
  };
}

/** A `..` segment, however it is spelled, would let the agent resolve a path outside of what the prefix opened. */
function climbs(path: string): boolean {
  return /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?:$|[/\\;#]|%2f|%5c)/i.test(path);
}
