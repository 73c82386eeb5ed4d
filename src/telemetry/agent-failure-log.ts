import { hostAndPort } from '../lib/host-and-port.ts';
import type { AgentErrorCode, AgentFailure } from '../proxy/errors.ts';
import type { LimitedLog } from './limited-log.ts';

/** What happened to whom, and what to do. */
const MESSAGES: Readonly<Record<AgentErrorCode, string>> = {
  upstream_unreachable:
    'an agent cannot be reached, and clients get 502: start it, or correct its url (agents[].url or AGENT_URL)',
  upstream_timeout:
    'an agent does not answer in time, and clients get 504: see whether it hangs, or allow it more with proxy.connect_timeout (CONNECT_TIMEOUT) or proxy.first_byte_timeout (FIRST_BYTE_TIMEOUT)',
  upstream_reset:
    "an agent closed its connection before its answer was whole, and clients get 502 or a stream that breaks off: see the agent's own log",
  upstream_invalid:
    'an agent answers with what cannot be forwarded, and clients get 502 or a stream that breaks off: see that its url (agents[].url or AGENT_URL) is that of an HTTP/1.1 server, and what frames its chunks',
};

const HEAD_TOO_LARGE =
  'an agent answers with a head that is too large, and clients get 502: send less in it, or raise proxy.max_header_size (MAX_HEADER_SIZE)';

/** Logs what clients and metrics learn of agents that fail: each kind of failure of each agent once a minute at most. */
export function agentFailureLog(limited: LimitedLog): (failure: AgentFailure) => void {
  return ({ agent, host, port, code, cause }) => {
    const isHeadTooLarge = cause === 'HPE_HEADER_OVERFLOW';
    const message = isHeadTooLarge ? HEAD_TOO_LARGE : MESSAGES[code];
    const upstream = port === 0 ? host : hostAndPort(host, port);
    limited('warn', `${code} ${agent}`, message, { agent, upstream, code, cause });
  };
}
