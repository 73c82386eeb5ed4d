import { createHash } from 'node:crypto';
import type { Attachment, Message, ToolCall } from './message.ts';

/**
 * Changes whenever the rendering does: a transcript is part of what a score rests on, so this is part of every
 * evaluator's version.
 */
export const TRANSCRIPT_FORMAT = 1;

/** Bounds of a transcript, in UTF-16 code units of message content. What goes over is cut where it shows. */
export interface TranscriptLimits {
  /** All turns together. Default 120 000, about 30 000 tokens of English. */
  readonly maxCharacters: number;
  /** One piece of content: a text, an error, the arguments of a call. Default 24 000. */
  readonly maxPieceCharacters: number;
}

const DEFAULT_LIMITS: TranscriptLimits = { maxCharacters: 120_000, maxPieceCharacters: 24_000 };

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
  const shown = turns.map((turn) => renderTurn(turn, mark, maxPieceCharacters));
  const gap = middleToLeaveOut(
    shown.map(({ text }) => text.length),
    maxCharacters,
  );
  const blocks = shown.map(({ text }) => text);
  if (gap !== undefined) {
    const [from, to] = gap;
    const characters = shown.slice(from, to).reduce((sum, { text }) => sum + text.length, 0);
    blocks.splice(
      from,
      to - from,
      `${mark} [cut: turns ${from + 1} to ${to} are left out here, ${characters} characters]\n`,
    );
  }
  const isShown = (index: number): boolean => gap === undefined || index < gap[0] || index >= gap[1];
  return {
    text: `${blocks.join('')}${mark} [end of the record]`,
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
  /** Undefined for the turn's own text, which stands directly under its header. */
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
  const args =
    'unparsed' in call.args && typeof call.args['unparsed'] === 'string'
      ? call.args['unparsed']
      : JSON.stringify(call.args);
  return { heading: `call ${label}, ${oneLine(call.name)}${state}, with arguments:`, content: args };
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

function renderTurn({ number, role, notes, pieces }: Turn, mark: string, maxPieceCharacters: number): RenderedTurn {
  const header = `${mark} turn ${number}, ${[role, ...notes].join(', ')}\n`;
  const shown = pieces.map(({ content }) => cutMiddle(content, mark, maxPieceCharacters));
  const lines = pieces.map(({ heading }, index) => {
    const content = shown[index] ?? '';
    return `${heading === undefined ? '' : `${mark} ${heading}\n`}${content === '' ? '' : `${content}\n`}`;
  });
  return {
    text: header + lines.join(''),
    body: shown[0] ?? '',
    cut: pieces.some(({ content }, index) => content !== shown[index]),
  };
}

/** Keeps two thirds from the head and a third from the tail, since an outcome tends to stand at either end. */
function cutMiddle(content: string, mark: string, maxCharacters: number): string {
  if (content.length <= maxCharacters) return content;
  const head = wholeCharacters(content.slice(0, Math.ceil((maxCharacters * 2) / 3)));
  const tail = content.slice(content.length - Math.floor(maxCharacters / 3)).replace(/^[\uDC00-\uDFFF]/, '');
  const left = content.length - head.length - tail.length;
  return `${head}\n${mark} [cut: ${left} characters are left out here]\n${tail}`;
}

/** Drops half a surrogate pair at the end. */
const wholeCharacters = (text: string): string => text.replace(/[\uD800-\uDBFF]$/, '');

/**
 * Which turns to leave out, as a half-open range of indices, so that the rest fits. Turns are taken from the head and
 * from the tail in turn, and the first and the last always stay.
 */
function middleToLeaveOut(lengths: readonly number[], maxCharacters: number): readonly [number, number] | undefined {
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (total <= maxCharacters || lengths.length <= 2) return undefined;
  let [head, tail] = [1, lengths.length - 1];
  let used = (lengths[0] ?? 0) + (lengths[tail] ?? 0);
  for (let fromHead = false; head < tail; fromHead = !fromHead) {
    const next = lengths[fromHead ? head : tail - 1] ?? 0;
    if (used + next > maxCharacters) break;
    used += next;
    if (fromHead) head++;
    else tail--;
  }
  return head < tail ? [head, tail] : undefined;
}
