import type { CheckResult } from '../check/check-result.ts';
import type { Config } from '../config/config.ts';
import { EXIT } from './command.ts';
import type { Command, CommandIo } from './command.ts';
import { parseArguments } from './parse-arguments.ts';

const HELP = `Usage: agui-sidecar check [--config FILE] [--set a.b=c]... [--json]

Checks that the sidecar would work: the configuration is valid, the ports or socket can be had (each is taken for a moment),
each agent can be reached, the judge really answers (a small conversation is put to it, which costs a few hundred tokens),
and the collector takes spans. No agent is asked to run. Beside a sidecar that runs already, its ports are fine.

Options:
  --config FILE  YAML file to read
  --set a.b=c    one setting, stronger than file and environment; may be repeated
  --json         print the results as JSON

Exit status: 0 nothing failed (a warning is no failure), 1 something did, 2 the configuration is not valid.

Example:
  AGENT_URL=http://localhost:8000 OPENAI_API_KEY=... agui-sidecar check
`;

const EXPORTER_TIMEOUT_MS = 10_000;

/** Checks everything that the sidecar depends on. */
export const check: Command = {
  help: HELP,
  async run(args, io) {
    const [{ CONFIG_OPTIONS, loadConfig }, { formatProblems }] = await Promise.all([
      import('../config/load.ts'),
      import('../config/problem.ts'),
    ]);
    const options = { ...CONFIG_OPTIONS, json: { type: 'boolean', default: false } } as const;
    const { values } = parseArguments({ args: [...args], options });
    const loaded = await loadConfig(values, io.env);
    if (!loaded.ok) {
      if (values.json) io.stdout.write(`${JSON.stringify({ ok: false, problems: loaded.problems }, null, 2)}\n`);
      else io.stderr.write(formatProblems(loaded.problems));
      return EXIT.usage;
    }
    const results = await checkAll(loaded.config, io);
    const ok = results.every(({ status }) => status !== 'failed');
    io.stdout.write(values.json ? `${JSON.stringify({ ok, results }, null, 2)}\n` : formatResults(results));
    return ok ? EXIT.done : EXIT.failed;
  },
};

async function checkAll(config: Config, { env, signal }: CommandIo): Promise<readonly CheckResult[]> {
  const [{ checkListeners }, { checkAgent }, { checkJudge }, { checkExporter, checkTracing }] = await Promise.all([
    import('../check/listeners.ts'),
    import('../check/agent.ts'),
    import('../check/judge.ts'),
    import('../check/exporter.ts'),
  ]);
  const [listeners, ...reached] = await Promise.all([
    checkListeners(config, signal),
    ...config.agents.map((agent) => checkAgent(agent, { timeoutMs: config.proxy.connectTimeoutMs, signal })),
    checkJudge(config.judge, signal),
    checkExporter(env, { timeoutMs: EXPORTER_TIMEOUT_MS, signal }),
  ]);
  return [
    { item: 'configuration', status: 'ok', detail: 'Every setting is valid.' },
    { item: 'store', status: 'ok', detail: 'Conversations are kept in memory and end with the process.' },
    ...listeners,
    ...reached,
    ...checkTracing(env),
  ];
}

function formatResults(results: readonly CheckResult[]): string {
  const width = Math.max(...results.map(({ item }) => item.length));
  const lines = results.map(({ item, status, detail, remedy }) =>
    [item.padEnd(width), status.padEnd('skipped'.length), detail, ...(remedy === undefined ? [] : [remedy])].join(' '),
  );
  return `${lines.join('\n')}\n`;
}
