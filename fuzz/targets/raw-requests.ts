import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import type { JsonValue } from '../../src/lib/json.ts';
import { ask, HANGS_AFTER_MS } from '../forwarding/client.ts';
import { createEchoAgent, type EchoAgent } from '../forwarding/echo-agent.ts';
import { openSidecar, type Sidecar } from '../forwarding/sidecar.ts';
import { HOSTILE_TEXTS } from '../hostile.ts';
import { bytesOf, cut, fieldsOf, textOf } from '../input.ts';
import type { FuzzTarget } from '../target.ts';

const SEEDS = [
  'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /run HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
  'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n0\r\nX-Sum: 1\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd',
  'GET /one HTTP/1.1\r\nHost: a\r\n\r\nGET /two HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET /two HTTP/1.1\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok',
  'GET http://other.test/x HTTP/1.1\r\nHost: a\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
  'CONNECT other.test:443 HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET / HTTP/1.0\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nConnection: Content-Length, Host\r\nContent-Length: 3\r\n\r\nabc',
];

/** More would only be more requests in a row, each of which the agent is asked. */
const MOST_BYTES = 2000;

/** Bytes of a client, HTTP or not: what is let in is one request each to the agent, and the next client is served. */
export const rawRequests: FuzzTarget = {
  name: 'raw-requests',
  seeds: () => SEEDS.map((bytes) => ({ bytes, cuts: [11] })),
  fresh: fc.record({
    bytes: fc.oneof(
      fc.uint8Array({ maxLength: 100 }).map(textOf),
      fc
        .array(fc.constantFrom(...HOSTILE_TEXTS, ...SEEDS.flatMap((bytes) => bytes.split(/(?<=\r\n)/))), {
          maxLength: 12,
        })
        .map((lines) => lines.join('')),
    ),
    cuts: fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 4 }),
  }),
  async open() {
    const agent = createEchoAgent();
    const sidecar = await openSidecar(agent.server);
    return {
      run: async (input: JsonValue) => {
        const { bytes, cuts } = fieldsOf(input);
        await offend(sidecar, agent, cut(bytesOf(bytes).subarray(0, MOST_BYTES), cuts));
      },
      [Symbol.asyncDispose]: () => sidecar[Symbol.asyncDispose](),
    };
  },
};

async function offend(sidecar: Sidecar, agent: EchoAgent, pieces: readonly Uint8Array[]): Promise<void> {
  const socket = connect(sidecar.port, '127.0.0.1');
  const closed = new Promise<true>((resolve) => {
    socket.on('close', () => resolve(true));
  });
  socket.on('error', () => {});
  socket.resume();
  for (const piece of pieces) {
    socket.write(piece);
    await nextTurn();
  }
  socket.end();
  const guard = new AbortController();
  const isClosed = await Promise.race([
    closed,
    delay(HANGS_AFTER_MS, false, { signal: guard.signal }).catch(() => false),
  ]);
  guard.abort();
  socket.destroy();
  assert.ok(isClosed, 'the connection of a client that left stays open');

  const before = await sidecar.observed();
  const next = await ask(sidecar.port, { method: 'GET', path: '/next', fields: ['Host', 'a'] });
  assert.equal(next.kind === 'answer' && next.body, 'heard', 'the next client is not served');
  const observed = [...before, ...(await sidecar.observed())];
  // What a client sent before it left may be heard after that.
  const heard = agent.heard();
  assert.deepEqual(agent.offended(), [], 'the agent was sent something else than HTTP');
  assert.ok(
    heard.length <= observed.length,
    `${observed.length} requests were let in, the agent heard ${heard.length}`,
  );
  assert.equal(heard.at(-1)?.path, '/next');
}
