import { createFrameDecoder } from './decode-frames.ts';
import { createLineDecoder } from './decode-lines.ts';
import { createSseDecoder } from './decode-sse.ts';
import type { FoldInput } from './paced-input.ts';

/** How events stand in bytes: SSE, the binary transport's frames, or one JSON event a line. */
export type StreamFormat = 'sse' | 'protobuf' | 'jsonl';

/** Reads bytes into a fold. */
export interface StreamReader {
  /** `arrivedAt` is in epoch milliseconds. */
  push(bytes: Uint8Array, arrivedAt?: number): void;
  end(): void;
  /** An event was over the bound; what follows it is not read. */
  readonly hasStopped: () => boolean;
}

export async function openStreamReader(
  format: StreamFormat,
  fold: FoldInput,
  limits: { readonly maxEventBytes: number },
): Promise<StreamReader> {
  let arrival: { readonly arrivedAt?: number } = {};
  let stopped = false;
  const stop = (): void => {
    stopped = true;
  };
  const readText = (text: string, sseName?: string): void =>
    fold.pushText(text, sseName === undefined ? arrival : { ...arrival, sseName });

  const decoder = await openDecoder();
  return {
    push: (bytes, at) => {
      arrival = at === undefined ? {} : { arrivedAt: at };
      if (!stopped) decoder.push(bytes);
    },
    end: () => {
      if (!stopped) decoder.end();
    },
    hasStopped: () => stopped,
  };

  async function openDecoder(): Promise<Pick<StreamReader, 'push' | 'end'>> {
    switch (format) {
      case 'sse':
        return createSseDecoder({
          maxEventLength: limits.maxEventBytes,
          onEvent: ({ data, name }) => readText(data, name),
          onCarriageReturn: () => fold.note('crlf_framing', ''),
          onTooLarge: stop,
        });
      case 'jsonl':
        return createLineDecoder(readText);
      case 'protobuf': {
        // Loaded only for binary streams: the schema is large.
        const { decodeFrame } = await import('./decode-protobuf.ts');
        return createFrameDecoder({
          maxFrameBytes: limits.maxEventBytes,
          onFrame: (frame) => {
            const decoded = decodeFrame(frame);
            if (decoded.kind === 'event') fold.push(decoded.event, arrival);
            else fold.skip(decoded.kind === 'unknown' ? 'unknown_event' : 'undecodable', '');
          },
          onTooLarge: stop,
          onBroken: () => fold.note('undecodable', ''),
        });
      }
    }
  }
}
