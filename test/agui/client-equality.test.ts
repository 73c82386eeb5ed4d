import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import { fromCollector, fromReference, referenceMessages, type WireEvent } from './reference-client.ts';
import { fold } from './streams.ts';
import { validStream } from './valid-streams.ts';

const RUNS = 200;

const collect = (events: readonly WireEvent[], request: readonly JsonObject[] = []) =>
  fold(events, { messages: request });

describe('the collector against the reference client', () => {
  beforeAll(() => {
    vi.spyOn(console, 'warn').mockReturnValue();
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });

  it('ends with the same messages on any valid stream', async () => {
    await fc.assert(
      fc.asyncProperty(validStream, async ({ before, after }) => {
        const events = [...before, ...after];
        const reference = fromReference(await referenceMessages(events));
        expect(fromCollector(collect(events).messages)).toEqual(reference);
      }),
      { numRuns: RUNS },
    );
  });

  it('ends with the same messages when the request brought a history', async () => {
    const history: JsonObject[] = [
      {
        id: 'h1',
        role: 'user',
        content: [
          { type: 'text', text: 'Which berth' },
          { type: 'text', text: '?' },
        ],
      },
      {
        id: 'h2',
        role: 'assistant',
        content: 'Looking.',
        toolCalls: [{ id: 'hc', type: 'function', function: { name: 'berths', arguments: '{"port":"Oban"}' } }],
      },
      { id: 'h3', role: 'tool', toolCallId: 'hc', content: 'seven' },
      { id: 'h4', role: 'user', content: 'Book it.' },
    ];
    await fc.assert(
      fc.asyncProperty(validStream, async ({ before, after }) => {
        const events = [...before, ...after];
        const reference = fromReference(await referenceMessages(events, history));
        expect(fromCollector(collect(events, history).messages)).toEqual(reference);
      }),
      { numRuns: RUNS / 4 },
    );
  });

  it('ends with the same messages when a snapshot corrects and continues the transcript', async () => {
    await fc.assert(
      fc.asyncProperty(validStream, fc.nat(20), async ({ before, after }, pick) => {
        const held = await referenceMessages([...before]);
        const messages: JsonObject[] = held.map((message, index) =>
          index % 7 === pick && message.role === 'assistant' ? { ...message, content: 'as corrected' } : message,
        );
        messages.push({ id: 'from-snapshot', role: 'assistant', content: 'By the way.' });
        const events = [...before, { type: 'MESSAGES_SNAPSHOT', messages }, ...after];
        const reference = fromReference(await referenceMessages(events));
        expect(fromCollector(collect(events).messages)).toEqual(reference);
      }),
      { numRuns: RUNS },
    );
  });
});
