#!/usr/bin/env node
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, type CommandIo, EXIT, type ExitStatus } from './commands/command.ts';
import { ListenError } from './lib/listen-error.ts';
import { UsageError } from './lib/usage-error.ts';
import { packageVersion } from './lib/version.ts';

interface Entry {
  readonly summary: string;
  /** Loaded only when it is called for: `collect --help` must not pay for what `serve` needs. */
  readonly load: () => Promise<Command>;
  /** What it prints is not what it is run for: it goes on when that cannot be written. */
  readonly outlivesOutput?: true;
}

const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: {
    summary: 'run the sidecar (default)',
    load: async () => (await import('./commands/serve.ts')).serve,
    outlivesOutput: true,
  },
  check: {
    summary: 'check configuration, agents, judge and exporter',
    load: async () => (await import('./commands/check.ts')).check,
  },
  collect: {
    summary: 'read a captured AG-UI stream and print its messages',
    load: async () => (await import('./commands/collect.ts')).collect,
  },
  score: {
    summary: 'score conversations: JSON lines in, verdicts out',
    load: async () => (await import('./commands/score.ts')).score,
  },
  config: {
    summary: 'print the configuration in force, its JSON Schema or the table of all settings',
    load: async () => (await import('./commands/config.ts')).config,
  },
};

const HELP = `agui-sidecar: a transparent sidecar proxy for AG-UI agents that judges what passes through it

Usage: agui-sidecar [COMMAND] [OPTIONS]

Commands:
${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(9)} ${summary}`)
  .join('\n')}

Options:
  --help     help on a command, with an example
  --version  print the version

Example:
  AGENT_URL=http://localhost:8000 agui-sidecar serve
`;

async function main(args: readonly string[], io: CommandIo): Promise<ExitStatus> {
  const [first = 'serve', ...rest] = args;
  if (first === '--help' || first === '-h' || first === 'help') return print(io, HELP);
  if (first === '--version' || first === '-v') return print(io, `${packageVersion()}\n`);
  // Options without a command belong to the default one.
  const [name, commandArgs] = first.startsWith('-') ? ['serve', args] : [first, rest];
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!entry) {
    throw new UsageError(`unknown command "${name}"; expected one of ${Object.keys(COMMANDS).join(', ')}. Try --help.`);
  }
  outlivesOutput = entry.outlivesOutput === true;
  const command = await entry.load();
  if (commandArgs.includes('--help') || commandArgs.includes('-h')) return print(io, command.help);
  return command.run(commandArgs, io);
}

function print(io: CommandIo, text: string): ExitStatus {
  io.stdout.write(text);
  return EXIT.done;
}

/** Aborts at the first Ctrl-C or SIGTERM; the second one ends the process at once. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) {
        stderr.write(`agui-sidecar: a second signal, ${name}: ended at once, with what was still under way\n`);
        process.exit(name === 'SIGINT' ? 130 : 143);
      }
      controller.abort(new Error(`${name} received`));
    });
  }
  return controller.signal;
}

/** How long a reader who may have stopped is waited for at the end. */
const LAST_LINES_MS = 1000;

let outlivesOutput = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (outlivesOutput) return;
  // A reader that closes its end early (`| head`) has what it wanted.
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  throw error;
});

const { stdin, stdout, stderr, env } = process;

function statusAfter(error: unknown): ExitStatus {
  const isExplained = error instanceof UsageError || error instanceof ListenError;
  const text = isExplained ? error.message.trimEnd() : error instanceof Error ? error.stack : String(error);
  stderr.write(`agui-sidecar: ${text}\n`);
  return error instanceof UsageError ? EXIT.usage : EXIT.failed;
}

const io: CommandIo = { stdin, stdout, stderr, env, signal: interruption() };
const status = await main(process.argv.slice(2), io).catch(statusAfter);
// Ends the process although something may still be open: an export to a collector that does not answer, a keep-alive
// connection to a judge. What was written goes out first.
const written = Promise.all(
  [stdout, stderr].map((output) => new Promise<void>((resolve) => output.write('', () => resolve()))),
);
await (outlivesOutput ? Promise.race([written, delay(LAST_LINES_MS)]) : written);
process.exit(status);
