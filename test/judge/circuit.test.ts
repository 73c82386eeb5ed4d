import { describe, expect, it } from 'vitest';
import { createCircuit } from '../../src/judge/circuit.ts';
import { FREE, setUp } from './questions.ts';

describe('an endpoint that refuses everybody', () => {
  const coolDownMs = 1_000;

  it.each([
    [401, 'unauthorized'],
    [403, 'unauthorized'],
    [404, 'unavailable'],
  ])('is not asked again during the cool-down: %i', async (status, type) => {
    await using bench = await setUp({ scripts: { berth: () => ({ status }) } }, { coolDownMs });
    await bench.fail();
    bench.pass(coolDownMs - 1);
    const error = await bench.fail();
    expect(error).toMatchObject({ type });
    expect(error.message).toContain(`not asked, because a moment ago the judge endpoint answered ${status}`);
    expect(bench.server.requests).toHaveLength(1);
    expect(bench.calls).toHaveLength(1);
  });

  it('is asked once more after the cool-down, and then by everybody when that was answered', async () => {
    await using bench = await setUp(
      { scripts: { berth: [{ status: 401 }, { value: FREE }, { value: FREE }] } },
      { coolDownMs },
    );
    await bench.fail();
    bench.pass(coolDownMs);
    await expect(bench.ask()).resolves.toEqual(FREE);
    await expect(bench.ask()).resolves.toEqual(FREE);
  });

  it('is left alone for another cool-down when it refuses the one question, too', async () => {
    await using bench = await setUp({ scripts: { berth: () => ({ status: 401 }) } }, { coolDownMs });
    await bench.fail();
    bench.pass(coolDownMs);
    await bench.fail();
    await bench.fail();
    expect(bench.server.requests).toHaveLength(2);
  });

  it.each([
    [400, 6],
    [429, 2],
    [500, 2],
  ])('is not one that answers %i', async (status, requests) => {
    await using bench = await setUp({ scripts: { berth: () => ({ status }) } }, { coolDownMs, retries: 0 });
    await bench.fail();
    await bench.fail();
    expect(bench.server.requests).toHaveLength(requests);
  });

  it('spares the questions that were waiting', async () => {
    await using bench = await setUp({ scripts: { berth: () => ({ status: 401 }) } }, { coolDownMs });
    const errors = await Promise.all(Array.from({ length: 10 }, () => bench.fail()));
    expect(errors.map(({ type }) => type)).toEqual(Array(10).fill('unauthorized'));
    expect(bench.server.requests).toHaveLength(1);
  });
});

describe('an open circuit after its cool-down', () => {
  const failure = { type: 'unauthorized', message: 'the key was refused' } as const;
  const opened = () => {
    let time = 0;
    const circuit = createCircuit({ coolDownMs: 10, now: () => time });
    circuit.open(failure);
    time = 10;
    return circuit;
  };

  it('lets one question through, and the others wait for what becomes of it', async () => {
    const circuit = opened();
    const hold = Promise.withResolvers<void>();
    const asked: string[] = [];
    const probe = circuit.pass(() => hold.promise);
    const waiting = circuit.pass(async () => asked.push('waiting'));
    await new Promise(setImmediate);
    expect(asked).toEqual([]);
    circuit.close();
    hold.resolve();
    await Promise.all([probe, waiting]);
    expect(asked).toEqual(['waiting']);
  });

  it('fails those that waited when the one was refused, too', async () => {
    const circuit = opened();
    const hold = Promise.withResolvers<void>();
    const probe = circuit.pass(async () => {
      await hold.promise;
      circuit.open(failure);
    });
    const waiting = circuit.pass(async () => 'asked');
    hold.resolve();
    await expect(waiting).rejects.toMatchObject({ type: 'unauthorized' });
    await probe;
  });

  it('admits no work while it is open, one piece when it may be tried again, and all when it is closed', () => {
    let time = 0;
    const circuit = createCircuit({ coolDownMs: 10, now: () => time });
    expect(circuit.admission()).toEqual({ limit: Infinity });
    circuit.open(failure);
    expect(circuit.admission()).toEqual({ limit: 0, askAgainAt: 10 });
    time = 10;
    expect(circuit.admission()).toEqual({ limit: 1 });
    circuit.close();
    expect(circuit.admission()).toEqual({ limit: Infinity });
  });

  it('lets the next one through when the first told nothing', async () => {
    const circuit = opened();
    await expect(circuit.pass(() => Promise.reject(new Error('timed out')))).rejects.toThrow('timed out');
    await expect(circuit.pass(async () => 'asked')).resolves.toBe('asked');
  });
});
