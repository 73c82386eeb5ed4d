import { describe, expect, it } from 'vitest';
import type { Fold } from '../../src/agui/fold.ts';
import { pacedInput } from '../../src/agui/paced-input.ts';
import type { JsonObject, JsonValue } from '../../src/lib/json.ts';
import { JSON_PIECE_CHARACTERS } from '../../src/lib/parse-json.ts';
import { atOnce, ITEMS_PER_STEP, type Steps } from '../../src/lib/steps.ts';
import { foldOf } from './streams.ts';

const COUNT = 10 * ITEMS_PER_STEP;

const messages = (prefix = 'm'): JsonObject[] =>
  Array.from({ length: COUNT }, (_, at) => ({
    id: `${prefix}${at}`,
    role: at % 2 ? 'assistant' : 'user',
    content: `${at}`,
  }));

const longArguments = JSON.stringify({ gauges: Array.from({ length: 10_000 }, (_, at) => ({ at })) });
const callEvents: readonly JsonObject[] = [
  { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'gauges' },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: longArguments },
];
const callChunk: JsonObject = {
  type: 'TOOL_CALL_CHUNK',
  toolCallId: 'c',
  toolCallName: 'gauges',
  delta: longArguments,
};

/** Pushes `event`; how many steps its work takes beyond the first. */
function stepsOf(fold: Fold, event: JsonValue): number {
  return countSteps(fold.pushing(event));
}

function countSteps(steps: Steps<unknown> | undefined): number {
  let count = 0;
  for (const _ of steps ?? []) count += 1;
  return count;
}

/** A fold that has taken the beginning of a run and these events. */
const runOf = (...events: readonly JsonValue[]): Fold =>
  foldOf([{ type: 'RUN_STARTED', threadId: 't', runId: 'r' }, ...events], { threadId: 't', runId: 'r', messages: [] });

describe('an event that is worth thousands', () => {
  const PIECES = Math.floor(longArguments.length / JSON_PIECE_CHARACTERS);

  it.each<[string, readonly JsonValue[], JsonValue, number]>([
    ['a snapshot', [], { type: 'MESSAGES_SNAPSHOT', messages: messages() }, COUNT / ITEMS_PER_STEP],
    [
      'a snapshot under other ids',
      [{ type: 'MESSAGES_SNAPSHOT', messages: messages() }],
      { type: 'MESSAGES_SNAPSHOT', messages: messages('n') },
      COUNT / ITEMS_PER_STEP,
    ],
    [
      'a run that echoes its input',
      [{ type: 'RUN_FINISHED', threadId: 't', runId: 'r' }],
      { type: 'RUN_STARTED', threadId: 't', runId: 'r2', input: { messages: messages() } },
      COUNT / ITEMS_PER_STEP,
    ],
    ['the end of long arguments', callEvents, { type: 'TOOL_CALL_END', toolCallId: 'c' }, PIECES],
    [
      'the end of long arguments that were sent twice',
      [...callEvents, ...callEvents],
      { type: 'TOOL_CALL_END', toolCallId: 'c' },
      // Both together, parsed to where the second begin, are not JSON; then comes the first alone.
      2 * PIECES,
    ],
    ['what ends a call in chunks', [callChunk], { type: 'STATE_SNAPSHOT', snapshot: {} }, PIECES],
  ])('is applied in steps: %s', (_what, before, event, least) => {
    const fold = runOf(...before);
    expect(stepsOf(fold, event)).toBeGreaterThanOrEqual(Math.floor(least));
    expect(atOnce(fold.finishing('complete'))).toEqual(atOnce(runOf(...before, event).finishing('complete')));
  });

  it('is parsed in steps', () => {
    const text = JSON.stringify({ type: 'STATE_SNAPSHOT', snapshot: JSON.parse(longArguments) as JsonObject });
    expect(countSteps(runOf().pushingText(text))).toBeGreaterThanOrEqual(PIECES - 1);
  });

  it('is not, when it is small', () => {
    const [start = {}] = callEvents;
    const fold = runOf(start);
    expect(fold.pushing({ type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{}' })).toBeUndefined();
    expect(fold.pushing({ type: 'TOOL_CALL_END', toolCallId: 'c' })).toBeUndefined();
    expect(fold.pushingText('{"type":"CUSTOM","name":"tick","value":1}')).toBeUndefined();
  });

  it('is whole before the next is taken', async () => {
    const fold = runOf();
    const input = pacedInput(fold);
    input.pushText(JSON.stringify({ type: 'MESSAGES_SNAPSHOT', messages: messages() }));
    input.pushText('{"type":"TEXT_MESSAGE_START","messageId":"last"}');
    input.pushText('{"type":');
    await input.settle();

    const { messages: read, findings } = atOnce(fold.finishing('complete'));
    expect(read.map(({ id }) => id)).toEqual([...messages().map(({ id }) => id), 'last']);
    expect(findings).toContainEqual({ code: 'malformed_json', at: 3, id: '' });
  });

  it('reads long arguments that never end in steps, too', () => {
    const steps = runOf(...callEvents).finishing('complete');
    let count = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) count += 1;
    expect(count).toBeGreaterThanOrEqual(PIECES - 1);
    expect(step.value.messages).toMatchObject([{ toolCalls: [{ args: JSON.parse(longArguments), state: 'open' }] }]);
  });
});
