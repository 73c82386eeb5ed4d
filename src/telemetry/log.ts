import pino, { type DestinationStream, type Logger } from 'pino';
import { boundedOutput } from './log-output.ts';
import { CONFINED } from './log-text.ts';

export type { Logger } from 'pino';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

export interface Log extends Logger {
  /** Lines that could not be written, since the start. */
  linesLost(): number;
}

export interface LogOptions {
  /** Default `info`. */
  readonly level?: LogLevel;
  /** Default: standard error, which may be slow, full or gone: see {@link boundedOutput}. */
  readonly destination?: DestinationStream;
}

/** Members that hold a secret wherever they occur; the paths below reach three levels deep. */
const SECRETS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'api_key',
  'apiKey',
  'token',
  'password',
  'secret',
].map((name) => `["${name}"]`);

/**
 * Makes the log: JSON lines, since standard output belongs to data. Secrets among the logged members are masked; texts
 * are not searched, so none may be put into a message. Each line is one line, and bounded, whatever its texts hold.
 */
export function createLog({ level = 'info', destination }: LogOptions = {}): Log {
  const paths = ['', '*', '*.*'].flatMap((prefix) => SECRETS.map((name) => `${prefix}${name}`));
  const timestamp = pino.stdTimeFunctions.isoTime;
  const options = { level, base: null, timestamp, ...CONFINED, redact: { paths } };
  if (destination) return Object.assign(pino(options, destination), { linesLost: () => 0 });
  const output = boundedOutput(process.stderr, (linesLost) =>
    log.warn({ linesLost }, 'log lines could not be written'),
  );
  const log = Object.assign(pino(options, output), { linesLost: () => output.linesLost() });
  return log;
}
