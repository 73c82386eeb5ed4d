import { once } from 'node:events';
import { CONFIG_OPTIONS, loadConfig } from '../config/load.ts';
import { formatProblems } from '../config/problem.ts';
import { lowerBackgroundThreads } from '../lib/background-threads.ts';
import { UsageError } from '../lib/usage-error.ts';
import { type Command, EXIT } from './command.ts';
import { parseArguments } from './parse-arguments.ts';

const HELP = `Runs the sidecar: forwards every request to the agent, judges a sample of the conversations.

Usage: agui-sidecar serve [--config FILE] [--set SETTING=VALUE]... [--no-worker]

Options:
  --config FILE        a YAML file; environment variables are stronger than it
  --set SETTING=VALUE  one setting, like sampling.rate=0.5; stronger than everything else
  --no-worker          proxy, measure and trace, but judge nothing

The first Ctrl-C or SIGTERM fails readiness, lets open streams end within shutdown.grace and judges what is left: status 0,
whatever had to be cut. The second one ends the process at once: status 130 after Ctrl-C, 143 after SIGTERM.

Example:
  AGENT_URL=http://localhost:8000 OPENAI_API_KEY=... agui-sidecar serve
`;

/** The sidecar itself. */
export const serve: Command = {
  help: HELP,
  async run(args, { env, signal }) {
    const { values } = parseArguments({
      args: [...args],
      options: { ...CONFIG_OPTIONS, 'no-worker': { type: 'boolean' } },
    });
    const loaded = await loadConfig(values, env);
    if (!loaded.ok) throw new UsageError(formatProblems(loaded.problems));
    const { config } = loaded;
    lowerBackgroundThreads();

    const [{ startSidecar }, { createLog }] = await Promise.all([import('../main.ts'), import('../telemetry/log.ts')]);
    const log = createLog(config.log);
    const worker = values['no-worker'] !== true;
    const sidecar = await startSidecar(config, { log, worker });
    if (!worker) log.warn('--no-worker: nothing is judged');
    else if (config.judge.kind === 'off') {
      log.warn(
        'no judge is configured: nothing is judged. Set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint of yours.',
      );
    }
    if (config.tap.share === 0) log.warn('tap.share is 0 (TAP_SHARE): nothing is copied, so nothing is judged');
    log.info(
      {
        proxy: config.listen.socket ?? `${config.listen.host}:${sidecar.proxyPort}`,
        admin: `${config.admin.host}:${sidecar.adminPort}`,
        agents: config.agents.map(({ name, match, metrics }) => ({
          name,
          match,
          metrics: metrics.map((each) => each.name),
        })),
        judge: config.judge.kind === 'on' && worker ? config.judge.model : 'off',
        tapShare: config.tap.share,
        sampleRate: config.sampling.rate,
        idleMs: config.closing.idleMs,
      },
      'ready',
    );

    if (!signal.aborted) await once(signal, 'abort');
    log.info({ ...config.shutdown }, 'stopping: readiness fails; a second signal ends the process at once');
    await sidecar.stop();
    log.info('stopped');
    return EXIT.done;
  },
};
