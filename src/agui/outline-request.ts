import { JSON_CODE } from '../lib/json.ts';
import { endOfString } from '../lib/parse-json.ts';

/** What of a request is looked into, in both ways that clients write it. */
const LOOKED_INTO = new Set(['"body"', '"forwardedProps"', '"forwarded_props"', '"command"']);

/** What is kept or left out piece by piece costs time that streams wait for, and few requests have more pieces than these. */
const MOST_PIECES = 1_000;

/**
 * The JSON of a request without what its head does not depend on: an object that is none of its own, nor of its envelope,
 * is empty, and of each list there is at most one item, a 0. To parse that costs little, however long the messages and the
 * state are. What is left out is not looked at either, so it may be no JSON. Empty for a request of too many members to look into.
 */
export function outlineRequest(text: string): string {
  const pieces: string[] = [];
  /** Where the text that is kept begins. */
  let from = 0;
  let depth = 0;
  /** The depth of the list or object that is being left out. */
  let leftOut: number | undefined;
  let lastString = '';
  let pieceCount = 0;
  const leaveOut = (end: number, shown: string): void => {
    pieceCount += 1;
    pieces.push(text.slice(from, end), shown);
    leftOut = depth;
  };
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case JSON_CODE.quote: {
        const end = endOfString(text, at);
        if (leftOut === undefined) {
          lastString = text.slice(at, end + 1);
          pieceCount += 1;
          if (pieceCount > MOST_PIECES) return '';
        }
        at = end;
        break;
      }
      case JSON_CODE.arrayStart:
        depth += 1;
        if (leftOut === undefined) leaveOut(at, isEmptyList(text, at) ? '[]' : '[0]');
        if (pieceCount > MOST_PIECES) return '';
        break;
      case JSON_CODE.objectStart:
        depth += 1;
        if (leftOut === undefined && depth > 1 && !LOOKED_INTO.has(lastString)) leaveOut(at, '{}');
        if (pieceCount > MOST_PIECES) return '';
        break;
      case JSON_CODE.arrayEnd:
      case JSON_CODE.objectEnd:
        if (leftOut === depth) {
          leftOut = undefined;
          from = at + 1;
        }
        depth -= 1;
        break;
      default:
    }
  }
  if (leftOut === undefined) pieces.push(text.slice(from));
  return pieces.join('');
}

const EMPTY_LIST = /\[[ \t\r\n]*\]/y;

function isEmptyList(text: string, at: number): boolean {
  EMPTY_LIST.lastIndex = at;
  return EMPTY_LIST.test(text);
}
