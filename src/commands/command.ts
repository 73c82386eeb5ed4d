import type { Readable, Writable } from 'node:stream';

/** What a command sees of its process. Data goes to `stdout`, everything else to `stderr`. */
export interface CommandIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts at the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}

/** Exit statuses of every command: done; the work failed or a threshold was missed; bad usage or configuration. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const;

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** One subcommand. `help` is printed for `--help`, with an example in it. */
export interface Command {
  readonly help: string;
  /**
   * @param args the arguments after the command's name.
   * @throws {UsageError} for arguments or input that make no sense; the caller prints it and exits with 2.
   */
  run(args: readonly string[], io: CommandIo): Promise<ExitStatus>;
}
