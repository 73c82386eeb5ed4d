import type { Spread } from '../statistics.ts';

/** What the ratio may be at most. */
export const TARGET_RATIO = 1.25;

/** One ratio that is held to the target. */
export interface Judged {
  readonly name: string;
  readonly ratio: Spread;
  /** The core was the contenders' own for as long as it takes. */
  readonly isClean: boolean;
}

export interface Verdict {
  readonly kept: readonly string[];
  readonly missed: readonly string[];
  /** The interval holds the target, or other processes were in the way: it is not known. */
  readonly unresolved: readonly string[];
}

/**
 * Kept or missed is only what lies on one side of the target with its whole interval, and only in a run that tells two equal
 * sidecars to be equal: what differs between two processes of one code is in no interval.
 *
 * @param control the two equal ones; absent: they were not measured.
 */
export function verdictOf(rows: readonly Judged[], control: Judged | undefined): Verdict {
  const isTrusted = control !== undefined && control.isClean && isNearOne(control.ratio);
  const outcomes = rows.map(({ name, ratio, isClean }) => ({
    name,
    outcome: isTrusted && isClean ? sideOf(ratio) : 'unresolved',
  }));
  const named = (wanted: keyof Verdict): string[] =>
    outcomes.filter(({ outcome }) => outcome === wanted).map(({ name }) => name);
  return { kept: named('kept'), missed: named('missed'), unresolved: named('unresolved') };
}

const isNearOne = ({ low, high }: Spread): boolean => low >= 1 / TARGET_RATIO && high <= TARGET_RATIO;

function sideOf({ low, high }: Spread): keyof Verdict {
  if (high <= TARGET_RATIO) return 'kept';
  return low > TARGET_RATIO ? 'missed' : 'unresolved';
}

export function verdictText({ kept, missed, unresolved }: Verdict): string {
  const said = [
    ['Within', kept],
    ['Above', missed],
    ['Not resolved against', unresolved],
  ] as const;
  return said
    .filter(([, names]) => names.length > 0)
    .map(([words, names]) => `${words} ${TARGET_RATIO}: ${names.join('; ')}.`)
    .join(' ');
}
