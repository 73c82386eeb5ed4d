import type { Disturbance, Health } from './plan.ts';

/** One of the two processes that are compared, and what goes on around it. */
export interface Side {
  readonly proxy: 'sidecar' | 'pipe';
  readonly judge?: Health;
  readonly collector?: Health;
  /** Its tap throws at every chunk of an answer. */
  readonly isTapBroken?: true;
  /** Where the sidecar's log goes; absent: it is read. */
  readonly logFile?: string;
  /** Conversations that wait for a judge before it is measured: more than are held. */
  readonly fill?: number;
  /** What goes on beside the measured streams. */
  readonly disturbance?: Disturbance;
}

/** A row of the table. */
export interface Comparison {
  readonly name: string;
  readonly disturbed: Side;
  readonly base: Side;
  /** The bare pipe's rows, and those that have no floor of 1: to compare with, not to be kept. */
  readonly isForComparison?: true;
  /** Two equal ones: a run that finds them unequal resolves nothing. */
  readonly isControl?: true;
}

const WELL: Side = { proxy: 'sidecar', disturbance: 'conversations' };
const FLOODED: Side = { proxy: 'sidecar', disturbance: 'flood' };
const FLOODED_PIPE: Side = { proxy: 'pipe', disturbance: 'flood' };

export const COMPARISONS: readonly Comparison[] = [
  { name: 'nothing: two equal sidecars', disturbed: WELL, base: WELL, isControl: true },
  { name: 'the judge never answers', disturbed: { ...WELL, judge: 'silent' }, base: WELL },
  { name: "the judge's answers have no end", disturbed: { ...WELL, judge: 'endless' }, base: WELL },
  { name: 'the store is full', disturbed: { ...WELL, judge: 'silent', fill: 1_100 }, base: WELL },
  { name: 'the collector never answers', disturbed: { ...WELL, collector: 'silent' }, base: WELL },
  { name: "the collector's answers have no end", disturbed: { ...WELL, collector: 'endless' }, base: WELL },
  {
    name: 'the disk is full',
    disturbed: { ...WELL, judge: 'garbage', logFile: '/dev/full' },
    // Its judge is as ill, so that both have as much to log.
    base: { ...WELL, judge: 'garbage' },
  },
  { name: 'the tee throws', disturbed: { ...WELL, isTapBroken: true, logFile: '/dev/null' }, base: WELL },
  {
    name: 'exchanges made to break their reader',
    disturbed: { ...WELL, disturbance: 'poison' },
    base: WELL,
    isForComparison: true,
  },
  { name: '100 MB/s of events: sidecar / bare pipe', disturbed: FLOODED, base: FLOODED_PIPE },
  {
    name: '100 MB/s of events: sidecar / without',
    disturbed: FLOODED,
    base: { proxy: 'sidecar' },
    isForComparison: true,
  },
  {
    name: '100 MB/s of events: bare pipe / without',
    disturbed: FLOODED_PIPE,
    base: { proxy: 'pipe' },
    isForComparison: true,
  },
];
