import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/lib/json.ts';
import { ask, type Outcome, type SentRequest } from '../forwarding/client.ts';
import { createEchoAgent, type EchoAgent, type Heard } from '../forwarding/echo-agent.ts';
import { openSidecar, type Sidecar } from '../forwarding/sidecar.ts';
import { recordedBodies } from '../fixtures.ts';
import { HOSTILE_TEXTS } from '../hostile.ts';
import { bytesOf, fieldsOf, listOf } from '../input.ts';
import type { FuzzTarget } from '../target.ts';

const FIELDS: readonly (readonly [string, string])[] = [
  ['Content-Type', 'application/json'],
  ['Transfer-Encoding', 'chunked'],
  ['Content-Encoding', 'gzip'],
  ['Connection', 'X-Hop, close'],
  ['X-Hop', '1'],
  ['X-CaSe', ' spaced '],
  ['Cookie', 'a=1'],
  ['cookie', 'b=2'],
  ['Accept', 'text/event-stream'],
  ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ['TE', 'trailers'],
  ['Upgrade', 'h2c'],
  ['X-Latin', '\u00e9'],
  ['Authorization', 'Bearer x'],
];

const field = fc.oneof(
  fc.constantFrom(...FIELDS.map(([name, value]) => [name, value])),
  fc.tuple(fc.stringMatching(/^[A-Za-z_-]{1,8}$/), fc.string({ maxLength: 10 })).map(([name, value]) => [name, value]),
);

/** Requests of any method, head and body: the agent hears what it would hear without the sidecar. */
export const requests: FuzzTarget = {
  name: 'requests',
  seeds: () => [
    ...recordedBodies().flatMap(({ request }) =>
      request === undefined
        ? []
        : [
            {
              method: 'POST',
              path: '/run?a=b',
              fields: [['Content-Type', 'application/json']],
              body: JSON.stringify(request),
            },
          ],
    ),
    ...FIELDS.map(([name, value]) => ({ method: 'POST', path: '/', fields: [[name, value]], body: 'abc' })),
    ...['GET', 'HEAD', 'DELETE', 'OPTIONS', 'PUT', 'PATCH', 'PROPFIND'].map((method) => ({
      method,
      path: '/',
      fields: [],
    })),
  ],
  fresh: fc.record({
    method: fc.constantFrom('POST', 'POST', 'GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'),
    path: fc.oneof(fc.webPath(), fc.constantFrom('/a/../b', '//', '/%2e%2e/', '*', '/a?b#c', 'http://other/x')),
    fields: fc.array(field, { maxLength: 6 }),
    body: fc.oneof(fc.constant(null), fc.string(), fc.constantFrom(...HOSTILE_TEXTS), fc.constant('x'.repeat(70_000))),
  }),
  async open() {
    const agent = createEchoAgent();
    const sidecar = await openSidecar(agent.server);
    return {
      run: async (input: JsonValue) => compare(sidecar, agent, requestOf(fieldsOf(input))),
      [Symbol.asyncDispose]: () => sidecar[Symbol.asyncDispose](),
    };
  },
};

function requestOf({ method, path, fields, body }: JsonObject): SentRequest {
  const given = listOf(fields).map((pair) =>
    listOf(pair).map((text) => (typeof text === 'string' ? text : JSON.stringify(text))),
  );
  const isFramed = given.some(([name = '']) => /^(?:content-length|transfer-encoding)$/i.test(name));
  const bytes = body === null || body === undefined ? undefined : bytesOf(body);
  return {
    method: typeof method === 'string' ? method : 'POST',
    path: typeof path === 'string' ? path : '/',
    fields: [
      'Host',
      'agent',
      ...given.flatMap(([name = '', value = '']) => [name, value]),
      ...(bytes && !isFramed ? ['Content-Length', String(bytes.length)] : []),
    ],
    ...(bytes && { body: bytes }),
  };
}

async function compare(sidecar: Sidecar, agent: EchoAgent, sent: SentRequest): Promise<void> {
  const direct = await attempt(sidecar.agentPort, sent);
  // Node's client will not send it, or it asks for a tunnel: no business of the sidecar's.
  if (!direct || sent.method === 'CONNECT') return;
  const heardDirectly = agent.heard();
  agent.offended();
  const proxied = await attempt(sidecar.port, sent);
  const observed = await sidecar.observed();
  const heard = agent.heard();

  assert.deepEqual(agent.offended(), [], 'the agent was sent something else than HTTP');
  assert.ok(
    heard.length <= observed.length,
    `${observed.length} requests were let in, the agent heard ${heard.length}`,
  );
  if (heard.length === 0) {
    assert.ok(
      proxied?.kind !== 'answer' || proxied.status >= 400,
      'the agent heard nothing, and the client was not told',
    );
    return;
  }
  const isGathered = sent.body === undefined && !['GET', 'HEAD'].includes(sent.method);
  const comparable = (request: Heard): Heard =>
    isGathered ? { ...request, fields: gathered(request.fields) } : request;
  const expected = heardDirectly.map((request) => ({ ...request, path: withoutAuthority(request.path) }));
  assert.deepEqual(
    heard.map(comparable),
    expected.map(comparable),
    'through the sidecar the agent hears something else',
  );
  assert.equal(proxied?.kind, direct.kind);
}

/** Where a request goes is not for its target to say, so one in absolute form is passed on without its authority. */
function withoutAuthority(path: string): string {
  const rest = path.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '');
  return rest.startsWith('/') || rest === '*' ? rest : `/${rest}`;
}

/**
 * Fields of one name together, under the name as it was written first: all that Node's client lets one do for a request
 * without a body whose method may have one. It changes nothing of what they say (RFC 9110 §5.3, RFC 6265 §5.4).
 */
function gathered(fields: readonly string[]): string[] {
  const byName = Map.groupBy(
    fields.flatMap((name, at) => (at % 2 ? [] : [[name, fields[at + 1] ?? ''] as const])),
    ([name]) => name.toLowerCase(),
  );
  return [...byName].flatMap(([name, pairs]) =>
    name === 'cookie'
      ? [
          name,
          pairs
            .map(([, value]) => value)
            .join('; ')
            .trim(),
        ]
      : pairs.flatMap(([, value]) => [name, value]),
  );
}

async function attempt(port: number, sent: SentRequest): Promise<Outcome | undefined> {
  try {
    return await ask(port, sent);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
