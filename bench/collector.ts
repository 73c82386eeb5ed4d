import { createFold } from '../src/agui/fold.ts';
import { openStreamReader } from '../src/agui/read-stream.ts';

interface Load {
  readonly name: string;
  /** Times the size of its base; a linear collector keeps its rate. */
  readonly scale: number;
  readonly events: number;
  readonly bytes: Uint8Array;
}

const SLICE_BYTES = 16 * 1024;

/**
 * Prints how many events a second the collector folds, from bytes, for streams that grow in the number of their
 * messages, the length of one text and the length of one call's arguments.
 */
export async function benchCollector(): Promise<void> {
  const scales = [1, 4, 16];
  const loads = scales.flatMap((scale) => [
    load('messages of 5 deltas', scale, 'messages', 625 * scale),
    load('one text in deltas of 10 bytes', scale, 'text', 6_250 * scale),
    load('arguments in deltas of 10 bytes', scale, 'arguments', 6_250 * scale),
    load('calls with results', scale, 'calls', 625 * scale),
    load('snapshots that grow by a message', scale, 'snapshots', 25 * scale),
  ]);
  const rows = [];
  for (const item of loads.toSorted((one, other) => one.name.localeCompare(other.name) || one.scale - other.scale)) {
    // The best of several: other work on the machine only ever makes it slower.
    const ms = Math.min(await read(item), await read(item), await read(item));
    rows.push({
      stream: item.name,
      events: item.events,
      MiB: Number((item.bytes.length / 2 ** 20).toFixed(2)),
      ms: Number(ms.toFixed(1)),
      'events/s': Math.round((item.events / ms) * 1000),
      'MiB/s': Number((item.bytes.length / 2 ** 20 / (ms / 1000)).toFixed(1)),
    });
  }
  console.table(rows);
}

async function read({ bytes }: Load): Promise<number> {
  const started = performance.now();
  const fold = createFold();
  const reader = await openStreamReader('sse', fold, { maxEventBytes: 2 ** 30 });
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) reader.push(bytes.subarray(at, at + SLICE_BYTES));
  reader.end();
  fold.finish('complete');
  return performance.now() - started;
}

type Kind = 'messages' | 'text' | 'arguments' | 'calls' | 'snapshots';

function load(name: string, scale: number, kind: Kind, count: number): Load {
  const inner = [...EVENTS[kind](count)];
  const all = [
    { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
    ...inner,
    { type: 'RUN_FINISHED', threadId: 't', runId: 'r' },
  ];
  const bytes = Buffer.from(all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  return { name, scale, events: all.length, bytes };
}

const EVENTS: Readonly<Record<Kind, (count: number) => Generator<object>>> = {
  *messages(count) {
    for (let index = 0; index < count; index += 1) {
      const messageId = `m${index}`;
      yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' };
      for (let delta = 0; delta < 5; delta += 1) yield { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'ten bytes ' };
      yield { type: 'TEXT_MESSAGE_END', messageId };
    }
  },
  *text(count) {
    yield { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' };
    for (let index = 0; index < count; index += 1) {
      yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'ten bytes ' };
    }
    yield { type: 'TEXT_MESSAGE_END', messageId: 'm' };
  },
  *arguments(count) {
    yield { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'store' };
    yield { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{"text":"' };
    for (let index = 0; index < count; index += 1)
      yield { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: 'ten bytes ' };
    yield { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '"}' };
    yield { type: 'TOOL_CALL_END', toolCallId: 'c' };
  },
  *calls(count) {
    for (let index = 0; index < count; index += 1) {
      yield { type: 'TOOL_CALL_START', toolCallId: `c${index}`, toolCallName: 'tides', parentMessageId: 'm' };
      yield { type: 'TOOL_CALL_ARGS', toolCallId: `c${index}`, delta: '{"port":"Oban"}' };
      yield { type: 'TOOL_CALL_END', toolCallId: `c${index}` };
    }
    for (let index = 0; index < count; index += 1) {
      yield { type: 'TOOL_CALL_RESULT', messageId: `r${index}`, toolCallId: `c${index}`, content: 'four' };
    }
  },
  *snapshots(count) {
    const messages: object[] = [];
    for (let index = 0; index < count; index += 1) {
      messages.push({ id: `m${index}`, role: 'assistant', content: `message ${index}` });
      yield { type: 'MESSAGES_SNAPSHOT', messages: [...messages] };
    }
  },
};
