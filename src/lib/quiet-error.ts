/**
 * Does `work`, and `otherwise` with what it throws. An error that is thrown within has no stack: to find and keep it costs
 * several times what the work does, and input may be made so that all of it fails.
 */
export function tryQuietly<Result>(work: () => Result, otherwise: (error: unknown) => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } catch (error) {
    return otherwise(error);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
