/** The reference client's bound of one frame; a length beyond it is no length. */
const MAX_CREDIBLE_FRAME_BYTES = 10 * 1024 * 1024;

const PREFIX_BYTES = 4;

export interface FrameDecoderOptions {
  /** Largest frame, in bytes. */
  readonly maxFrameBytes: number;
  readonly onFrame: (frame: Uint8Array) => void;
  /** Once, when a frame announces more than the bound; nothing is decoded from then on. */
  readonly onTooLarge: () => void;
  /** Once, when a length is beyond belief or the stream ends within a frame. */
  readonly onBroken: () => void;
}

/** Takes frames – a big-endian 32-bit length, then that many bytes – out of bytes that may be cut anywhere. */
export interface FrameDecoder {
  push(bytes: Uint8Array): void;
  end(): void;
}

export function createFrameDecoder(options: FrameDecoderOptions): FrameDecoder {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  let prefixed = 0;
  let frame: Buffer | undefined;
  let filled = 0;
  let stopped = false;

  const stop = (report: () => void): void => {
    stopped = true;
    report();
  };

  const beginFrame = (): void => {
    const length = prefix.readUInt32BE();
    if (length > MAX_CREDIBLE_FRAME_BYTES) stop(options.onBroken);
    else if (length > options.maxFrameBytes) stop(options.onTooLarge);
    else {
      frame = Buffer.alloc(length);
      filled = 0;
      if (length === 0) endFrame(frame);
    }
  };

  const endFrame = (whole: Buffer): void => {
    frame = undefined;
    prefixed = 0;
    options.onFrame(whole);
  };

  /** Takes what the prefix or the frame still lacks; returns how much that was. */
  const take = (bytes: Uint8Array): number => {
    if (!frame) {
      const piece = bytes.subarray(0, PREFIX_BYTES - prefixed);
      prefix.set(piece, prefixed);
      prefixed += piece.length;
      if (prefixed === PREFIX_BYTES) beginFrame();
      return piece.length;
    }
    const piece = bytes.subarray(0, frame.length - filled);
    frame.set(piece, filled);
    filled += piece.length;
    if (filled === frame.length) endFrame(frame);
    return piece.length;
  };

  return {
    push: (bytes) => {
      for (let at = 0; at < bytes.length;) {
        if (stopped) return;
        at += take(bytes.subarray(at));
      }
    },
    end: () => {
      if (!stopped && prefixed > 0) stop(options.onBroken);
    },
  };
}
