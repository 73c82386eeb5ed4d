import { parseArgs } from 'node:util';
import type { ParseArgsConfig } from 'node:util';
import { errorCode } from '../lib/error-code.ts';
import { UsageError } from '../lib/usage-error.ts';

/** Reads a command's arguments. @throws {UsageError} for an argument that the command does not take. */
export function parseArguments<const T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    if (error instanceof TypeError && errorCode(error)?.startsWith('ERR_PARSE_ARGS') === true) {
      throw new UsageError(`${error.message}. Try --help.`, { cause: error });
    }
    throw error;
  }
}
