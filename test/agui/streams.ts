import type { BaseEvent } from '@ag-ui/core';
import { encode } from '@ag-ui/proto';
import { type Fold, type Folded, openFold } from '../../src/agui/fold.ts';
import { readRunRequest } from '../../src/agui/input.ts';
import { pacedInput } from '../../src/agui/paced-input.ts';
import { openStreamReader, type StreamFormat } from '../../src/agui/read-stream.ts';
import type { StreamEnd } from '../../src/agui/run-log.ts';
import type { JsonObject, JsonValue } from '../../src/lib/json.ts';
import { atOnce } from '../../src/lib/steps.ts';
import { runFinished, runStarted, type WireEvent } from './reference-client.ts';

/** A fold that has taken these events. */
export function foldOf(events: readonly JsonValue[], request?: JsonValue): Fold {
  const folding = atOnce(openFold(readRunRequest(request)));
  for (const event of events) {
    const rest = folding.pushing(event);
    if (rest) atOnce(rest);
  }
  return folding;
}

/** Folds events that are at hand as values. */
export const fold = (events: readonly JsonValue[], request?: JsonValue, end: StreamEnd = 'complete'): Folded =>
  atOnce(foldOf(events, request).finishing(end));

/** Folds the events of one run, without its beginning and end. */
export const foldRun = (events: readonly WireEvent[], request?: JsonObject): Folded =>
  fold([runStarted(), ...events, runFinished()], request);

/** Folds bytes, pushed piece by piece. */
export async function foldBytes(pieces: readonly Uint8Array[], format: StreamFormat = 'sse'): Promise<Folded> {
  const folding = atOnce(openFold());
  const input = pacedInput(folding);
  const reader = await openStreamReader(format, input, { maxEventBytes: 1024 * 1024 });
  for (const piece of pieces) reader.push(piece);
  reader.end();
  await input.settle();
  return atOnce(folding.finishing('complete'));
}

export const encodeSse = (events: readonly JsonValue[]): Buffer =>
  Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));

export function encodeFrames(events: readonly WireEvent[]): Buffer {
  return Buffer.concat(
    events.flatMap((event) => {
      const frame = encode(event as unknown as BaseEvent);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(frame.length);
      return [length, frame];
    }),
  );
}

export const byteByByte = (bytes: Uint8Array): Uint8Array[] => Array.from(bytes, (byte) => Uint8Array.of(byte));

/** Cuts bytes at places that follow from the seed, so a failure can be had again. */
export function cutAtRandom(bytes: Uint8Array, seed: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let state = seed;
  for (let at = 0; at < bytes.length;) {
    // A linear congruential generator (Numerical Recipes) is enough to choose places.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const length = 1 + ((state >>> 16) % 40);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

/** The ways of cutting that a stream's reading must not depend on. The seed is part of the name, so of every failure. */
export function waysToCut(bytes: Uint8Array): { readonly name: string; readonly pieces: readonly Uint8Array[] }[] {
  const seeds = Array.from({ length: 3 }, () => Math.floor(Math.random() * 2 ** 32));
  return [
    { name: 'whole', pieces: [bytes] },
    { name: 'byte by byte', pieces: byteByByte(bytes) },
    ...seeds.map((seed) => ({ name: `cut at random, seed ${seed}`, pieces: cutAtRandom(bytes, seed) })),
  ];
}

/** Messages in one line each, for reading and comparing at a glance. */
export function sketch(folded: Folded): string[] {
  return folded.messages.map((message) => {
    const calls = message.role === 'assistant' ? message.toolCalls : [];
    const marks = [
      ...calls.map(({ name, args, state }) => `${name}(${JSON.stringify(args)}) ${state}`),
      ...(message.role === 'tool' ? [`for ${message.toolCallId}`] : []),
      ...(message.role === 'assistant' && message.partial ? ['partial'] : []),
      ...(message.snapshotOmits ? ['omitted'] : []),
    ];
    return [`${message.role} ${message.id}`, JSON.stringify(message.text), ...marks].join(' | ');
  });
}

export const findingsOf = (folded: Folded): string[] =>
  folded.findings.map(({ code, at, id }) => `${code} ${at} ${id}`.trim());

export const textStart = (messageId: string, more: JsonObject = {}): WireEvent => ({
  type: 'TEXT_MESSAGE_START',
  messageId,
  ...more,
});
export const text = (messageId: string, delta: string): WireEvent => ({
  type: 'TEXT_MESSAGE_CONTENT',
  messageId,
  delta,
});
export const textEnd = (messageId: string): WireEvent => ({ type: 'TEXT_MESSAGE_END', messageId });
/** A whole text message. */
export const say = (messageId: string, delta: string): WireEvent[] => [
  textStart(messageId),
  text(messageId, delta),
  textEnd(messageId),
];
export const callStart = (toolCallId: string, more: JsonObject = {}): WireEvent => ({
  type: 'TOOL_CALL_START',
  toolCallId,
  toolCallName: 'tides',
  ...more,
});
export const args = (toolCallId: string, delta: string): WireEvent => ({ type: 'TOOL_CALL_ARGS', toolCallId, delta });
export const callEnd = (toolCallId: string): WireEvent => ({ type: 'TOOL_CALL_END', toolCallId });
/** A whole tool call. */
export const call = (toolCallId: string, json = '{}', more: JsonObject = {}): WireEvent[] => [
  callStart(toolCallId, more),
  args(toolCallId, json),
  callEnd(toolCallId),
];
export const result = (toolCallId: string, content: JsonValue, messageId = `r-${toolCallId}`): WireEvent => ({
  type: 'TOOL_CALL_RESULT',
  toolCallId,
  messageId,
  content,
});
export const snapshot = (...messages: readonly JsonObject[]): WireEvent => ({ type: 'MESSAGES_SNAPSHOT', messages });
