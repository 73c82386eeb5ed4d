import { expect, it } from 'vitest';
import type { AgentFailure } from '../../src/proxy/errors.ts';
import { agentFailureLog } from '../../src/telemetry/agent-failure-log.ts';
import { limitedLog } from '../../src/telemetry/limited-log.ts';
import { createLog } from '../../src/telemetry/log.ts';

const REFUSED: AgentFailure = {
  agent: 'harbour',
  host: 'agent.internal',
  port: 8000,
  code: 'upstream_unreachable',
  cause: 'ECONNREFUSED',
};

/** What the log says of failures that come at once. */
function logged(...failures: readonly AgentFailure[]): readonly unknown[] {
  const lines: unknown[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const tell = agentFailureLog(limitedLog(log, () => 0));
  for (const failure of failures) tell(failure);
  return lines;
}

it('says which agent failed, where it is, how, why, and what to do', () => {
  expect(logged(REFUSED)).toEqual([
    {
      level: 40,
      time: expect.any(String),
      agent: 'harbour',
      upstream: 'agent.internal:8000',
      code: 'upstream_unreachable',
      cause: 'ECONNREFUSED',
      msg: expect.stringMatching(
        /^an agent cannot be reached, and clients get 502: start it, or correct its url .*AGENT_URL/,
      ),
    },
  ]);
});

it.each<[Partial<AgentFailure>, RegExp]>([
  [{ code: 'upstream_timeout', cause: 'no connection within 10000 ms' }, /504.*CONNECT_TIMEOUT.*FIRST_BYTE_TIMEOUT/],
  [{ code: 'upstream_reset', cause: 'ECONNRESET' }, /agent's own log/],
  [{ code: 'upstream_invalid', cause: 'HPE_INVALID_CONSTANT' }, /url .*HTTP\/1\.1/],
  [{ code: 'upstream_invalid', cause: 'HPE_HEADER_OVERFLOW' }, /MAX_HEADER_SIZE/],
])('%j has a remedy of its own', (change, remedy) => {
  expect(logged({ ...REFUSED, ...change })).toMatchObject([{ ...change, msg: expect.stringMatching(remedy) }]);
});

it('is limited for each agent and each kind of failure', () => {
  const other: AgentFailure = { ...REFUSED, agent: 'travel' };
  const reset: AgentFailure = { ...REFUSED, code: 'upstream_reset' };
  expect(logged(REFUSED, other, reset, REFUSED, other, reset)).toMatchObject([
    { agent: 'harbour', code: 'upstream_unreachable' },
    { agent: 'travel', code: 'upstream_unreachable' },
    { agent: 'harbour', code: 'upstream_reset' },
  ]);
});

it.each([
  [{ host: '::1', port: 80 }, '[::1]:80'],
  [{ host: '/run/agent.sock', port: 0 }, '/run/agent.sock'],
])('names the place %j', (place, upstream) => {
  expect(logged({ ...REFUSED, ...place })).toMatchObject([{ upstream }]);
});
