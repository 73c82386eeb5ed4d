import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cohenKappa, measureAgreement, recognised, type LabelPair } from '../../src/statistics/agreement.ts';

/** Pairs from a table of counts: rows are labels, columns judgements. */
const pairsOf = (table: readonly (readonly number[])[]): LabelPair[] =>
  table.flatMap((row, labelled) =>
    row.flatMap((count, judged) =>
      Array.from({ length: count }, () => ({ labelled: `${labelled}`, judged: `${judged}` })),
    ),
  );

describe("Cohen's κ", () => {
  it('of the three-way table that Fleiss, Cohen and Everitt (1969) work through is 0.429 with a standard error of 0.0537', () => {
    const { value, interval } = cohenKappa(
      pairsOf([
        [106, 10, 4],
        [22, 28, 10],
        [2, 12, 6],
      ]),
    );
    expect(value).toBeCloseTo(0.4286, 4);
    expect(((interval?.[1] ?? 0) - (value ?? 0)) / 1.959964).toBeCloseTo(0.053711, 5);
  });

  it('of two raters who agree on 35 of 50 with marginals of one half and 0.6 is 0.4', () => {
    const { value, interval } = cohenKappa(
      pairsOf([
        [20, 5],
        [10, 15],
      ]),
    );
    expect(value).toBeCloseTo(0.4, 12);
    expect(interval?.[0]).toBeCloseTo(0.4 - 1.959964 * 0.126996, 4);
  });

  it('is 1 for full agreement and 0 for what chance gives', () => {
    expect(
      cohenKappa(
        pairsOf([
          [5, 0],
          [0, 5],
        ]),
      ).value,
    ).toBe(1);
    expect(
      cohenKappa(
        pairsOf([
          [4, 4],
          [4, 4],
        ]),
      ).value,
    ).toBe(0);
  });

  it('is not certain after full agreement: the interval narrows with the number of items', () => {
    const [few, many] = [
      cohenKappa(
        pairsOf([
          [4, 0],
          [0, 4],
        ]),
      ),
      cohenKappa(
        pairsOf([
          [40, 0],
          [0, 40],
        ]),
      ),
    ];
    // Wilson's lower bound for 8 of 8 is 0.6756; chance agreement is 0.5.
    expect(few.interval?.[0]).toBeCloseTo((0.6756 - 0.5) / 0.5, 3);
    expect(few.interval?.[1]).toBe(1);
    expect(many.interval?.[0]).toBeGreaterThan(few.interval?.[0] ?? 1);
  });

  it.each([
    [
      'the judge gives one label throughout',
      [
        [0, 4],
        [0, 9],
      ],
      0,
    ],
    [
      'only one label was given to compare with',
      [
        [5, 2],
        [0, 0],
      ],
      0,
    ],
    [
      'each side gives one label, and not the same',
      [
        [0, 4],
        [0, 0],
      ],
      0,
    ],
    [
      'one of three labels is all that a judge gives',
      [
        [0, 0, 3],
        [0, 0, 4],
        [0, 0, 9],
      ],
      0,
    ],
    [
      'both disagree throughout',
      [
        [0, 5],
        [5, 0],
      ],
      -1,
    ],
  ])('has no interval where its variance says nothing: %s', (_, table, value) => {
    expect(cohenKappa(pairsOf(table))).toEqual({ value, interval: null });
  });

  it('never has an interval without width', () => {
    const label = fc.constantFrom('0', '1', 'not_applicable');
    fc.assert(
      fc.property(fc.array(fc.record({ labelled: label, judged: label }), { maxLength: 40 }), (pairs) => {
        const { interval } = cohenKappa(pairs);
        expect(interval === null || interval[1] - interval[0] > 1e-3).toBe(true);
      }),
    );
  });

  it('is not defined without items or when nobody ever differs from one label', () => {
    expect(cohenKappa([])).toEqual({ value: null, interval: null });
    expect(cohenKappa(pairsOf([[7]]))).toEqual({ value: null, interval: null });
  });
});

describe('agreement', () => {
  const pairs = pairsOf([
    [8, 2],
    [1, 4],
  ]);

  it('sets accuracy beside what the most frequent label alone would reach', () => {
    expect(measureAgreement(pairs)).toMatchObject({ accuracy: { hits: 12, n: 15, share: 0.8 }, baseRate: 10 / 15 });
  });

  it('counts sensitivity and specificity over what is labelled so', () => {
    expect(recognised(pairs, '0')).toMatchObject({ hits: 8, n: 10 });
    expect(recognised(pairs, '1')).toMatchObject({ hits: 4, n: 5 });
  });
});
