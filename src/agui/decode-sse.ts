import { StringDecoder } from 'node:string_decoder';
import { createParser, type EventSourceParser } from 'eventsource-parser';

/** One SSE event that carries data. */
interface SseEvent {
  readonly data: string;
  /** The `event` field. */
  readonly name?: string;
}

export interface SseDecoderOptions {
  /** Largest event, in characters. */
  readonly maxEventLength: number;
  readonly onEvent: (event: SseEvent) => void;
  /** Once, when a line that is no comment ends in CR: clients that split on a blank LF line cannot read the stream. */
  readonly onCarriageReturn: () => void;
  /** Once, when an event exceeds the bound; nothing is decoded from then on. */
  readonly onTooLarge: () => void;
}

/** Decodes an event stream (WHATWG) from bytes that may be cut anywhere. */
export interface SseDecoder {
  push(bytes: Uint8Array): void;
  /** An event that no blank line follows is read all the same. */
  end(): void;
}

/**
 * Room beside the data of an event for its other fields and their names, in characters. The parser's own bound counts
 * those as well, if a cut falls into them: without room, an event just within the bound would be too large by the cut.
 */
const FIELD_ROOM = 1024;

export function createSseDecoder(options: SseDecoderOptions): SseDecoder {
  const utf8 = new StringDecoder('utf8');
  let stopped = false;
  const stop = (): void => {
    if (stopped) return;
    stopped = true;
    options.onTooLarge();
  };
  const maxBufferSize = options.maxEventLength + FIELD_ROOM;
  /** Characters since the last event, or more. */
  let unfinished = 0;
  const parser = createParser({
    maxBufferSize,
    onEvent: ({ data, event }) => {
      unfinished = 0;
      if (data.length > options.maxEventLength) stop();
      else if (!stopped) options.onEvent(event === undefined ? { data } : { data, name: event });
    },
    // No `onError`: the parser would make an error for each line that is no field, which costs a thousand times the line.
  });
  const parse = (text: string): void => {
    parser.feed(text);
    unfinished += text.length;
    if (unfinished > maxBufferSize && hasGivenUp(parser)) stop();
  };
  const findCarriageReturn = lineEndWatch();
  let hasCarriageReturn = false;

  const feed = (text: string): void => {
    if (stopped || text === '') return;
    const lineStart = hasCarriageReturn ? undefined : findCarriageReturn(text);
    if (lineStart === undefined) {
      parse(text);
      return;
    }
    // The events before that line, and the bound, come first: what is reported does not depend on how the bytes were cut.
    hasCarriageReturn = true;
    const lineEnd = text.indexOf('\r', lineStart);
    parse(text.slice(0, lineStart));
    if (!stopped) parse(text.slice(lineStart, lineEnd));
    if (stopped) return;
    options.onCarriageReturn();
    feed(text.slice(lineEnd));
  };
  return {
    push: (bytes) => feed(utf8.write(asBuffer(bytes))),
    end: () => {
      feed(utf8.end());
      if (!stopped) parse('\n\n');
    },
  };
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Behind its bound a parser refuses everything; nothing changes nothing. */
function hasGivenUp(parser: EventSourceParser): boolean {
  try {
    parser.feed('');
    return false;
  } catch {
    return true;
  }
}

/**
 * Finds where the first line begins that has content and ends in CR; 0 when it began in an earlier piece of text. ADK's
 * pings are comments in CRLF, which every client reads.
 */
function lineEndWatch(): (text: string) => number | undefined {
  /** First character of the line that the pieces so far left unfinished; empty when they ended with a line. */
  let unfinished = '';
  return (text) => {
    const firstReturn = text.indexOf('\r');
    let start = 0;
    let feed = firstReturn < 0 ? -1 : text.indexOf('\n');
    for (let at = firstReturn; at >= 0; at = text.indexOf('\r', at + 1)) {
      for (; feed >= 0 && feed < at; feed = text.indexOf('\n', feed + 1)) start = feed + 1;
      const first = start === 0 && unfinished !== '' ? unfinished : at > start ? text.charAt(start) : '';
      if (first !== '' && first !== ':') return start;
      start = at + 1;
    }
    const lastReturn = firstReturn < 0 ? -1 : text.lastIndexOf('\r');
    const lineStart = Math.max(text.lastIndexOf('\n'), lastReturn) + 1;
    if (lineStart > 0) unfinished = text.charAt(lineStart);
    else if (unfinished === '') unfinished = text.charAt(0);
    return undefined;
  };
}
