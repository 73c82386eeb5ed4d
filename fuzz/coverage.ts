import { Session } from 'node:inspector/promises';

/** What one input did. */
interface Reach {
  /** It ran a block of the source that no input ran before, or one about twice as often as any did. */
  readonly isNew: boolean;
  /** Blocks of the source that were entered: a measure of work that no machine's speed changes. */
  readonly steps: number;
}

export interface Coverage extends AsyncDisposable {
  /** What was run since it was asked last. */
  take(): Promise<Reach>;
  /** Pairs of a block and an order of magnitude that were reached. */
  readonly reached: () => number;
}

/** Counts blocks of the product's source by V8's own precise coverage, from here on. */
export async function startCoverage(): Promise<Coverage> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const source = new URL('../src/', import.meta.url).href;
  const seen = new Map<string, Set<number>>();
  let reached = 0;

  const noteBlock = (url: string, block: number): boolean => {
    const ofScript = seen.get(url) ?? new Set();
    seen.set(url, ofScript);
    const before = ofScript.size;
    ofScript.add(block);
    reached += ofScript.size - before;
    return ofScript.size > before;
  };

  return {
    async take() {
      const { result } = await session.post('Profiler.takePreciseCoverage');
      let isNew = false;
      let steps = 0;
      for (const { url, functions } of result) {
        if (!url.startsWith(source)) continue;
        for (const { startOffset, endOffset, count } of functions.flatMap(({ ranges }) => ranges)) {
          if (count === 0) continue;
          steps += count;
          const magnitude = 31 - Math.clz32(count);
          // Files are far below a million characters, so that these do not collide.
          if (noteBlock(url, (startOffset * 1e6 + endOffset) * 32 + magnitude)) isNew = true;
        }
      }
      return { isNew, steps };
    },
    reached: () => reached,
    async [Symbol.asyncDispose]() {
      await session.post('Profiler.stopPreciseCoverage');
      session.disconnect();
    },
  };
}
