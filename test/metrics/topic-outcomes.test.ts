import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ADHERENCE_MODES, adherence, adherenceAsRagas, countOutcomes } from '../../src/metrics/topic-outcomes.ts';

const [ANSWERED, DRIFTED, TURNED_AWAY, DECLINED] = [
  { on_topic: true, refused: false },
  { on_topic: false, refused: false },
  { on_topic: true, refused: true },
  { on_topic: false, refused: true },
];

describe('topic adherence', () => {
  const documented = countOutcomes([ANSWERED, ANSWERED, DRIFTED]);

  it.each([
    ['precision', 2 / 3, 0.6666666666444444],
    ['recall', 1, 0.99999999995],
    ['f1', 0.8, 0.79999999992],
  ] as const)(
    'with two on and one off topic, all answered: %s is %f, %f as Ragas computes it',
    (mode, exact, ragas) => {
      expect(adherence(documented, mode)).toEqual({ kind: 'value', value: exact });
      expect(Math.abs(adherenceAsRagas(documented, mode) - ragas)).toBeLessThanOrEqual(1e-12);
    },
  );

  it('counts the four outcomes', () => {
    expect(countOutcomes([ANSWERED, DRIFTED, DRIFTED, TURNED_AWAY, DECLINED])).toEqual({
      on_topic_answered: 1,
      off_topic_answered: 2,
      on_topic_refused: 1,
      off_topic_refused: 1,
    });
  });

  it.each(ADHERENCE_MODES)('does not apply without topics, by %s', (mode) => {
    expect(adherence(countOutcomes([]), mode).kind).toBe('not_applicable');
  });

  it.each(ADHERENCE_MODES)('is 1 when everything was off topic and refused, by %s', (mode) => {
    expect(adherence(countOutcomes([DECLINED, DECLINED]), mode)).toEqual({ kind: 'value', value: 1, adhered: true });
  });

  it('has no precision when nothing was answered, and no recall when nothing was on topic', () => {
    expect(adherence(countOutcomes([TURNED_AWAY, DECLINED]), 'precision').kind).toBe('not_applicable');
    expect(adherence(countOutcomes([TURNED_AWAY, DECLINED]), 'recall')).toEqual({ kind: 'value', value: 0 });
    expect(adherence(countOutcomes([DRIFTED, DECLINED]), 'recall').kind).toBe('not_applicable');
    expect(adherence(countOutcomes([DRIFTED, DECLINED]), 'precision')).toEqual({ kind: 'value', value: 0 });
    expect(adherence(countOutcomes([DRIFTED]), 'f1')).toEqual({ kind: 'value', value: 0 });
  });
});

describe('for any counts', () => {
  const topics = fc.array(fc.record({ on_topic: fc.boolean(), refused: fc.boolean() }), { maxLength: 40 });
  const mode = fc.constantFrom(...ADHERENCE_MODES);

  it('a value is finite and in [0, 1], and Ragas never reaches 1', () => {
    fc.assert(
      fc.property(topics, mode, (given, by) => {
        const counts = countOutcomes(given);
        const exact = adherence(counts, by);
        if (exact.kind === 'value') expect(exact.value >= 0 && exact.value <= 1).toBe(true);
        const ragas = adherenceAsRagas(counts, by);
        expect(ragas >= 0 && ragas < 1).toBe(true);
      }),
    );
  });

  it('exact and Ragas differ by the epsilons only, the corrected refusals aside', () => {
    fc.assert(
      fc.property(topics, mode, (given, by) => {
        const counts = countOutcomes(given);
        const exact = adherence(counts, by);
        if (exact.kind !== 'value' || exact.adhered === true) return;
        expect(Math.abs(exact.value - adherenceAsRagas(counts, by))).toBeLessThan(1e-9);
      }),
    );
  });

  it('one more topic answered rightly never lowers a value; one more fault never raises it', () => {
    fc.assert(
      fc.property(topics, mode, (given, by) => {
        const before = adherence(countOutcomes(given), by);
        const better = adherence(countOutcomes([...given, ANSWERED]), by);
        const worse = [DRIFTED, TURNED_AWAY].map((fault) => adherence(countOutcomes([...given, fault]), by));
        if (before.kind !== 'value') return;
        const valueOf = (result: typeof before | typeof better): number =>
          result.kind === 'value' ? result.value : before.value;
        expect(valueOf(better)).toBeGreaterThanOrEqual(before.value);
        expect(Math.max(...worse.map(valueOf))).toBeLessThanOrEqual(before.value);
      }),
    );
  });

  it('f1 is the harmonic mean of precision and recall where both are above 0', () => {
    fc.assert(
      fc.property(topics, (given) => {
        const counts = countOutcomes(given);
        const [precision, recall, f1] = ADHERENCE_MODES.map((by) => adherence(counts, by));
        if (precision?.kind !== 'value' || recall?.kind !== 'value' || f1?.kind !== 'value') return;
        if (precision.value === 0 || recall.value === 0) return;
        const mean = (2 * precision.value * recall.value) / (precision.value + recall.value);
        expect(f1.value).toBeCloseTo(mean, 12);
      }),
    );
  });
});
