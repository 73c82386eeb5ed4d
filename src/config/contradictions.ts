import type { AgentReading } from './agents.ts';
import type { Report } from './problem.ts';
import type { Readings } from './read-setting.ts';
import { showGiven } from './redact.ts';

/** Reports settings that are valid each for itself but not together. */
export function reportContradictions(settings: Readings, agents: readonly AgentReading[], report: Report): void {
  reportPortCollision(settings, report);
  reportTapBounds(settings, report);
  for (const agent of agents) reportLoop(settings, agent, report);
}

function reportPortCollision(settings: Readings, report: Report): void {
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

/** An agent at the sidecar's own address would be a request that calls itself for ever. */
function reportLoop(settings: Readings, { path, url }: AgentReading, report: Report): void {
  const { value: port } = settings['listen.port'];
  const listenHost = settings['listen.host'].value ?? '';
  const target = url.value === undefined ? null : URL.parse(url.value);
  if (target === null || port === undefined || port === 0) return;
  const targetPort = Number(target.port || (target.protocol === 'https:' ? 443 : 80));
  const targetHost = target.hostname.replace(/^\[|\]$/g, '');
  const same =
    targetHost === listenHost || (isLoopback(targetHost) && (isWildcard(listenHost) || isLoopback(listenHost)));
  if (targetPort !== port || !same) return;
  report({
    setting: `${path}.url`,
    origin: url.origin,
    given: `${showGiven(url.text ?? '')}, which is the address the sidecar listens on`,
    expected: 'the address of the agent',
    remedy: 'Move the agent or listen.port to another port.',
  });
}

const isWildcard = (host: string) => host === '0.0.0.0' || host === '::';
const isLoopback = (host: string) =>
  host === 'localhost' || host === '::1' || host.startsWith('127.') || isWildcard(host);
