import { readFile } from 'node:fs/promises';
import { errorCode } from '../lib/error-code.ts';
import { METRICS } from '../metrics/registry.ts';
import { resolveConfig } from './resolve.ts';
import type { ConfigResult, Purpose } from './resolve.ts';

/** Arguments of every command that takes a configuration, for `parseArgs`. */
export const CONFIG_OPTIONS = {
  config: { type: 'string' },
  set: { type: 'string', multiple: true },
} as const;

export interface ConfigArguments {
  /** Path of a YAML file. */
  readonly config?: string | undefined;
  /** `a.b=c`, each stronger than file and environment. */
  readonly set?: readonly string[] | undefined;
}

/** Loads the configuration from file, environment and arguments. A file that cannot be read is a problem among others. */
export async function loadConfig(
  { config: path, set: sets = [] }: ConfigArguments,
  env: Readonly<Record<string, string | undefined>>,
  purpose: Purpose = 'sidecar',
): Promise<ConfigResult> {
  const file = path === undefined ? undefined : { path, ...(await readText(path)) };
  return resolveConfig({ env, sets, ...(file && { file }) }, METRICS, purpose);
}

async function readText(path: string): Promise<{ readonly text: string } | { readonly unreadable: string }> {
  try {
    return { text: await readFile(path, 'utf8') };
  } catch (error) {
    return { unreadable: errorCode(error) ?? String(error) };
  }
}
