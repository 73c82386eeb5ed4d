import { describe, expect, it } from 'vitest';
import { readCorpus } from '../../fuzz/finds.ts';
import { TARGETS } from '../../fuzz/targets.ts';

describe('what fuzzing once found', () => {
  const corpus = readCorpus();

  it.each(corpus.map((entry) => [`${entry.target}/${entry.name}`, entry] as const))('%s', async (_, entry) => {
    const target = TARGETS.find(({ name }) => name === entry.target);
    if (!target) throw new TypeError(`no target is called "${entry.target}"`);
    const opened = await target.open();
    try {
      await expect(opened.run(entry.input)).resolves.toBeUndefined();
    } finally {
      await opened[Symbol.asyncDispose]();
    }
  });
});
