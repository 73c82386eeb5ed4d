import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createReadiness } from '../src/admin/readiness.ts';
import { type ShutdownParts, shutDown } from '../src/shutdown.ts';
import { virtualClock } from './support/virtual-clock.ts';

const never = (): Promise<never> => new Promise(() => {});

/** Parts that stop at once, but for those that are given, and what was stopped and logged. */
function setUp(changes: Partial<ShutdownParts>) {
  const clock = virtualClock();
  const done: string[] = [];
  const error = (...said: readonly unknown[]): void => void done.push(`error: ${String(said.at(-1))}`);
  const stops = (name: string) => async () => void done.push(name);
  const parts: ShutdownParts = {
    readiness: createReadiness(),
    proxy: { accepted: () => 0, startDraining: () => {}, close: stops('proxy') },
    observer: { settled: stops('observer'), unsettled: () => 0, cut: () => 0 },
    evaluation: { close: stops('evaluation') },
    telemetry: { shutdown: stops('telemetry') },
    admin: { stop: stops('admin') },
    clock,
    log: { info: () => {}, warn: () => {}, error },
    ...changes,
  };
  async function stop(): Promise<void> {
    const state = { isStopped: false };
    const stopping = shutDown(parts, { delayMs: 0, graceMs: 1000, openConversations: 'judge' }).then(() => {
      state.isStopped = true;
    });
    while (!state.isStopped) {
      clock.advance(1000);
      await turn();
    }
    await stopping;
  }
  return { done, stop };
}

describe('a stop', () => {
  it('goes by the order of the data', async () => {
    const { done, stop } = setUp({});
    await stop();
    expect(done).toEqual(['proxy', 'observer', 'evaluation', 'telemetry', 'admin']);
  });

  it('leaves judging alone that does not end, and says so', async () => {
    const { done, stop } = setUp({ evaluation: { close: never } });
    await stop();
    expect(done).toEqual([
      'proxy',
      'observer',
      'error: judging did not end when it was told to and is left alone; this is a defect',
      'telemetry',
      'admin',
    ]);
  });

  it('leaves exchanges unread that are not read in time, and says so', async () => {
    const { done, stop } = setUp({ observer: { settled: never, unsettled: () => 3, cut: () => 0 } });
    await stop();
    expect(done).toEqual([
      'proxy',
      'error: requests were not read in time and are lost',
      'evaluation',
      'telemetry',
      'admin',
    ]);
  });
});
