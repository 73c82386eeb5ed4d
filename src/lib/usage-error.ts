import { errorCode } from './error-code.ts';

/** Bad usage, bad configuration or unreadable input. The message is for the person at the terminal. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The error for a path that was given and cannot be used. `expected` completes the sentence "expected …". */
export const unusablePath = (path: string, error: unknown, expected = 'a readable file'): UsageError =>
  new UsageError(`${path}: expected ${expected} (${errorCode(error) ?? String(error)})`, { cause: error });
