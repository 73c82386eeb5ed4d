import assert from 'node:assert/strict';
import fc from 'fast-check';
import { anyEvents, anyMessages, asJson } from '../../test/agui/arbitrary-events.ts';
import { fold as foldAll } from '../../test/agui/streams.ts';
import { validStream } from '../../test/agui/valid-streams.ts';
import { assertFindings, assertInProportion, assertPlainJson, assertUnpolluted } from '../checks.ts';
import { recordedEvents } from '../fixtures.ts';
import { fieldsOf, listOf, oneOf } from '../input.ts';
import { pureTarget } from '../target.ts';

const ENDS = ['complete', 'client_aborted', 'upstream_error', 'unread'] as const;

/** Events into messages and runs. */
export const fold = pureTarget({
  name: 'fold',
  seeds: () => recordedEvents().map((events) => ({ request: null, events, end: 'complete' })),
  fresh: fc.record({
    request: fc.oneof(fc.constant(null), fc.record({ threadId: fc.constant('a'), messages: anyMessages.map(asJson) })),
    events: fc.oneof(
      anyEvents,
      validStream.map(({ before, after }) => [...before, ...after]),
    ),
    end: fc.constantFrom(...ENDS),
  }),
  run(input) {
    const { request, events: given, end } = fieldsOf(input);
    const events = listOf(given);
    const folded = foldAll(events, request, oneOf(end, ENDS));

    const characters = assertPlainJson(folded);
    assertInProportion(characters, JSON.stringify(input).length, { per: 15, flat: 10_000 });
    assertFindings(folded.findings, folded.findingsDropped);
    const counted = Object.values(folded.eventCounts).reduce((sum, count) => sum + count, 0);
    assert.ok(counted <= events.length, `${counted} events are counted of ${events.length}`);
    assert.ok(
      folded.output.every((message) => folded.messages.includes(message)),
      'output is no part of the messages',
    );
    assertUnpolluted();
  },
});
