import fc from 'fast-check';
import type { JsonObject } from '../../src/lib/json.ts';
import { runFinished, runStarted, type WireEvent } from './reference-client.ts';

/** One step of a stream that is being made up. `pick` chooses among what the step can apply to. */
interface Step {
  readonly action: keyof typeof ACTIONS;
  readonly pick: number;
  readonly text: string;
  readonly json: string;
}

type Lane = string | undefined;

interface Opened {
  readonly id: string;
  readonly lane: Lane;
}

/**
 * Writes streams that the reference client accepts. It keeps to the ordering rules and to what both sides mean to treat
 * alike: calls are not re-opened, results have a call, ids are not shared between kinds, except where a call names a
 * message as its parent that can be none.
 */
class StreamWriter {
  readonly events: WireEvent[] = [];
  runs = 0;
  ids = 0;
  openTexts: Opened[] = [];
  closedTexts: Opened[] = [];
  openCalls: Opened[] = [];
  unanswered: Opened[] = [];
  assistants: Opened[] = [];
  others: string[] = [];
  reasoning: Opened[] = [];
  subagents: string[] = [];
  steps: string[] = [];
  activities: string[] = [];
  /** What each lane assembles from chunks. */
  chunks = new Map<Lane, { kind: 'text' | 'call' | 'reasoning'; id: string }>();

  id(prefix: string): string {
    this.ids += 1;
    return `${prefix}${this.ids}`;
  }

  emit(type: string, fields: JsonObject, lane?: Lane): void {
    this.events.push({ type, ...fields, ...(lane === undefined ? {} : { subagentRunId: lane }) });
  }

  /** Emits an event that ends what its lane assembles from chunks. */
  emitClosing(type: string, fields: JsonObject, lane?: Lane): void {
    this.closeChunks(lane);
    this.emit(type, fields, lane);
  }

  closeChunks(lane: Lane): void {
    const pending = this.chunks.get(lane);
    this.chunks.delete(lane);
    if (pending?.kind === 'text') this.closedTexts.push({ id: pending.id, lane });
    if (pending?.kind === 'call') this.unanswered.push({ id: pending.id, lane });
  }

  lane(pick: number): Lane {
    return [undefined, ...this.subagents][pick % (this.subagents.length + 1)];
  }

  endRun(pick: number): void {
    for (const text of this.openTexts.splice(0)) this.endText(text);
    for (const call of this.openCalls.splice(0)) this.endCall(call);
    for (const { id, lane } of this.reasoning.splice(0))
      this.emitClosing('REASONING_MESSAGE_END', { messageId: id }, lane);
    for (const id of this.subagents.splice(0)) {
      this.closeChunks(id);
      this.emit('SUBAGENT_FINISHED', {}, id);
    }
    for (const stepName of this.steps.splice(0)) this.emitClosing('STEP_FINISHED', { stepName });
    for (const lane of this.chunks.keys()) this.closeChunks(lane);
    this.events.push(
      runFinished(
        `run${this.runs}`,
        [{}, { outcome: { type: 'success' } }, { outcome: { type: 'cancelled' } }][pick % 3],
      ),
    );
  }

  startRun(messages?: readonly JsonObject[]): void {
    this.runs += 1;
    const input = messages && { threadId: 'thread', runId: `run${this.runs}`, messages };
    this.events.push(runStarted(`run${this.runs}`, input ? { input } : {}));
  }

  endText(text: Opened): void {
    this.emitClosing('TEXT_MESSAGE_END', { messageId: text.id }, text.lane);
    this.closedTexts.push(text);
  }

  endCall(call: Opened): void {
    this.emitClosing('TOOL_CALL_END', { toolCallId: call.id }, call.lane);
    this.unanswered.push(call);
  }

  /** Where a call may hang: nowhere, on a known assistant message, on one to come, or on what can be no parent. */
  parent(pick: number, lane: Lane): { parentMessageId?: string } {
    const assistants = this.assistants.filter((message) => message.lane === lane);
    const choice = pick % 4;
    if (choice === 1 && assistants.length > 0) return { parentMessageId: at(assistants, pick).id };
    if (choice === 2) {
      const id = this.id('p');
      this.assistants.push({ id, lane });
      return { parentMessageId: id };
    }
    if (choice === 3 && lane === undefined && this.others.length > 0) return { parentMessageId: at(this.others, pick) };
    return {};
  }
}

const at = <T>(items: readonly T[], pick: number): T => items[pick % items.length] as T;

const takeOne = <T>(items: T[], pick: number): T | undefined =>
  items.length === 0 ? undefined : items.splice(pick % items.length, 1)[0];

const ROLES = ['assistant', 'assistant', 'user', 'system', 'developer'];

const ACTIONS = {
  openText: (writer, { pick }) => {
    const lane = writer.lane(pick);
    const role = lane === undefined ? at(ROLES, pick) : 'assistant';
    const waiting = writer.assistants.filter(
      (message) => message.lane === lane && !writer.openTexts.some(({ id }) => id === message.id),
    );
    const isChunked = (id: string): boolean => [...writer.chunks.values()].some((pending) => pending.id === id);
    const known = pick % 5 === 0 ? waiting.filter(({ id }) => !isChunked(id)) : [];
    const id = known.length > 0 ? at(known, pick).id : writer.id('m');
    writer.emitClosing('TEXT_MESSAGE_START', { messageId: id, ...(pick % 3 > 0 ? { role } : {}) }, lane);
    writer.openTexts.push({ id, lane });
    if (pick % 3 === 0 || role === 'assistant') writer.assistants.push({ id, lane });
    else writer.others.push(id);
  },
  reopenText: (writer, { pick }) => {
    const text = takeOne(writer.closedTexts, pick);
    if (!text || writer.openTexts.some(({ id }) => id === text.id)) return;
    if (text.lane !== undefined && !writer.subagents.includes(text.lane)) return;
    writer.emitClosing('TEXT_MESSAGE_START', { messageId: text.id }, text.lane);
    writer.openTexts.push(text);
  },
  content: (writer, { pick, text }) => {
    if (writer.openTexts.length === 0) return;
    const { id, lane } = at(writer.openTexts, pick);
    writer.emitClosing('TEXT_MESSAGE_CONTENT', { messageId: id, delta: text }, lane);
  },
  endText: (writer, { pick }) => {
    const text = takeOne(writer.openTexts, pick);
    if (text) writer.endText(text);
  },
  textChunk: (writer, { pick, text }) => {
    const lane = writer.lane(pick);
    const pending = writer.chunks.get(lane);
    if (pending?.kind === 'text' && pick % 3 !== 0) {
      const named = pick % 3 === 1 ? { messageId: pending.id } : {};
      writer.emit('TEXT_MESSAGE_CHUNK', { ...named, delta: text }, lane);
      return;
    }
    writer.closeChunks(lane);
    const id = writer.id('k');
    writer.emit('TEXT_MESSAGE_CHUNK', { messageId: id, ...(pick % 2 ? { role: 'assistant' } : {}), delta: text }, lane);
    writer.chunks.set(lane, { kind: 'text', id });
    writer.assistants.push({ id, lane });
  },
  openCall: (writer, { pick }) => {
    const lane = writer.lane(pick >> 3);
    const id = writer.id('c');
    const parent = writer.parent(pick, lane);
    writer.emitClosing('TOOL_CALL_START', { toolCallId: id, toolCallName: `tool${pick % 3}`, ...parent }, lane);
    writer.openCalls.push({ id, lane });
  },
  arguments: (writer, { pick, json }) => {
    if (writer.openCalls.length === 0) return;
    const { id, lane } = at(writer.openCalls, pick);
    const cut = pick % (json.length + 1);
    for (const delta of [json.slice(0, cut), json.slice(cut)]) {
      writer.emitClosing('TOOL_CALL_ARGS', { toolCallId: id, delta }, lane);
    }
  },
  endCall: (writer, { pick }) => {
    const call = takeOne(writer.openCalls, pick);
    if (call) writer.endCall(call);
  },
  callChunk: (writer, { pick, json }) => {
    const lane = writer.lane(pick);
    const pending = writer.chunks.get(lane);
    if (pending?.kind === 'call' && pick % 3 !== 0) {
      writer.emit('TOOL_CALL_CHUNK', { ...(pick % 3 === 1 ? { toolCallId: pending.id } : {}), delta: json }, lane);
      return;
    }
    const parent = writer.parent(pick, lane);
    writer.closeChunks(lane);
    const id = writer.id('c');
    writer.emit('TOOL_CALL_CHUNK', { toolCallId: id, toolCallName: 'chunked', ...parent, delta: json }, lane);
    writer.chunks.set(lane, { kind: 'call', id });
  },
  result: (writer, { pick, text }) => {
    const call = takeOne(writer.unanswered, pick);
    if (!call || (call.lane !== undefined && !writer.subagents.includes(call.lane))) return;
    const content =
      pick % 4 === 0
        ? [
            { type: 'text', text },
            { type: 'text', text: '.' },
          ]
        : text;
    const id = writer.id('t');
    writer.emitClosing('TOOL_CALL_RESULT', { messageId: id, toolCallId: call.id, content }, call.lane);
    writer.others.push(id);
  },
  reasoning: (writer, { pick, text }) => {
    const lane = writer.lane(pick);
    const open = writer.reasoning.findIndex((message) => message.lane === lane);
    if (open >= 0 && pick % 2 === 0) {
      const [message] = writer.reasoning.splice(open, 1);
      writer.emitClosing('REASONING_MESSAGE_END', { messageId: message?.id ?? '' }, lane);
      return;
    }
    const id = writer.id('r');
    writer.emitClosing('REASONING_MESSAGE_START', { messageId: id, role: 'reasoning' }, lane);
    writer.emitClosing('REASONING_MESSAGE_CONTENT', { messageId: id, delta: text }, lane);
    writer.reasoning.push({ id, lane });
    writer.others.push(id);
  },
  reasoningChunk: (writer, { pick, text }) => {
    const lane = writer.lane(pick);
    if (writer.chunks.get(lane)?.kind === 'reasoning' && pick % 2) {
      writer.emit('REASONING_MESSAGE_CHUNK', { delta: text }, lane);
      return;
    }
    writer.closeChunks(lane);
    const id = writer.id('r');
    writer.emit('REASONING_MESSAGE_CHUNK', { messageId: id, delta: text }, lane);
    writer.chunks.set(lane, { kind: 'reasoning', id });
  },
  activity: (writer, { pick }) => {
    if (writer.activities.length > 0 && pick % 2) {
      const patch = [{ op: 'replace', path: '/n', value: pick }];
      writer.emit('ACTIVITY_DELTA', { messageId: at(writer.activities, pick), activityType: 'plan', patch });
      return;
    }
    const id = writer.id('a');
    writer.emit('ACTIVITY_SNAPSHOT', { messageId: id, activityType: 'plan', content: { n: 0 } });
    writer.activities.push(id);
    writer.others.push(id);
  },
  side: (writer, { pick, text }) => {
    const lane = writer.lane(pick);
    switch (pick % 6) {
      case 0:
        writer.emitClosing('STATE_SNAPSHOT', { snapshot: { text } }, lane);
        return;
      case 1:
        writer.emitClosing('CUSTOM', { name: 'note', value: text }, lane);
        return;
      case 2:
        writer.emit('RAW', { event: { text } }, lane);
        return;
      case 3:
        writer.emit('REASONING_ENCRYPTED_VALUE', { subtype: 'message', entityId: 'x', encryptedValue: text }, lane);
        return;
      case 4:
        writer.emitClosing('STATE_DELTA', { delta: [] }, lane);
        return;
      default:
        writer.emit('FROM_THE_FUTURE', { text });
    }
  },
  step: (writer, { pick }) => {
    const open = pick % 2 ? writer.steps.pop() : undefined;
    if (open !== undefined) {
      writer.emitClosing('STEP_FINISHED', { stepName: open });
      return;
    }
    const stepName = writer.id('step');
    writer.steps.push(stepName);
    writer.emitClosing('STEP_STARTED', { stepName });
  },
  startSubagent: (writer) => {
    const id = writer.id('s');
    writer.emit('SUBAGENT_STARTED', { name: 'scout' }, id);
    writer.subagents.push(id);
  },
  nextRun: (writer, { pick, text }) => {
    if (pick % 3 === 0) {
      for (const lane of writer.chunks.keys()) writer.closeChunks(lane);
      writer.unanswered.push(...writer.openCalls);
      writer.closedTexts.push(...writer.openTexts);
      writer.openTexts = [];
      writer.openCalls = [];
      writer.reasoning = [];
      writer.subagents = [];
      writer.steps = [];
      writer.emit('RUN_ERROR', { message: text });
    } else writer.endRun(pick);
    writer.closedTexts = writer.closedTexts.filter(({ lane }) => lane === undefined);
    writer.unanswered = writer.unanswered.filter(({ lane }) => lane === undefined);
    const asked = { id: writer.id('u'), role: 'user', content: text };
    writer.startRun(pick % 2 ? [asked] : undefined);
  },
} satisfies Record<string, (writer: StreamWriter, step: Step) => void>;

const names = Object.keys(ACTIONS) as (keyof typeof ACTIONS)[];

/** What needs something open, answered or ended to apply comes more often. */
const FREQUENT: readonly (keyof typeof ACTIONS)[] = [
  'content',
  'arguments',
  'result',
  'endText',
  'endCall',
  'reopenText',
];

const step: fc.Arbitrary<Step> = fc.record({
  action: fc.constantFrom(...names, ...FREQUENT, ...FREQUENT, 'openText', 'openCall', 'textChunk', 'callChunk'),
  pick: fc.nat(1000),
  text: fc.string({ unit: 'grapheme', maxLength: 6 }),
  json: fc.oneof(fc.json({ maxDepth: 2 }), fc.constant('{"quay": 3}'), fc.constant('')),
});

export interface MadeStream {
  /** The events up to a place where a snapshot could be sent, then the rest. */
  readonly before: readonly WireEvent[];
  readonly after: readonly WireEvent[];
}

/** Streams that the reference client accepts, in two parts. */
export const validStream: fc.Arbitrary<MadeStream> = fc
  .tuple(fc.array(step, { maxLength: 60, size: 'max' }), fc.array(step, { maxLength: 40, size: 'max' }), fc.nat(5))
  .map(([first, second, last]) => {
    const writer = new StreamWriter();
    writer.startRun();
    const write = (steps: readonly Step[]): void => {
      for (const made of steps) ACTIONS[made.action](writer, made);
    };
    write(first);
    // A snapshot ends every chunked message.
    for (const lane of writer.chunks.keys()) writer.closeChunks(lane);
    const length = writer.events.length;
    write(second);
    writer.endRun(last);
    return { before: writer.events.slice(0, length), after: writer.events.slice(length) };
  });
