import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Arrival } from '../../src/agui/capture.ts';
import { ArrivalLog } from '../../src/proxy/arrival-log.ts';
import type { MemoryGrant } from '../../src/proxy/memory-grant.ts';

const KIB = 1024;

/** Grants so much in all. */
function memoryOf(total: number): MemoryGrant & { held(): number } {
  let held = 0;
  return {
    held: () => held,
    reserve(bytes) {
      if (held + bytes > total) return false;
      held += bytes;
      return true;
    },
    release(bytes) {
      held -= bytes;
    },
  };
}

/** What came in one millisecond as one text, wherever the blocks of the log have cut it. */
function byTime(arrivals: Iterable<Arrival>): [at: number, text: string][] {
  const all: [number, string][] = [];
  for (const { bytes, at = NaN } of arrivals) {
    const last = all.at(-1);
    const text = Buffer.from(bytes).toString('latin1');
    expect(text).not.toBe('');
    if (last?.[0] === at) last[1] += text;
    else all.push([at, text]);
  }
  return all;
}

const length = fc.oneof(
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 900, max: 1_100 }),
  fc.integer({ min: 1, max: 150 * KIB }),
);

describe('a log of arrivals', () => {
  it('keeps all of an arrival with its time or nothing, and holds no memory for what it refused', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(length, fc.nat(2)), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: KIB, max: 300 * KIB }),
        (pieces, total) => {
          const memory = memoryOf(total);
          const log = new ArrivalLog(memory);
          const kept: Arrival[] = [];
          let ms = 0;
          for (const [index, [size, gap]] of pieces.entries()) {
            ms += gap;
            const bytes = Buffer.alloc(size, String.fromCharCode(0x41 + index));
            const before = memory.held();
            if (log.append(bytes, 0, size, ms)) kept.push({ bytes, at: 1_000 + ms });
            else expect(memory.held()).toBe(before);
          }
          expect(byTime(log.arrivals(1_000))).toEqual(byTime(kept));
          log.clear();
          expect(memory.held()).toBe(0);
          expect([...log.arrivals(1_000)]).toEqual([]);
        },
      ),
    );
  });

  it.each([0, 1, 7, 8, 9])('goes on in the next block where the last has room for %i bytes', (room) => {
    const log = new ArrivalLog(memoryOf(64 * KIB));
    const first = KIB - 8 - room;
    log.append(Buffer.alloc(first, 'a'), 0, first, 1);
    log.append(Buffer.alloc(100, 'b'), 0, 100, 2);

    expect(byTime(log.arrivals(0))).toEqual([
      [1, 'a'.repeat(first)],
      [2, 'b'.repeat(100)],
    ]);
  });

  it('takes what comes in one millisecond for one arrival', () => {
    const log = new ArrivalLog(memoryOf(64 * KIB));
    for (const text of ['one ', 'and ', 'another']) log.append(Buffer.from(text), 0, text.length, 7);

    expect([...log.arrivals(0)]).toEqual([{ bytes: Buffer.from('one and another'), at: 7 }]);
  });
});
