import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { boundedOutput } from '../../src/telemetry/log-output.ts';

/** An output that does with each line what `take` says, and keeps those that it took. */
function outputThat(take: (line: string, done: (error?: Error) => void) => void) {
  const lines: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      take(line, (error) => {
        if (!error) lines.push(line);
        done(error);
      });
    },
  });
  return { stream, lines };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('the output of the log', () => {
  it('hands a line on at once', () => {
    const { stream, lines } = outputThat((_line, done) => done());
    const output = boundedOutput(stream, () => {});
    output.write('one\n');
    expect(lines).toEqual(['one\n']);
    expect(output.linesLost()).toBe(0);
  });

  it('holds a mebibyte for a reader that does not read, loses what is more and counts it', () => {
    const { stream } = outputThat(() => {});
    const output = boundedOutput(stream, () => {});
    const line = 'x'.repeat(1024);
    for (let count = 0; count < 1024 + 50; count += 1) output.write(line);
    expect(stream.writableLength).toBe(1024 * 1024);
    expect(output.linesLost()).toBe(50);
  });

  it('says how many were lost when the reader has caught up, and only then', async () => {
    const waiting: (() => void)[] = [];
    const { stream } = outputThat((_line, done) => void waiting.push(() => done()));
    const told: number[] = [];
    const output = boundedOutput(stream, (linesLost) => told.push(linesLost));
    const line = 'x'.repeat(600 * 1024);
    for (let count = 0; count < 3; count += 1) output.write(line);
    output.write('short');
    waiting.shift()?.();
    await nextTurn();
    expect(told).toEqual([]);
    waiting.shift()?.();
    await nextTurn();
    expect(told).toEqual([2]);
    output.write('short');
    waiting.shift()?.();
    await nextTurn();
    expect(told).toEqual([2]);
  });

  it('loses lines that cannot be written, and throws nothing', async () => {
    const { stream } = outputThat((_line, done) => done(new Error('no space left on device')));
    const output = boundedOutput(stream, () => {});
    for (let count = 0; count < 3; count += 1) output.write('lost');
    await nextTurn();
    expect(output.linesLost()).toBe(3);
  });
});
