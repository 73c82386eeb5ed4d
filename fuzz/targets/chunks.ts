import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { StreamEvent } from '../../src/agui/events.ts';
import { createChunkExpander } from '../../src/agui/expand-chunks.ts';
import { readEvent } from '../../src/agui/read-event.ts';
import type { JsonValue } from '../../src/lib/json.ts';
import { anyEvent, anyEvents } from '../../test/agui/arbitrary-events.ts';
import { validStream } from '../../test/agui/valid-streams.ts';
import { assertUnpolluted } from '../checks.ts';
import { recordedEvents } from '../fixtures.ts';
import { fieldsOf, listOf } from '../input.ts';
import { pureTarget } from '../target.ts';

const chunks = fc.array(
  fc
    .tuple(fc.constantFrom('TEXT_MESSAGE_CHUNK', 'TOOL_CALL_CHUNK', 'REASONING_MESSAGE_CHUNK'), anyEvent)
    .map(([type, event]): JsonValue => ({ ...fieldsOf(event), type })),
  { maxLength: 30, size: 'max' },
);

/** Chunks into whole messages and calls: none is left over, and each begins once before it goes on and ends. */
export const chunkExpander = pureTarget({
  name: 'chunks',
  seeds: recordedEvents,
  fresh: fc.oneof(
    anyEvents,
    chunks,
    validStream.map(({ before, after }) => [...before, ...after]),
  ),
  run(input) {
    const open = new Map<string, StreamEvent['kind']>();
    let faults = 0;
    let emitted = 0;
    const follow = (event: StreamEvent): void => {
      emitted += 1;
      assert.ok(event.kind !== 'text_chunk' && event.kind !== 'call_chunk', 'a chunk was left as it is');
      if (event.kind === 'text_start' || event.kind === 'call_start') {
        assert.ok(event.id !== undefined || event.chunked !== true, 'what is made of chunks has no id');
        if (event.chunked) open.set(`${event.kind} ${event.id}`, event.kind);
      }
      if (event.kind === 'call_named')
        assert.ok(open.has(`call_start ${event.id}`), 'a call is named that was not begun');
    };
    const expander = createChunkExpander(follow, () => {
      faults += 1;
    });
    const events = listOf(input);
    for (const [at, value] of events.entries()) {
      const { event } = readEvent(value, { at }, () => {});
      expander.push(event, at);
    }
    // Each event makes itself, a start at most, and an end of one that began before.
    assert.ok(emitted <= 3 * events.length, `${emitted} events came of ${events.length}`);
    assert.ok(faults <= 3 * events.length, `${faults} faults were told of ${events.length} events`);
    assertUnpolluted();
  },
});
