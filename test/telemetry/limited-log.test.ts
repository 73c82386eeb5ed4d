import { describe, expect, it } from 'vitest';
import { limitedLog } from '../../src/telemetry/limited-log.ts';
import { createLog, type LogLevel } from '../../src/telemetry/log.ts';

function start(level: LogLevel = 'info') {
  const lines: unknown[] = [];
  const clock = { now: 0 };
  const log = createLog({ level, destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  return { lines, clock, limited: limitedLog(log, () => clock.now) };
}

describe('a limited log', () => {
  it('writes the first line of a kind, and one a minute later with the number of those left out since', () => {
    const { lines, clock, limited } = start();
    limited('warn', 'down', 'it is down', { cause: 'A' });
    for (clock.now = 1; clock.now < 60_000; clock.now += 20_000) limited('warn', 'down', 'it is down', { cause: 'B' });
    clock.now = 60_000;
    limited('warn', 'down', 'it is down', { cause: 'C' });
    expect(lines).toMatchObject([
      { level: 40, msg: 'it is down', cause: 'A' },
      { level: 40, msg: 'it is down', cause: 'C', similarSince: 3 },
    ]);
    expect(lines[0]).not.toHaveProperty('similarSince');
  });

  it('counts anew after each line', () => {
    const { lines, clock, limited } = start();
    for (clock.now = 0; clock.now <= 120_000; clock.now += 30_000) limited('error', 'down', 'it is down');
    expect(lines).toMatchObject([{}, { similarSince: 1 }, { similarSince: 1 }]);
  });

  it('holds no kind back for another', () => {
    const { lines, limited } = start();
    limited('warn', 'one', 'one is down');
    limited('warn', 'two', 'two is down');
    limited('warn', 'one', 'one is down');
    expect(lines).toMatchObject([{ msg: 'one is down' }, { msg: 'two is down' }]);
  });

  it('writes those left out at debug, with all that they tell', () => {
    const { lines, limited } = start('debug');
    limited('warn', 'down', 'it is down', { cause: 'A' });
    limited('warn', 'down', 'it is down', { cause: 'B' });
    expect(lines).toMatchObject([{ level: 40 }, { level: 20, msg: 'it is down', cause: 'B' }]);
  });
});
