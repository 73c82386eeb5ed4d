import type { StreamFormat } from '../agui/read-stream.ts';

/** Bytes from the beginning of an input that are enough to say what it is. */
export const HEAD_BYTES = 64 * 1024;

/**
 * What stands where AG-UI events were expected: at which line or byte, what, and what to try. For the person who gave a
 * file that holds none.
 *
 * @param head the first {@link HEAD_BYTES} of the input; not empty.
 */
export function describeCapture(head: Uint8Array, format: StreamFormat): string {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'byte 0 begins a gzip file; decompress it first';
  if (format === 'protobuf') return describeFrame(head);

  const lines = Buffer.from(head)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/);
  const isData = (line: string): boolean => format === 'sse' && line.startsWith('data');
  const dataAt = lines.findIndex(isData);
  const at = dataAt >= 0 ? dataAt : lines.findIndex((line) => line.trim() !== '');
  if (at < 0) return 'it holds blank lines only';
  const line = lines[at] ?? '';
  const found = `line ${at + 1} is ${quote(line)}`;
  // A frame's length begins with zeros; text has none.
  if (head.includes(0)) return `${found}; for the binary transport use --format protobuf`;
  if (format === 'jsonl') return `${found}; expected a JSON object such as {"type":"RUN_STARTED",…}`;
  if (dataAt < 0 && line.trimStart().startsWith('{')) return `${found}; for one JSON event a line use --format jsonl`;
  return `${found}; expected lines such as data: {"type":"RUN_STARTED",…}`;
}

const PREFIX_BYTES = 4;

function describeFrame(head: Uint8Array): string {
  if (head.length < PREFIX_BYTES)
    return `it has ${head.length} bytes; a frame begins with ${PREFIX_BYTES} for its length`;
  const length = Buffer.from(head).readUInt32BE();
  const rest = head.length - PREFIX_BYTES;
  if (length > rest && head.length < HEAD_BYTES) {
    return `byte 0 announces a frame of ${length} bytes, and ${rest} follow; for text streams use --format sse`;
  }
  return `byte ${PREFIX_BYTES} begins a frame of ${length} bytes that is no AG-UI event`;
}

const MAX_QUOTED = 80;

function quote(line: string): string {
  return JSON.stringify(line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED)}…` : line);
}
