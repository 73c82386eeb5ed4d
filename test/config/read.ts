import type { Config } from '../../src/config/config.ts';
import { formatProblems } from '../../src/config/problem.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import type { ConfigResult, Purpose } from '../../src/config/resolve.ts';
import { METRICS } from '../../src/metrics/registry.ts';

export interface Given {
  /** Text of a configuration file called `sidecar.yaml`. */
  readonly file?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly set?: readonly string[];
  readonly purpose?: Purpose;
}

/** Shortest environment with which a configuration is valid. */
export const AGENT = { AGENT_URL: 'http://localhost:8000' };

export function read({ file, env = AGENT, set = [], purpose }: Given): ConfigResult {
  return resolveConfig(
    { env, sets: set, ...(file !== undefined && { file: { path: 'sidecar.yaml', text: file } }) },
    METRICS,
    purpose,
  );
}

/** The configuration, or an error that lists what is wrong with it. */
export function config(given: Given = {}): Config {
  const result = read(given);
  if (!result.ok) throw new Error(formatProblems(result.problems));
  return result.config;
}

/** The lines that a person sees, without headline and indentation; empty when the configuration is valid. */
export function problems(given: Given): readonly string[] {
  const result = read(given);
  if (result.ok) return [];
  return formatProblems(result.problems)
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim());
}
