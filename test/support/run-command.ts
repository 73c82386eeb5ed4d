import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Command, ExitStatus } from '../../src/commands/command.ts';

interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
  readonly signal?: AbortSignal;
}

interface Run {
  readonly status: ExitStatus;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end in this process and returns what it printed. */
export async function runCommand(command: Command, args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const { env = {}, stdin = '', signal = new AbortController().signal } = options;
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const printed = Promise.all([text(stdout), text(stderr)]);
  const status = await command.run(args, { stdin: Readable.from([stdin]), stdout, stderr, env, signal }).finally(() => {
    stdout.end();
    stderr.end();
  });
  const [out, err] = await printed;
  return { status, stdout: out, stderr: err };
}
