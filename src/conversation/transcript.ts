import { createHash } from 'node:crypto';
import { cutMiddle, leaveOutMiddle } from './cut.ts';
import { isUnparsed, type Attachment, type Message, type ToolCall } from './message.ts';

/** Bounds of a transcript, in UTF-16 code units. What goes over is cut where it shows. */
interface TranscriptLimits {
  /**
   * All turns together, the closing line aside. At least 10 000, or the headings of two turns may not fit. Default
   * 120 000, about 30 000 tokens of English.
   */
  readonly maxCharacters: number;
  /** One piece of content: a text, an error, the arguments of a call. Default 24 000. */
  readonly maxPieceCharacters: number;
}

const DEFAULT_LIMITS: TranscriptLimits = { maxCharacters: 120_000, maxPieceCharacters: 24_000 };

/** What a turn leaves for the line that tells of turns left out. */
const SHARE_OF_NOTE = 80;

/** Pieces of a turn that is too long are cut down to this many characters before any of them is left out. */
const LEAST_PIECE_CHARACTERS = 90;

/** A conversation as a judge reads it. */
export interface Transcript {
  readonly text: string;
  /** The nonce that every structural line of `text` starts with, and that no content contains. */
  readonly mark: string;
  /** Something was cut; the place is marked in `text`. */
  readonly truncated: boolean;
  /** What each user turn that is shown says, by its number, exactly as `text` has it. */
  readonly userTurns: ReadonlyMap<number, string>;
}

/**
 * Renders messages as numbered turns. Structure stands on lines of its own that start with a mark; the mark is a hash of
 * the content, so text can neither contain it nor guess it, and the same conversation always renders the same. Message
 * and call ids are random, so calls are named by turn and place (`call 4.1`) instead.
 */
export function renderTranscript(messages: readonly Message[], limits: Partial<TranscriptLimits> = {}): Transcript {
  const { maxCharacters, maxPieceCharacters } = { ...DEFAULT_LIMITS, ...limits };
  const turns = describeTurns(messages);
  const mark = chooseMark(canonicalText(turns));
  const whole = turns.map((turn) => renderTurn(turn, mark, maxPieceCharacters));
  const fits = whole.reduce((sum, { text }) => sum + text.length, 0) <= maxCharacters;
  // No turn takes more than the first, the last and the middle would have each.
  const share = Math.floor(maxCharacters / Math.min(turns.length, 3)) - SHARE_OF_NOTE;
  const shown = fits ? whole : turns.map((turn) => fitTurn(turn, mark, maxPieceCharacters, share));
  const { text, gap } = leaveOutMiddle(
    shown.map((turn) => turn.text),
    maxCharacters,
    (from, to, characters) => `${mark} [cut: turns ${from + 1} to ${to} are left out here, ${characters} characters]\n`,
  );
  const isShown = (index: number): boolean => gap === undefined || index < gap[0] || index >= gap[1];
  return {
    text: `${text}${mark} [end of the record]`,
    mark,
    truncated: gap !== undefined || shown.some(({ cut }) => cut),
    userTurns: new Map(
      turns.flatMap(({ number, role }, index) =>
        role === 'user' && isShown(index) ? [[number, shown[index]?.body ?? ''] as const] : [],
      ),
    ),
  };
}

/**
 * The first 16 hex digits of the content's hash, taken again with a counter for as long as the content contains them.
 * `digest` is a parameter for tests: nobody can write a text that holds its own SHA-256.
 */
export function chooseMark(content: string, digest: (text: string) => string = sha256): string {
  const lower = content.toLowerCase();
  for (let counter = 0; ; counter++) {
    const mark = digest(counter === 0 ? content : `${content}\n${counter}`).slice(0, 16);
    if (!lower.includes(mark)) return mark;
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** One line of structure with the content that belongs under it. */
interface Piece {
  /** Undefined for the turn's own text, the first piece of each turn, which stands directly under its header. */
  readonly heading?: string;
  readonly content: string;
}

interface Turn {
  readonly number: number;
  readonly role: Message['role'];
  /** What stands in the header beside number and role. */
  readonly notes: readonly string[];
  readonly pieces: readonly Piece[];
}

function describeTurns(messages: readonly Message[]): readonly Turn[] {
  const calls = new Map<string, { readonly label: string; readonly name: string }>();
  return messages.map((message, index): Turn => {
    const number = index + 1;
    const turn = { number, role: message.role };
    const subagent = message.subagent === undefined ? [] : [`by sub-agent ${oneLine(message.subagent)}`];
    switch (message.role) {
      case 'assistant': {
        const requested = message.toolCalls.map((call, place): Piece => {
          const label = `${number}.${place + 1}`;
          calls.set(call.id, { label, name: call.name });
          return callPiece(label, call);
        });
        const notes = message.partial === true ? [...subagent, 'broke off before its end'] : subagent;
        return { ...turn, notes, pieces: [{ content: message.text }, ...requested] };
      }
      case 'tool': {
        const call = calls.get(message.toolCallId);
        const origin =
          call === undefined ? 'result of an unknown call' : `result of call ${call.label}, ${oneLine(call.name)}`;
        const pieces: Piece[] = [{ content: message.text }];
        if (message.error !== undefined)
          pieces.push({ heading: 'the call failed with this error:', content: message.error });
        const notes = [...subagent, origin, ...(message.error === undefined ? [] : ['FAILED'])];
        return { ...turn, notes, pieces: [...pieces, ...attachmentPieces(message.attachments)] };
      }
      default:
        return {
          ...turn,
          notes: subagent,
          pieces: [{ content: message.text }, ...attachmentPieces(message.attachments)],
        };
    }
  });
}

function callPiece(label: string, call: ToolCall): Piece {
  const state = {
    open: ', broke off before its arguments ended',
    complete: ', no result was seen',
    answered: '',
  }[call.state];
  const content = isUnparsed(call.args) ? call.args.unparsed : JSON.stringify(call.args);
  return { heading: `call ${label}, ${oneLine(call.name)}${state}, with arguments:`, content };
}

function attachmentPieces(attachments: readonly Attachment[] = []): readonly Piece[] {
  return attachments.map(({ type, mimeType, bytes }) => ({
    heading: `attachment, not shown: ${[
      oneLine(type),
      ...(mimeType === undefined ? [] : [oneLine(mimeType)]),
      ...(bytes === undefined ? [] : [`${bytes} bytes`]),
    ].join(', ')}`,
    content: '',
  }));
}

/** Names come from the agent too: one that is not a plain word is quoted, so that it stays on its line. */
function oneLine(name: string): string {
  return /^[\w.:/+-]{1,80}$/.test(name) ? name : JSON.stringify(name.slice(0, 80));
}

/** Every string of the conversation that is rendered, in one text that does not depend on the mark. */
function canonicalText(turns: readonly Turn[]): string {
  return JSON.stringify(turns) + turns.flatMap(({ pieces }) => pieces.map(({ content }) => content)).join('\n');
}

interface RenderedTurn {
  readonly text: string;
  /** The turn's own text as shown. */
  readonly body: string;
  readonly cut: boolean;
}

function renderTurn(turn: Turn, mark: string, maxPieceCharacters: number): RenderedTurn {
  const { blocks, ...rendered } = renderPieces(turn, mark, maxPieceCharacters);
  return { ...rendered, text: blocks.join('') };
}

/** A turn in at most `maxCharacters`: its pieces are cut shorter, and when they are too many some are left out. */
function fitTurn(turn: Turn, mark: string, maxPieceCharacters: number, maxCharacters: number): RenderedTurn {
  for (let most = maxPieceCharacters; ; most = Math.floor(most / 2)) {
    const { blocks, body, cut } = renderPieces(turn, mark, most);
    const length = blocks.reduce((sum, block) => sum + block.length, 0);
    if (length > maxCharacters && most > LEAST_PIECE_CHARACTERS) continue;
    const { text, gap } = leaveOutMiddle(
      blocks,
      maxCharacters,
      (from, to, characters) =>
        `${mark} [cut: ${to - from} parts of this turn are left out here, ${characters} characters]\n`,
    );
    return { text, body, cut: cut || gap !== undefined };
  }
}

/** One block for each piece, the first with the turn's header. */
function renderPieces(
  { number, role, notes, pieces }: Turn,
  mark: string,
  maxPieceCharacters: number,
): { readonly blocks: readonly string[]; readonly body: string; readonly cut: boolean } {
  const header = `${mark} turn ${number}, ${[role, ...notes].join(', ')}\n`;
  const shown = pieces.map(({ content }) => cutMiddle(content, mark, maxPieceCharacters));
  const blocks = pieces.map(({ heading }, index) => {
    const content = shown[index] ?? '';
    const opening = heading === undefined ? header : `${mark} ${heading}\n`;
    return `${opening}${content === '' ? '' : `${content}\n`}`;
  });
  return { blocks, body: shown[0] ?? '', cut: pieces.some(({ content }, index) => content !== shown[index]) };
}
