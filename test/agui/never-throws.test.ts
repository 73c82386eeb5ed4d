import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCapture } from '../../src/agui/read-capture.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { toRagasMessages } from '../../src/conversation/ragas.ts';
import { anyEvent, anyEvents, anyMessages } from './arbitrary-events.ts';
import { BOUNDS, captureOf } from './captures.ts';
import { encodeSse, fold, foldBytes } from './streams.ts';

describe('the collector never throws', () => {
  it('on random bytes in any format', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.constantFrom('sse', 'protobuf', 'jsonl'),
        async (bytes, format) => {
          await expect(foldBytes([bytes], format)).resolves.toBeDefined();
        },
      ),
      { numRuns: 500 },
    );
  });

  it('on random events, and what it makes of them can be written down', () => {
    fc.assert(
      fc.property(anyEvents, anyMessages, (events, history) => {
        const folded = fold(events, { messages: history } as JsonObject);
        expect(JSON.stringify(folded)).toContain('"ending"');
        expect(toRagasMessages(folded.messages)).toBeInstanceOf(Array);
      }),
      { numRuns: 1000 },
    );
  });

  it('on random captures', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.uint8Array(), fc.array(anyEvent, { maxLength: 5 }).map(encodeSse)),
        fc.constantFrom('', 'gzip', 'br', 'deflate', 'zstd', 'gzip, br', 'x'),
        fc.oneof(fc.constant('text/event-stream'), fc.constant('application/vnd.ag-ui.event+proto'), fc.string()),
        fc.jsonValue(),
        async (bytes, contentEncoding, contentType, request) => {
          const reading = readCapture(captureOf({ pieces: [bytes], contentEncoding, contentType, request }), BOUNDS);
          await expect(reading.then(() => 'read')).resolves.toBe('read');
        },
      ),
      { numRuns: 500 },
    );
  });
});
