import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import { jsonText, readContent } from './content.ts';
import type { RunFinished, StreamEvent, TextRole } from './events.ts';
import type { FindingCode } from './findings.ts';
import { readCustomInterrupt, readInterrupts } from './interrupts.ts';
import { type NoteLeniency, readLeniently } from './lenient.ts';
import { readUsage } from './usage.ts';

/** An event, and the name it is counted under. */
export interface ReadEvent {
  readonly event: StreamEvent;
  /** A type of AG-UI 1.0 or of its predecessors, else `other`. */
  readonly countedAs: string;
}

export interface EventOrigin {
  /** Position in the stream; names an interrupt that has no id. */
  readonly at: number;
  /** The SSE `event` field, where there was one. */
  readonly sseName?: string;
}

export type NoteEvent = (code: FindingCode, id: string) => void;

/** Reads one event leniently. What is unusual about it is noted; nothing makes it throw. */
export function readEvent(value: JsonValue, origin: EventOrigin, note: NoteEvent): ReadEvent {
  if (!isJsonObject(value)) {
    note('malformed_event', '');
    return { event: { kind: 'ignored' }, countedAs: 'other' };
  }
  const type = typeof value.type === 'string' ? value.type : '';
  const noteLeniency: NoteLeniency = (leniency) => note(leniency, type);
  const fields = readLeniently(value, noteLeniency);

  // ADK reports its last failure as `event: error` without a type, the Go SDK as a CUSTOM without a name.
  if (origin.sseName === 'error' && (type === '' || (type === 'CUSTOM' && fields.name === undefined))) {
    note('malformed_event', type);
    return { event: bareError(fields), countedAs: type === '' ? 'other' : type };
  }

  const read = READERS.get(type);
  if (!read) {
    note(type === '' ? 'malformed_event' : 'unknown_event', type);
    // In no schema, and yet it says how the run went.
    return { event: { kind: type === 'RUN_CANCELLED' ? 'run_cancelled' : 'ignored' }, countedAs: 'other' };
  }
  if (type.startsWith('THINKING_')) note('retired_event', type);
  const event = read({ fields, type, at: origin.at, note, noteLeniency });
  const subagent = fields.subagentRunId;
  return { event: typeof subagent === 'string' && subagent !== '' ? { ...event, subagent } : event, countedAs: type };
}

/** One event on its way to being read. */
interface Reading {
  readonly fields: JsonObject;
  readonly type: string;
  readonly at: number;
  readonly note: NoteEvent;
  readonly noteLeniency: NoteLeniency;
}

const readLaneEnd = (): StreamEvent => ({ kind: 'lane_end' });
const readIgnored = (): StreamEvent => ({ kind: 'ignored' });
const readReasoning = (reading: Reading): StreamEvent => ({
  kind: 'reasoning',
  id: optional(reading, 'messageId'),
  hasContent: reading.fields.delta !== undefined,
});

/** The 31 types of AG-UI 1.0, then the retired ones. */
const READERS: ReadonlyMap<string, (reading: Reading) => StreamEvent> = new Map<
  string,
  (reading: Reading) => StreamEvent
>([
  [
    'RUN_STARTED',
    (reading) => ({
      kind: 'run_started',
      threadId: required(reading, 'threadId') ?? '',
      runId: required(reading, 'runId') ?? '',
      parentRunId: optional(reading, 'parentRunId'),
      messages: isJsonObject(reading.fields.input)
        ? readLeniently(reading.fields.input, reading.noteLeniency).messages
        : undefined,
    }),
  ],
  ['RUN_FINISHED', readRunFinished],
  [
    'RUN_ERROR',
    (reading) => ({
      kind: 'run_error',
      message: required(reading, 'message') ?? '',
      code: optional(reading, 'code'),
      usage: readUsage(reading.fields.usage, reading.noteLeniency),
    }),
  ],
  ['STEP_STARTED', readLaneEnd],
  ['STEP_FINISHED', readLaneEnd],
  [
    'TEXT_MESSAGE_START',
    (reading) => ({ kind: 'text_start', id: required(reading, 'messageId'), role: readRole(reading) ?? 'assistant' }),
  ],
  [
    'TEXT_MESSAGE_CONTENT',
    (reading) => ({
      kind: 'text_content',
      id: required(reading, 'messageId'),
      delta: readTextDelta(reading) ?? missing(reading),
    }),
  ],
  ['TEXT_MESSAGE_END', (reading) => ({ kind: 'text_end', id: required(reading, 'messageId') })],
  [
    'TEXT_MESSAGE_CHUNK',
    (reading) => ({
      kind: 'text_chunk',
      id: optional(reading, 'messageId'),
      role: readRole(reading),
      delta: readTextDelta(reading),
    }),
  ],
  [
    'TOOL_CALL_START',
    (reading) => ({
      kind: 'call_start',
      id: required(reading, 'toolCallId'),
      name: required(reading, 'toolCallName'),
      parentMessageId: optional(reading, 'parentMessageId'),
    }),
  ],
  [
    'TOOL_CALL_ARGS',
    (reading) => ({
      kind: 'call_args',
      id: required(reading, 'toolCallId'),
      delta: readArgumentsDelta(reading) ?? missing(reading),
    }),
  ],
  ['TOOL_CALL_END', (reading) => ({ kind: 'call_end', id: required(reading, 'toolCallId') })],
  [
    'TOOL_CALL_CHUNK',
    (reading) => ({
      kind: 'call_chunk',
      id: optional(reading, 'toolCallId'),
      name: optional(reading, 'toolCallName'),
      parentMessageId: optional(reading, 'parentMessageId'),
      delta: readArgumentsDelta(reading),
    }),
  ],
  ['TOOL_CALL_RESULT', readCallResult],
  ['STATE_SNAPSHOT', readLaneEnd],
  ['STATE_DELTA', readLaneEnd],
  ['MESSAGES_SNAPSHOT', ({ fields }) => ({ kind: 'messages_snapshot', messages: fields.messages })],
  ['ACTIVITY_SNAPSHOT', (reading) => ({ kind: 'activity', id: optional(reading, 'messageId') })],
  ['ACTIVITY_DELTA', readIgnored],
  ['REASONING_START', readLaneEnd],
  ['REASONING_END', readLaneEnd],
  ['REASONING_MESSAGE_START', readReasoning],
  ['REASONING_MESSAGE_CONTENT', readReasoning],
  ['REASONING_MESSAGE_END', readReasoning],
  ['REASONING_MESSAGE_CHUNK', (reading) => ({ kind: 'reasoning_chunk', id: optional(reading, 'messageId') })],
  ['REASONING_ENCRYPTED_VALUE', readIgnored],
  ['SUBAGENT_STARTED', readIgnored],
  ['SUBAGENT_FINISHED', () => ({ kind: 'subagent_ended' })],
  ['SUBAGENT_ERROR', () => ({ kind: 'subagent_ended' })],
  ['RAW', readIgnored],
  [
    'CUSTOM',
    ({ fields, at }) =>
      fields.name === 'on_interrupt'
        ? { kind: 'interrupt', interrupt: readCustomInterrupt(fields.value, `on_interrupt-${at}`) }
        : { kind: 'lane_end' },
  ],
  ['THINKING_START', readLaneEnd],
  ['THINKING_END', readLaneEnd],
  ['THINKING_TEXT_MESSAGE_START', readReasoning],
  ['THINKING_TEXT_MESSAGE_CONTENT', readReasoning],
  ['THINKING_TEXT_MESSAGE_END', readReasoning],
]);

/** Every type that is counted under its own name. */
export const EVENT_TYPES: readonly string[] = [...READERS.keys()];

function readRunFinished(reading: Reading): RunFinished {
  const { fields } = reading;
  const outcome = isJsonObject(fields.outcome) ? readLeniently(fields.outcome, reading.noteLeniency) : {};
  // Drafts before 1.0 wrote `outcome: "interrupt"` with the interrupt beside it.
  const type = outcome.type ?? fields.outcome ?? 'success';
  const known = type === 'success' || type === 'interrupt' || type === 'cancelled';
  if (!known) malformed(reading);
  return {
    kind: 'run_finished',
    threadId: required(reading, 'threadId') ?? '',
    runId: required(reading, 'runId') ?? '',
    outcome: known ? type : 'success',
    interrupts:
      type === 'interrupt'
        ? readInterrupts(outcome.interrupts ?? fields.interrupts ?? fields.interrupt, reading.noteLeniency)
        : [],
    usage: readUsage(fields.usage, reading.noteLeniency),
  };
}

function readCallResult(reading: Reading): StreamEvent {
  const content = readContent(reading.fields.content, reading.noteLeniency);
  if (content.malformed || reading.fields.content === undefined) malformed(reading);
  return {
    kind: 'call_result',
    id: required(reading, 'messageId'),
    callId: required(reading, 'toolCallId'),
    content,
  };
}

function bareError(fields: JsonObject): StreamEvent {
  const cause = fields.message ?? fields.error ?? fields.data;
  const nested = isJsonObject(cause) ? (cause.message ?? cause.error ?? cause) : cause;
  return { kind: 'run_error', message: readContent(nested).text, code: undefined, usage: null };
}

function required(reading: Reading, name: string): string | undefined {
  const value = reading.fields[name];
  if (typeof value === 'string') return value;
  malformed(reading);
  return undefined;
}

function optional(reading: Reading, name: string): string | undefined {
  const value = reading.fields[name];
  if (typeof value === 'string') return value;
  if (value !== undefined) malformed(reading);
  return undefined;
}

/** A delta that is no text is a fault, and is not lost: it reads as the content of a message does. */
function readTextDelta(reading: Reading): string | undefined {
  const { delta } = reading.fields;
  if (typeof delta === 'string' || delta === undefined) return delta;
  malformed(reading);
  return readContent(delta).text;
}

/** Arguments that were sent as a value and not as its JSON are a fault, and are not lost. */
function readArgumentsDelta(reading: Reading): string | undefined {
  const { delta } = reading.fields;
  if (typeof delta === 'string' || delta === undefined) return delta;
  malformed(reading);
  return jsonText(delta);
}

function missing(reading: Reading): '' {
  malformed(reading);
  return '';
}

/** Absent when the field is; an unknown role is noted and reads as the assistant's. */
function readRole(reading: Reading): TextRole | undefined {
  const { role } = reading.fields;
  if (role === undefined) return undefined;
  if (role === 'assistant' || role === 'user' || role === 'system' || role === 'developer') return role;
  malformed(reading);
  return 'assistant';
}

function malformed({ note, type }: Reading): void {
  note('malformed_event', type);
}
