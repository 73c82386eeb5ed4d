import type { AgentReading } from './agents.ts';
import type { Report } from './problem.ts';
import type { Readings } from './read-setting.ts';
import { showGiven } from './redact.ts';

/** Reports settings that are valid each for itself but not together. */
export function reportContradictions(settings: Readings, agents: readonly AgentReading[], report: Report): void {
  reportPortCollision(settings, report);
  reportTapBounds(settings, report);
  for (const agent of agents) reportOwnAddress(settings, agent, report);
}

function reportPortCollision(settings: Readings, report: Report): void {
  if (settings['listen.socket'].value !== undefined) return;
  const { value: port } = settings['listen.port'];
  const { value: adminPort, origin: adminOrigin } = settings['admin.port'];
  if (port === undefined || port === 0 || port !== adminPort) return;
  const host = settings['listen.host'].value ?? '';
  const adminHost = settings['admin.host'].value ?? '';
  if (host !== adminHost && !isWildcard(host) && !isWildcard(adminHost)) return;
  report({
    setting: 'admin.port',
    // The value that was chosen is the one to point at, not the default it runs into.
    origin: adminOrigin.kind === 'default' ? settings['listen.port'].origin : adminOrigin,
    given: `${adminPort}, which listen.port has too`,
    expected: 'a port of its own for the admin listener',
  });
}

function reportTapBounds(settings: Readings, report: Report): void {
  const exchange = settings['tap.max_exchange'];
  const total = settings['tap.max_total'];
  if (exchange.value === undefined || total.value === undefined || exchange.value <= total.value) return;
  report({
    setting: 'tap.max_exchange',
    origin: exchange.origin.kind === 'default' ? total.origin : exchange.origin,
    given: exchange.text ?? '',
    expected: `at most tap.max_total, which is ${total.text}`,
  });
}

/**
 * An agent at the address of the proxy would be a request that calls itself for ever; one at that of the admin listener
 * would open it to clients. A name that only the network can tell from another is not looked up.
 */
function reportOwnAddress(settings: Readings, { path, url }: AgentReading, report: Report): void {
  const target = url.value === undefined ? null : URL.parse(url.value);
  if (target === null) return;
  if (target.protocol === 'unix:') return reportOwnSocket(settings, target.pathname, { path, url }, report);
  const targetPort = Number(target.port || (target.protocol === 'https:' ? 443 : 80));
  for (const listener of ['listen', 'admin'] as const) {
    const { value: port } = settings[`${listener}.port`];
    const { value: host } = settings[`${listener}.host`];
    if (listener === 'listen' && settings['listen.socket'].value !== undefined) continue;
    if (port !== targetPort || host === undefined || !reaches(target.hostname, host)) continue;
    report({
      setting: `${path}.url`,
      origin: url.origin,
      given: `${showGiven(url.text ?? '')}, which is ${listener === 'listen' ? 'the address the sidecar listens on' : "the address of the sidecar's admin port"}`,
      expected: 'the address of the agent',
      remedy: `Move the agent or ${listener}.port to another port.`,
    });
    return;
  }
}

function reportOwnSocket(
  settings: Readings,
  socket: string,
  { path, url }: Pick<AgentReading, 'path' | 'url'>,
  report: Report,
): void {
  if (decodeURIComponent(socket) !== settings['listen.socket'].value) return;
  report({
    setting: `${path}.url`,
    origin: url.origin,
    given: `${showGiven(url.text ?? '')}, which is the socket the sidecar listens on`,
    expected: 'the address of the agent',
    remedy: 'Give listen.socket a path of its own.',
  });
}

/** Whether a connection to `target`, made on this machine, comes to who listens on `host`. */
function reaches(target: string, host: string): boolean {
  const [from, to] = [canonical(target), canonical(host)];
  return from === to || (isThisMachine(from) && isThisMachine(to));
}

/** A host as URLs spell it, so that `127.1`, `LOCALHOST.` and `0:0:0:0:0:0:0:1` are known for what they are. */
function canonical(host: string): string {
  const bare = withoutBrackets(host);
  const spelt = URL.parse(`http://${bare.includes(':') ? `[${bare}]` : bare}`)?.hostname ?? bare;
  return withoutBrackets(spelt).replace(/\.$/, '');
}

const withoutBrackets = (host: string) => host.replace(/^\[|\]$/g, '');
const isWildcard = (host: string) => host === '0.0.0.0' || host === '::';
/** Loopback, also as IPv6 writes IPv4; a connection to a wildcard address stays on the machine too. */
const isThisMachine = (host: string) =>
  isWildcard(host) || /^(?:localhost|.*\.localhost|127\..*|::1|::ffff:(?:7f..:.*|0:0))$/.test(host);
