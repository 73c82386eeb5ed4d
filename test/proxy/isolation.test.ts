import { describe, expect, it } from 'vitest';
import type { ProxyOptions } from '../../src/proxy/options.ts';
import { ask, bodyOf, httpAgent, observation, POST_JSON, RUN_REQUEST, startProxy, TAP } from './support.ts';

const BODY = 'data: {"type":"RUN_STARTED"}\n\n';

async function throughSidecar(options: Partial<ProxyOptions>) {
  const agent = await httpAgent(async (request, response) => {
    await bodyOf(request);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const byte of Buffer.from(BODY)) {
      response.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  const sidecar = await startProxy(agent.url, options);
  const answer = await ask(sidecar.url, POST_JSON, RUN_REQUEST);
  await sidecar.proxy.close({ graceMs: 1_000 });
  return { sidecar, answer };
}

function boom(): never {
  throw new Error('boom');
}

/** A clock that works for `readings` and then breaks: it is read at every point of an exchange. */
function breakingClock(readings: number): () => number {
  let left = readings;
  return () => (left-- > 0 ? 1_000 - left : boom());
}

describe('the stream passes whole', () => {
  it.each<[string, Partial<ProxyOptions>]>([
    ['when the observer throws at the start', { observe: boom }],
    ['when the observer throws at the end', { observe: () => observation(boom) }],
    [
      'when the observer fails to read at the end',
      { observe: () => observation(() => Promise.reject(new Error('boom'))) },
    ],
    ['when the observer throws at the request', { observe: () => observation(() => {}, { requested: boom }) }],
    ['when the choice of exchanges throws', { observe: () => observation(() => {}, { wantsCopy: boom }) }],
    ...[0, 1, 2, 3, 4, 10, 20].map((readings): [string, Partial<ProxyOptions>] => [
      `when the clock breaks after ${readings} readings`,
      { now: breakingClock(readings) },
    ]),
  ])('%s, and the fault is reported', async (_name, options) => {
    const { sidecar, answer } = await throughSidecar(options);

    expect(answer).toMatchObject({ status: 200, body: Buffer.from(BODY) });
    expect(sidecar.faults).not.toHaveLength(0);
    expect(sidecar.faults).toEqual(sidecar.faults.map(() => new Error('boom')));
  });

  it('when even the report of a fault throws', async () => {
    const { answer } = await throughSidecar({ observe: boom, onFault: boom });

    expect(answer.body.toString()).toBe(BODY);
  });

  it('when the count of dropped bytes throws; the observation is still told its end', async () => {
    let told = false;
    const { answer, sidecar } = await throughSidecar({
      tap: { ...TAP, maxExchangeBytes: 1 },
      onTapDropped: boom,
      observe: () =>
        observation(() => {
          told = true;
        }),
    });

    expect(answer.body.toString()).toBe(BODY);
    expect(told).toBe(true);
    expect(sidecar.faults).toHaveLength(1);
  });
});
