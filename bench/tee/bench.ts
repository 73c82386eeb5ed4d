import { openFold } from '../../src/agui/fold.ts';
import { createSseDecoder } from '../../src/agui/decode-sse.ts';
import { readCapture } from '../../src/agui/read-capture.ts';
import { readEvent } from '../../src/agui/read-event.ts';
import { parseJson } from '../../src/lib/json.ts';
import type { JsonValue } from '../../src/lib/json.ts';
import { atOnce } from '../../src/lib/steps.ts';
import { createTapPool } from '../../src/proxy/tap.ts';
import { captureOf, NO_BOUNDS, type RecordedRun } from '../capture.ts';
import { cpuUsOf } from '../cpu-time.ts';
import type { Found } from '../found.ts';
import { headline } from '../headline.ts';
import type { BenchOptions } from '../options.ts';
import { spreadOf } from '../statistics.ts';
import { markdownTable, withSpread } from '../table.ts';
import { typicalRun } from './stream.ts';

const STREAMS = 20;
/** Repetitions that are not counted: the code is still being compiled. */
const WARM_UP = 8;

/**
 * What each step of the tee costs per event, alone in a hot loop. The steps take turns, so that a busy moment of the machine
 * falls on all of them.
 */
export async function benchTee({ quick }: BenchOptions): Promise<Found> {
  const streams = Array.from({ length: STREAMS }, (_, number) => typicalRun(number));
  const events = streams.reduce((sum, stream) => sum + stream.chunks.length, 0);
  const steps = stepsOver(streams);
  const us = new Map<Step, number[]>(Object.keys(steps).map((step) => [step as Step, []]));
  const repetitions = quick ? 5 : 60;
  for (let repetition = -WARM_UP; repetition < repetitions; repetition += 1) {
    for (const [step, values] of us) {
      const spent = await cpuUsOf(steps[step]);
      if (repetition >= 0) values.push(spent / events);
    }
  }
  const of = (step: Step): readonly number[] => us.get(step) ?? [];
  const rows: readonly (readonly [string, readonly number[]])[] = [
    ['copy, with times of arrival', of('copy')],
    ['server-sent events from bytes', of('decode')],
    ['JSON.parse', of('parse')],
    ['events from JSON', of('read')],
    ['fold into messages and runs', minus(of('fold'), of('read'))],
    ['all of it, as one arrival (`readCapture`)', of('whole')],
    ['all of it, one arrival an event (`readCapture`)', of('paced')],
  ];
  const whole = spreadOf(of('paced')).median;
  const text = [
    headline('tee'),
    `${repetitions} repetitions of ${STREAMS} streams, ${events} events together, in one process; CPU time, garbage collection included.`,
    markdownTable(
      ['step', 'µs per event', 'share'],
      rows.map(([title, values]) => {
        const spread = spreadOf(values);
        return [
          title,
          withSpread(spread, (value) => value.toFixed(2)),
          `${Math.round((spread.median / whole) * 100)} %`,
        ];
      }),
    ),
  ].join('\n\n');
  return { text, faults: [] };
}

type Step = 'copy' | 'decode' | 'parse' | 'read' | 'fold' | 'whole' | 'paced';

/** Each step does its work alone, over what the steps before it made of the streams. */
function stepsOver(streams: readonly RecordedRun[]): Readonly<Record<Step, () => unknown>> {
  const openTap = createTapPool({
    maxExchangeBytes: NO_BOUNDS.maxDecodedBytes,
    maxTotalBytes: NO_BOUNDS.maxDecodedBytes,
  });
  const texts = streams.map(textsOf);
  const values = texts.map((each) => each.map((text) => parseJson(text) ?? null));
  const whole = streams.map((stream) => captureOf(stream, 0));
  const paced = streams.map((stream) => captureOf(stream, 10));
  return {
    copy() {
      for (const { chunks } of streams) {
        const tap = openTap();
        for (const [at, chunk] of chunks.entries()) tap.response(chunk, 0, chunk.length, at * 10);
        tap.release();
      }
    },
    decode: () => streams.map((stream) => textsOf(stream).length),
    parse() {
      for (const each of texts) for (const text of each) parseJson(text);
    },
    read() {
      for (const each of values) for (const [at, value] of each.entries()) readEvent(value, { at }, () => {});
    },
    fold: () => values.map(folded),
    async whole() {
      for (const capture of whole) await readCapture(capture, NO_BOUNDS);
    },
    async paced() {
      for (const capture of paced) await readCapture(capture, NO_BOUNDS);
    },
  };
}

function textsOf({ chunks }: RecordedRun): string[] {
  const texts: string[] = [];
  const decoder = createSseDecoder({
    maxEventLength: NO_BOUNDS.maxEventBytes,
    onEvent: ({ data }) => void texts.push(data),
    onCarriageReturn: () => {},
    onTooLarge: () => {},
  });
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return texts;
}

function folded(values: readonly JsonValue[]): unknown {
  const fold = atOnce(openFold());
  for (const [at, value] of values.entries()) {
    const rest = fold.pushing(value, { arrivedAt: at * 10 });
    if (rest) atOnce(rest);
  }
  return atOnce(fold.finishing('complete'));
}

const minus = (ones: readonly number[], others: readonly number[]): readonly number[] =>
  ones.map((one, at) => one - (others[at] ?? NaN));
