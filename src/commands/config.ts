import { UsageError } from '../lib/usage-error.ts';
import { EXIT } from './command.ts';
import type { Command, CommandIo, ExitStatus } from './command.ts';
import { parseArguments } from './parse-arguments.ts';

const HELP = `Usage: agui-sidecar config print [--config FILE] [--set a.b=c]...
       agui-sidecar config schema
       agui-sidecar config docs

  print   the configuration in force as YAML, with where each value came from; secrets are masked
  schema  JSON Schema of the configuration file, for editors
  docs    the table of all settings, as Markdown

Options of print:
  --config FILE  YAML file to read
  --set a.b=c    one setting, stronger than file and environment; may be repeated

Example:
  agui-sidecar config print --config agui-sidecar.yaml --set sampling.rate=1
`;

const TOPICS: Readonly<Record<string, (args: readonly string[], io: CommandIo) => Promise<ExitStatus>>> = {
  print,
  schema,
  docs,
};

/** Tells what can be configured, and what is. */
export const config: Command = {
  help: HELP,
  async run([topic = '', ...rest], io) {
    const run = Object.hasOwn(TOPICS, topic) ? TOPICS[topic] : undefined;
    if (!run)
      throw new UsageError(`config takes one of ${Object.keys(TOPICS).join(', ')}, not "${topic}". Try --help.`);
    return run(rest, io);
  },
};

async function print(args: readonly string[], { stdout, stderr, env }: CommandIo): Promise<ExitStatus> {
  const [{ CONFIG_OPTIONS, loadConfig }, { formatProblems }, { printConfig }] = await Promise.all([
    import('../config/load.ts'),
    import('../config/problem.ts'),
    import('../config/print.ts'),
  ]);
  const { values } = parseArguments({ args: [...args], options: CONFIG_OPTIONS });
  const result = await loadConfig(values, env);
  if (!result.ok) {
    stderr.write(formatProblems(result.problems));
    return EXIT.usage;
  }
  stdout.write(printConfig(result.config, result.found));
  return EXIT.done;
}

async function schema(args: readonly string[], { stdout }: CommandIo): Promise<ExitStatus> {
  parseArguments({ args: [...args], options: {} });
  const [{ configJsonSchema }, { METRICS }] = await Promise.all([
    import('../config/json-schema.ts'),
    import('../metrics/registry.ts'),
  ]);
  stdout.write(`${JSON.stringify(configJsonSchema(METRICS), null, 2)}\n`);
  return EXIT.done;
}

async function docs(args: readonly string[], { stdout }: CommandIo): Promise<ExitStatus> {
  parseArguments({ args: [...args], options: {} });
  const { settingsTable } = await import('../config/table.ts');
  stdout.write(`${settingsTable()}\n`);
  return EXIT.done;
}
