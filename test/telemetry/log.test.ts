import { describe, expect, it } from 'vitest';
import { diagLog } from '../../src/telemetry/diag-log.ts';
import { limitedLog } from '../../src/telemetry/limited-log.ts';
import { createLog, type LogLevel } from '../../src/telemetry/log.ts';

function collect(level: LogLevel) {
  const lines: string[] = [];
  const log = createLog({ level, destination: { write: (line) => void lines.push(line) } });
  return { log, lines, parsed: (): unknown[] => lines.map((line) => JSON.parse(line)) };
}

describe('the log', () => {
  it('masks secrets down to the third level', () => {
    const { log, lines } = collect('info');
    log.info({ apiKey: 's3cret', headers: { authorization: 's3cret', 'x-api-key': 's3cret' } }, 'one');
    log.info({ judge: { options: { api_key: 's3cret', cookie: 's3cret' } } }, 'two');
    expect(lines.join('')).not.toContain('s3cret');
    expect(lines).toHaveLength(2);
  });

  it('tells of an error what it says, by either name', () => {
    const { log, parsed } = collect('info');
    log.error({ error: new Error('went wrong') }, 'one');
    log.error({ err: new Error('went wrong') }, 'two');
    expect(parsed()).toMatchObject([{ error: { message: 'went wrong' } }, { err: { message: 'went wrong' } }]);
  });

  it('leaves out what is below its level', () => {
    const { log, lines } = collect('warn');
    log.info('no');
    log.warn('yes');
    expect(lines).toHaveLength(1);
  });
});

describe('what the SDK says of itself', () => {
  it('is let through once a minute per level, with the number of those in between', () => {
    const { log, parsed } = collect('info');
    let now = 0;
    const logger = diagLog(
      log,
      limitedLog(log, () => now),
    );
    for (let index = 0; index < 5; index++) logger.error('export failed', 'ECONNREFUSED');
    logger.warn('Dropped 3 spans');
    now = 60_000;
    logger.error('export failed again');
    expect(parsed()).toMatchObject([
      { level: 50, msg: 'OpenTelemetry: export failed ECONNREFUSED' },
      { level: 40, msg: 'OpenTelemetry: Dropped 3 spans' },
      { level: 50, msg: 'OpenTelemetry: export failed again', similarSince: 4 },
    ]);
  });

  it('is kept in full at debug, and cut to a readable length', () => {
    const { log, parsed } = collect('debug');
    const logger = diagLog(
      log,
      limitedLog(log, () => 0),
    );
    logger.error('first');
    logger.error(`second ${'x'.repeat(5_000)}`);
    expect(parsed()).toHaveLength(2);
    expect(JSON.stringify(parsed()[1]).length).toBeLessThan(700);
  });

  it('of an error that nobody caught, which it writes as JSON, is what the error says', () => {
    const { log, parsed } = collect('info');
    const logger = diagLog(
      log,
      limitedLog(log, () => 0),
    );
    logger.error(JSON.stringify({ stack: 'Error: Timeout\n    at listOnTimeout', message: 'Timeout', name: 'Error' }));
    logger.warn('{"message":"no error"} and {not JSON');
    expect(parsed()).toMatchObject([
      { msg: 'OpenTelemetry: Timeout' },
      { msg: 'OpenTelemetry: {"message":"no error"} and {not JSON' },
    ]);
  });
});
