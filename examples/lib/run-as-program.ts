import type { RunningServer } from './listen.ts';

/**
 * Runs one example server as a program of its own: says where it listens, and stops it at Ctrl-C or SIGTERM.
 *
 * @param start is given `PORT` and `HOST` of the environment.
 */
export async function runAsProgram(
  name: string,
  start: (options: { port: number; host: string }) => Promise<RunningServer>,
): Promise<void> {
  const given = process.env['PORT'] ?? '8000';
  const port = Number(given);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    console.error(`PORT is "${given}"; expected a whole number from 0 to 65535.`);
    process.exitCode = 2;
    return;
  }
  const server = await start({ port, host: process.env['HOST'] ?? '127.0.0.1' });
  console.error(`${name} listens on ${server.url}`);
  const stop = (): void => void server[Symbol.asyncDispose]();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}
