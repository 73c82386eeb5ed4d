import pino, { type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

export interface LogOptions {
  /** Default `info`. */
  readonly level?: LogLevel;
  /** Default: standard error, written at once, so that the last line before a crash is there. */
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
 * are not searched, so none may be put into a message.
 */
export function createLog({ level = 'info', destination = pino.destination(2) }: LogOptions = {}): Logger {
  const paths = ['', '*', '*.*'].flatMap((prefix) => SECRETS.map((name) => `${prefix}${name}`));
  const { err } = pino.stdSerializers;
  const timestamp = pino.stdTimeFunctions.isoTime;
  return pino({ level, base: null, timestamp, serializers: { err, error: err }, redact: { paths } }, destination);
}
