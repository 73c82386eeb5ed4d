import type { ToolCall } from '../conversation/message.ts';
import { JSON_PIECE_CHARACTERS } from '../lib/parse-json.ts';
import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import type { HeldMessage } from './held-message.ts';
import { appendPiece } from './pieces.ts';
import { parseToolArguments, parsingToolArguments } from './tool-arguments.ts';

/**
 * A tool call while its exchange is being read. `open`: arguments may follow. `ended`: TOOL_CALL_END was seen, or the
 * call came whole. `implied`: the run finished without it. `cut`: the stream or the run broke off first.
 */
export interface HeldCall {
  readonly id: string;
  /** Absent while nothing has named it. */
  name: string | undefined;
  /** The assistant message it stands on. */
  owner: HeldMessage;
  phase: 'open' | 'ended' | 'implied' | 'cut';
  /** Number of the run whose TOOL_CALL_START announced it; absent when it is known from elsewhere. */
  announcedIn?: number;
  /** It was announced again in a later run: the next arguments begin anew. */
  restarts: boolean;
  /** The arguments stand in full: what is sent after them is dropped. */
  settled: boolean;
  /** Length of the arguments when the call was announced a second time while they were being sent. */
  announcedAgainAt?: number;
  /** How often its own run announced it again. */
  repeats: number;
  /** Made up for a result or for arguments, as long as nobody has announced it. */
  madeUp: boolean;
  /** Index of the result that it was made up for. */
  orphanAt?: number;
  chunked: boolean;
  /** Arguments as text, in pieces. */
  argumentTexts: string[];
  /** Arguments that are known without their text, from an interrupt. */
  knownArguments?: ToolCall['args'];
  parsed?: ToolCall['args'];
  /** Index of the event that ended or last changed the arguments; absent when only the request had them. */
  changedAt?: number;
  /** Epoch milliseconds, as are the next two. */
  startedAt?: number;
  endedAt?: number;
  answeredAt?: number;
}

export const newCall = (parts: Pick<HeldCall, 'id' | 'name' | 'owner' | 'phase'> & Partial<HeldCall>): HeldCall => ({
  restarts: false,
  settled: false,
  repeats: 0,
  madeUp: false,
  chunked: false,
  argumentTexts: [],
  ...parts,
});

/** How far a call came. The one place where that is decided, for the messages and for what is counted. */
export function callState({ phase }: HeldCall, isAnswered: boolean): ToolCall['state'] {
  if (isAnswered) return 'answered';
  return phase === 'open' || phase === 'cut' ? 'open' : 'complete';
}

/** Joins the pieces once, however often it is asked. */
export function argumentText(call: HeldCall): string {
  if (call.argumentTexts.length > 1) call.argumentTexts = [call.argumentTexts.join('')];
  return call.argumentTexts[0] ?? '';
}

export function setArguments(call: HeldCall, text: string): void {
  call.argumentTexts = text === '' ? [] : [text];
  delete call.parsed;
}

export function appendArguments(call: HeldCall, delta: string): void {
  appendPiece(call.argumentTexts, delta);
  delete call.parsed;
}

export function parsedArguments(call: HeldCall): ToolCall['args'] {
  if (call.argumentTexts.length === 0 && call.knownArguments) return call.knownArguments;
  call.parsed ??= parseToolArguments(argumentText(call));
  return call.parsed;
}

/** The arguments have yet to be parsed, and are so long that this takes more than one step. */
export function isLongUnread(call: HeldCall): boolean {
  return call.parsed === undefined && charactersOf(call) > JSON_PIECE_CHARACTERS;
}

/** What it costs to parse the arguments, in items such as messages. */
export function workOfArguments(call: HeldCall): number {
  return call.parsed === undefined ? 1 + Math.floor((charactersOf(call) * ITEMS_PER_STEP) / JSON_PIECE_CHARACTERS) : 1;
}

const charactersOf = ({ argumentTexts }: HeldCall): number =>
  argumentTexts.reduce((sum, { length }) => sum + length, 0);

/** Parses the arguments, as {@link parsedArguments} would, in steps. */
export function* readingArguments(call: HeldCall): Steps<void> {
  call.parsed = yield* parsingToolArguments(argumentText(call));
}

/** Announcements of a call beyond this many are not compared any more: each would cost as much as the arguments are long. */
export const MAX_REPEATS = 16;

/**
 * Ends the arguments, in steps. Whole ones are settled. Arguments that were sent twice, because the call was announced twice,
 * are cut back to the first; the result says so.
 */
export function* settlingArguments(call: HeldCall): Steps<'as_sent' | 'cut_back'> {
  call.restarts = false;
  if (call.repeats > MAX_REPEATS) return 'as_sent';
  const firstLength = call.announcedAgainAt;
  delete call.announcedAgainAt;
  if (isLongUnread(call)) yield* readingArguments(call);
  const text = argumentText(call);
  call.settled = text !== '' && !isUnparsed(call);
  if (call.settled || firstLength === undefined || firstLength === 0 || firstLength === text.length) return 'as_sent';

  const { parsed } = call;
  setArguments(call, text.slice(0, firstLength));
  if (isLongUnread(call)) yield* readingArguments(call);
  call.settled = !isUnparsed(call);
  if (call.settled) return 'cut_back';
  setArguments(call, text);
  // Known already, and as costly as the arguments are long.
  if (parsed) call.parsed = parsed;
  return 'as_sent';
}

/** The arguments' text is not a JSON object. */
export function isUnparsed(call: HeldCall): boolean {
  const args = parsedArguments(call);
  return Object.keys(args).length === 1 && args.unparsed !== undefined && args.unparsed === argumentText(call);
}
