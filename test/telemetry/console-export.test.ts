import { InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { consoleExport } from '../../src/telemetry/console-export.ts';

describe('spans for standard output', () => {
  it('are printed while it is read, and left out and told of while it is not', async () => {
    const exporter = new InMemorySpanExporter();
    const output = { writableLength: 0 };
    let leftOut = 0;
    const bounded = consoleExport(exporter, output, (count) => (leftOut += count));
    const printOne = () => new Promise((resolve) => bounded.export([{} as ReadableSpan], resolve));

    await printOne();
    output.writableLength = 1024 * 1024;
    await printOne();
    output.writableLength = 0;
    await printOne();

    expect({ printed: exporter.getFinishedSpans().length, leftOut }).toEqual({ printed: 2, leftOut: 1 });
  });
});
