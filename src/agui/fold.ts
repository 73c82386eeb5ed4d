import type { Message } from '../conversation/message.ts';
import { type JsonValue, parseJson } from '../lib/json.ts';
import { JSON_PIECE_CHARACTERS, parsingJson } from '../lib/parse-json.ts';
import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import type { StreamEvent } from './events.ts';
import type { Ending } from './exchange.ts';
import { createChunkExpander } from './expand-chunks.ts';
import type { FindingCode } from './findings.ts';
import { endingFold, type FoldEnd } from './fold-end.ts';
import { applyAll, type Expanded } from './fold-event.ts';
import { ensureRun } from './fold-runs.ts';
import { createFoldState, currentRun, type FoldStart, type FoldState, isLate, note } from './fold-state.ts';
import { append, fromWire } from './held-messages.ts';
import { materialising } from './materialise.ts';
import { readEvent } from './read-event.ts';
import type { StreamEnd } from './run-log.ts';

/** One exchange's stream, folded. */
export interface Folded extends FoldEnd {
  /** The request's messages as they were before the first event. */
  readonly input: readonly Message[];
  readonly eventCounts: Readonly<Record<string, number>>;
  readonly firstEventAt?: number;
  readonly firstContentAt?: number;
}

/** False for a stream of something else, such as a chat completion: it has none of AG-UI's types. */
export const holdsEvents = (folded: Folded): boolean =>
  folded.runs.length > 0 || Object.keys(folded.eventCounts).some((type) => type !== 'other');

/** Folds a stream of events into messages and runs. Never throws; what it repairs it notes as findings. */
export interface Fold {
  /**
   * Takes the next event. What is left to do of a large one is returned, in steps: they are to be done before anything else
   * is taken.
   */
  pushing(event: JsonValue, arrival?: EventArrival): Steps<void> | undefined;
  /** The same for an event as JSON. Text that is none counts as a position and is noted. */
  pushingText(text: string, arrival?: EventArrival): Steps<void> | undefined;
  /** Counts a position of the stream that holds no event, and notes why. */
  skip(code: FindingCode, id: string): void;
  /** Notes something about the stream, at the position of the event to come. */
  note(code: FindingCode, id: string): void;
  /** To be called once, after the last event. In steps of {@link ITEMS_PER_STEP} items at most. */
  finishing(end: StreamEnd): Steps<Folded>;
  /** What was looked at so far, in items: an event is one, and so is each message that it concerns as a whole. */
  work(): number;
}

export interface EventArrival {
  readonly sseName?: string;
  /** Epoch milliseconds. */
  readonly arrivedAt?: number;
}

const NOTHING_KNOWN: FoldStart = { threadId: '', runId: '', messages: [], interrupts: [] };

/** Makes a fold in steps of {@link ITEMS_PER_STEP} items at most: a request may bring a long history. */
export function* openFold(start: FoldStart = NOTHING_KNOWN): Steps<Fold> {
  const state = createFoldState(start);
  for (const [index, wire] of start.messages.entries()) {
    if (index % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
    append(state.held, fromWire(state.held, wire, true));
  }
  const input = yield* materialising(state.held);

  const counts = new Map<string, number>();
  /** What the event at hand comes to. */
  let expanded: Expanded[] = [];
  const expander = createChunkExpander(
    (event) => expanded.push(event),
    (id) => expanded.push({ kind: 'chunk_fault', id }),
  );
  let firstEventAt: number | undefined;
  let firstContentAt: number | undefined;
  let next = 0;

  const begin = (): void => {
    state.at = next;
    next += 1;
    state.work += 1;
  };

  const pushing: Fold['pushing'] = (value, { sseName, arrivedAt } = {}) => {
    if (state.isExhausted) return undefined;
    begin();
    state.arrivedAt = arrivedAt;
    const origin = sseName === undefined ? { at: state.at } : { at: state.at, sseName };
    const { event, countedAs } = readEvent(value, origin, (code, id) => note(state, code, id));
    counts.set(countedAs, (counts.get(countedAs) ?? 0) + 1);
    firstEventAt ??= arrivedAt;
    if (isContent(event)) firstContentAt ??= arrivedAt;
    if (event.kind === 'ignored' && countedAs === 'other') return undefined;
    if (isLate(state) && !mayFollowTheEnd(event, currentRun(state)?.ending)) {
      note(state, 'event_after_end', countedAs);
    }
    if (event.kind !== 'run_started') ensureRun(state, event.kind !== 'run_error');
    expanded = [];
    expander.push(event, state.at);
    return applyAll(state, expanded);
  };

  const skip: Fold['skip'] = (code, id) => {
    if (state.isExhausted) return;
    begin();
    note(state, code, id);
  };
  const pushParsed = (value: JsonValue | undefined, text: string, arrival?: EventArrival): Steps<void> | undefined => {
    if (value !== undefined) return pushing(value, arrival);
    skip('malformed_json', text.trim() === DONE ? DONE : '');
    return undefined;
  };

  return {
    pushing,
    pushingText: (text, arrival) =>
      text.length > JSON_PIECE_CHARACTERS
        ? parsed(text, (value) => pushParsed(value, text, arrival))
        : pushParsed(parseJson(text), text, arrival),
    skip,
    note: (code, id) => {
      state.at = next;
      note(state, code, id);
    },
    finishing: (end) => {
      state.at = next;
      const noted = {
        input,
        eventCounts: Object.fromEntries(counts),
        ...(firstEventAt === undefined ? {} : { firstEventAt }),
        ...(firstContentAt === undefined ? {} : { firstContentAt }),
      };
      return finishFold(state, noted, end);
    },
    work: () => state.work,
  };
}

/** What OpenAI-style servers send after the last event. It is no event, and AG-UI clients refuse it. */
const DONE = '[DONE]';

/** Parses a long text, then does what is left to do of its value. */
function* parsed(text: string, push: (value: JsonValue | undefined) => Steps<void> | undefined): Steps<void> {
  const value = yield* parsingJson(text);
  // A text that is too long for one step holds what is, too.
  yield;
  const rest = push(value);
  if (rest) yield* rest;
}

/**
 * Not inside of {@link openFold}: a generator function that is made anew for each fold brings a hidden class of its own, and
 * with it V8 keeps all that the fold refers to until its next full collection.
 */
function* finishFold(state: FoldState, noted: Omit<Folded, keyof FoldEnd>, end: StreamEnd): Steps<Folded> {
  return { ...(yield* endingFold(state, end)), ...noted };
}

/** After RUN_FINISHED a failure may still be reported, and after any end a new run may begin. */
const mayFollowTheEnd = (event: StreamEvent, ending: Ending | undefined): boolean =>
  event.kind === 'run_started' || (event.kind === 'run_error' && ending !== 'run_error');

function isContent(event: StreamEvent): boolean {
  switch (event.kind) {
    case 'text_content':
    case 'text_chunk':
      return event.delta !== undefined && event.delta !== '';
    case 'reasoning':
      return event.hasContent;
    case 'reasoning_chunk':
    case 'call_start':
    case 'call_chunk':
    case 'call_result':
      return true;
    default:
      return false;
  }
}
