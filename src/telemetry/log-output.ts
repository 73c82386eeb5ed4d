import type { Writable } from 'node:stream';

/** Takes lines for an output on which nobody waits. */
export interface LogOutput {
  write(line: string): void;
  /** Lines that were not written, since the start. */
  linesLost(): number;
}

/** A few thousand lines: a reader that was away for a moment finds them all. */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * An output may be slow, full or gone, and none of it is a reason to hold up a stream or to end the process. A line is
 * handed on at once, so that the last one before a crash is there; while it waits it is held within a bound, and a line
 * over that bound, or one that fails, is lost and counted.
 *
 * @param onResumed told, with the count, when lines were lost and all that waited since has been written.
 */
export function boundedOutput(output: Writable, onResumed: (linesLost: number) => void): LogOutput {
  let lost = 0;
  let told = 0;
  // Each write hears of its own failure; without a listener the stream would end the process with it. One is enough.
  output.off('error', ignore).on('error', ignore);

  function settled(error: Error | null | undefined): void {
    if (error) {
      lost += 1;
      return;
    }
    if (lost === told || output.writableLength > 0) return;
    told = lost;
    onResumed(lost);
  }

  return {
    write(line) {
      if (output.writableLength + line.length > MAX_WAITING_BYTES) lost += 1;
      else output.write(line, settled);
    },
    linesLost: () => lost,
  };
}

function ignore(): void {}
