import { JSON_CODE } from '../lib/json.ts';
import { endOfString } from '../lib/parse-json.ts';

/** What of a request is looked into, in both ways that clients write it. */
const LOOKED_INTO = new Set(['"body"', '"forwardedProps"', '"forwarded_props"', '"command"']);

/** More strings than these are in the head of no request, and each costs time that streams wait for. */
const MOST_STRINGS = 1_000;

/**
 * The JSON of a request without what its head does not depend on: an object that is none of its own, nor of its envelope,
 * is empty, and of each list there is at most one item, a 0. To parse that costs little, however long the messages and the
 * state are. What is left out is not looked at either, so it may be no JSON. Empty for a request with members by the thousand.
 */
export function outlineRequest(text: string): string {
  const pieces: string[] = [];
  /** Where the text that is kept begins. */
  let from = 0;
  let depth = 0;
  /** The depth of the list or object that is being left out. */
  let leftOut: number | undefined;
  let lastString = '';
  let strings = 0;
  const leaveOut = (end: number, shown: string): void => {
    pieces.push(text.slice(from, end), shown);
    leftOut = depth;
  };
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case JSON_CODE.quote: {
        const end = endOfString(text, at);
        if (leftOut === undefined) {
          lastString = text.slice(at, end + 1);
          strings += 1;
          if (strings > MOST_STRINGS) return '';
        }
        at = end;
        break;
      }
      case JSON_CODE.arrayStart:
        depth += 1;
        if (leftOut === undefined) leaveOut(at, isEmptyList(text, at) ? '[]' : '[0]');
        break;
      case JSON_CODE.objectStart:
        depth += 1;
        if (leftOut === undefined && depth > 1 && !LOOKED_INTO.has(lastString)) leaveOut(at, '{}');
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
