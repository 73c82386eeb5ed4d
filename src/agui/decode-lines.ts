import { StringDecoder } from 'node:string_decoder';

/** Takes lines out of bytes that may be cut anywhere; blank ones are left out. */
export interface LineDecoder {
  push(bytes: Uint8Array): void;
  end(): void;
}

export function createLineDecoder(onLine: (line: string) => void): LineDecoder {
  const utf8 = new StringDecoder('utf8');
  let unfinished: string[] = [];

  const take = (line: string): void => {
    const text = line.replace(/^\uFEFF/, '').trim();
    if (text !== '') onLine(text);
  };
  const feed = (text: string): void => {
    const [first = '', ...rest] = text.split('\n');
    unfinished.push(first);
    const last = rest.pop();
    if (last === undefined) return;
    take(unfinished.join(''));
    for (const line of rest) take(line);
    unfinished = [last];
  };
  return {
    push: (bytes) => feed(utf8.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))),
    end: () => feed(`${utf8.end()}\n`),
  };
}
