import { readdirSync } from 'node:fs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Judge, JudgeRequest } from '../../src/judge/judge.ts';
import { readValue } from '../../src/judge/reading.ts';
import type { Metric, MetricParams } from '../../src/metrics/metric.ts';
import { SAMPLE, SAMPLE_CONVERSATIONS } from '../../src/metrics/sample.ts';
import { NEVER } from '../support/scripted-judge.ts';

// A score is compared with others of its version only, so a version has to change with all that a judge is shown.

/** One answer to each schema, in the words of which versions are made. A new schema needs a line. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  goal_and_end_state: { user_goal: SAMPLE.goal, end_state: SAMPLE.endState },
  outcome_comparison: { reason: '', verdict: '1' },
  topics: { topics: [SAMPLE.topic] },
  topic_refusal: { refused_to_answer: false },
  topic_classification: { classifications: [true] },
  topic_outcomes: { topics: [] },
};

/** Parameters with which metrics ask differently; those that a metric does not take are left out for it. */
const VARIANTS = [
  {},
  { reference_topics: ['knots'] },
  { reference_topics: ['knots'], compat: 'ragas' },
  { compat: 'ragas' },
];

interface Evaluator {
  readonly name: string;
  readonly metric: Metric;
  readonly params: MetricParams;
}

const PROMPTS = new URL('../../src/metrics/prompts/', import.meta.url);
const VERSION = '../../src/metrics/version.ts';

/** Every metric with every variant of its parameters, from modules loaded anew. */
async function loadEvaluators(): Promise<readonly Evaluator[]> {
  vi.resetModules();
  const { METRICS } = await import('../../src/metrics/registry.ts');
  return METRICS.flatMap((metric) =>
    VARIANTS.flatMap((given) => {
      const parsed = metric.params.safeParse(given);
      return parsed.success ? [{ name: `${metric.name} ${JSON.stringify(given)}`, metric, params: parsed.data }] : [];
    }),
  );
}

type Shown = Pick<JudgeRequest<unknown>, 'schemaName' | 'messages'>;

/** What a judge is shown when the sample conversations are judged. */
async function shownBy({ metric, params }: Evaluator): Promise<readonly Shown[]> {
  const shown: Shown[] = [];
  const judge: Judge = {
    model: 'sample',
    async ask(request) {
      const { schemaName, messages } = request;
      shown.push({ schemaName, messages });
      const reading = readValue(ANSWERS[schemaName], request);
      if (reading.kind === 'value') return reading.value;
      throw new Error(`no answer to ${schemaName}: ${reading.problem.message}`);
    },
  };
  for (const messages of SAMPLE_CONVERSATIONS) {
    await metric.score({ messages, params, waiting: false, reference: SAMPLE.reference }, judge, NEVER);
  }
  return shown;
}

const versionOf = ({ metric, params }: Evaluator): string => metric.version(params, 'judge');

/** What every evaluator is, and shows, as long as nothing is changed. */
const unchanged = await Promise.all(
  (await loadEvaluators()).map(async (evaluator) => ({
    version: versionOf(evaluator),
    shown: JSON.stringify(await shownBy(evaluator)),
  })),
);

beforeEach(() => {
  for (const module of [...promptModules(), VERSION]) vi.doUnmock(module);
});

function promptModules(): readonly string[] {
  return readdirSync(PROMPTS).map((file) => `../../src/metrics/prompts/${file}`);
}

describe('an evaluator version', () => {
  it('is made of every request that judging makes, word for word', async () => {
    const { evaluatorVersion } = await vi.importActual<typeof import('../../src/metrics/version.ts')>(VERSION);
    const { sampleTranscripts } = await import('../../src/metrics/sample.ts');
    let hashed: readonly string[] = [];
    vi.doMock(VERSION, () => ({
      evaluatorVersion(parts: Parameters<typeof evaluatorVersion>[0]) {
        hashed = sampleTranscripts()
          .flatMap((transcript) => parts.requests(transcript))
          .map(({ request: { schemaName, messages } }) => JSON.stringify({ schemaName, messages }));
        return evaluatorVersion(parts);
      },
    }));
    for (const evaluator of await loadEvaluators()) {
      versionOf(evaluator);
      const shown = (await shownBy(evaluator)).map((one) => JSON.stringify(one));
      expect(shown).not.toEqual([]);
      expect({ evaluator: evaluator.name, forgotten: shown.filter((one) => !hashed.includes(one)) }).toEqual({
        evaluator: evaluator.name,
        forgotten: [],
      });
    }
  });

  describe.each(promptModules())('changes with %s', async (module) => {
    const original: Readonly<Record<string, unknown>> = await import(module);

    it.each(Object.keys(original))('%s, for exactly those that show it', async (changed) => {
      vi.doMock(module, () => ({ ...original, [changed]: alter(original[changed]) }));
      const after = await loadEvaluators();
      const affected = await Promise.all(
        after.map(async (evaluator, index) => JSON.stringify(await shownBy(evaluator)) !== unchanged[index]?.shown),
      );
      expect(affected).toContain(true);
      expect(after.map((evaluator, index) => versionOf(evaluator) !== unchanged[index]?.version)).toEqual(affected);
    });
  });

  it.each([
    ['the form of records', '../../src/conversation/transcript.ts', 'renderTranscript'],
    ['the words of a reply format', '../../src/judge/reply-format.ts', 'formatQuestion'],
    ['the words of a repair', '../../src/judge/repair.ts', 'repairTurns'],
  ])('changes with %s', async (_, module, changed) => {
    const original = await vi.importActual<Record<string, unknown>>(module);
    vi.doMock(module, () => ({ ...original, [changed]: alter(original[changed]) }));
    const after = await loadEvaluators();
    vi.doUnmock(module);
    const same = after.filter((evaluator, index) => versionOf(evaluator) === unchanged[index]?.version);
    // Nothing is repaired as Ragas does it.
    const untouched = changed === 'repairTurns' ? after.filter(({ name }) => name.includes('ragas')) : [];
    expect(same.map(({ name }) => name)).toEqual(untouched.map(({ name }) => name));
  });
});

/** The same with one word more, wherever it shows. */
function alter(given: unknown): unknown {
  if (typeof given === 'function') return (...args: unknown[]) => alter(given(...args));
  if (typeof given === 'string') return `${given} really`;
  if (Array.isArray(given)) return given.map(alter);
  if (typeof given !== 'object' || given === null || given instanceof Map) return given;
  const altered = Object.entries(given).map(([key, value]) => [key, TEXTS.has(key) ? alter(value) : value]);
  return Object.fromEntries(altered);
}

const TEXTS: ReadonlySet<string> = new Set(['text', 'content', 'messages', 'tools', 'function', 'description']);
