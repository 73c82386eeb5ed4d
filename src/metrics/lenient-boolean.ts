import { z } from 'zod';

const TRUE_WORDS: ReadonlySet<unknown> = new Set(['1', 'on', 't', 'true', 'y', 'yes']);
const FALSE_WORDS: ReadonlySet<unknown> = new Set(['0', 'off', 'f', 'false', 'n', 'no']);

/** Booleans as Ragas reads them (the lax mode of Pydantic): also 1 and 0, and the usual words in any case. */
export const lenientBoolean = z.unknown().transform((given, context): boolean => {
  const word = typeof given === 'string' ? given.toLowerCase() : given;
  if (word === true || word === 1 || TRUE_WORDS.has(word)) return true;
  if (word === false || word === 0 || FALSE_WORDS.has(word)) return false;
  context.issues.push({ code: 'custom', message: 'Expected true or false', input: given });
  return z.NEVER;
});
