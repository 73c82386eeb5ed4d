import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../lib/json.ts';
import type { Interrupt } from './exchange.ts';
import { type NoteLeniency, readLeniently, unnoticed } from './lenient.ts';
import { readArguments } from './tool-arguments.ts';

/** Interrupts of a RUN_FINISHED outcome (AG-UI 1.0). */
export function readInterrupts(value: JsonValue | undefined, note: NoteLeniency): Interrupt[] {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : isJsonObject(value) ? [value] : [];
  return items.flatMap((item, index) =>
    isJsonObject(item) ? readInterrupt(item, `interrupt-${index + 1}`, note) : [],
  );
}

/**
 * The interrupt of a CUSTOM `on_interrupt` event (LangGraph, Mastra), whose value is JSON, often as text. `fallbackId`
 * names one that carries no id. The value may be anything, so nothing in it is unusual.
 */
export function readCustomInterrupt(value: JsonValue | undefined, fallbackId: string): Interrupt {
  const payload = typeof value === 'string' ? parseJson(value) : value;
  return isJsonObject(payload) ? readInterrupt(payload, fallbackId, unnoticed) : { id: fallbackId };
}

function readInterrupt(item: JsonObject, fallbackId: string, note: NoteLeniency): Interrupt {
  const fields = readLeniently(item, note);
  const id = fields.id ?? fields.interruptId;
  const toolCallId = typeof fields.toolCallId === 'string' ? fields.toolCallId : undefined;
  const call = describedCall(fields);
  const args = readArguments(call?.args);
  return {
    id: typeof id === 'string' ? id : (toolCallId ?? fallbackId),
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(typeof call?.toolName === 'string' ? { toolName: call.toolName } : {}),
    ...(args === undefined ? {} : { args }),
  };
}

/** Where the name of the interrupted call stands: beside the id, in `metadata`, or in `metadata.<framework>`. */
function describedCall(fields: JsonObject): JsonObject | undefined {
  const metadata = isJsonObject(fields.metadata) ? fields.metadata : {};
  return [fields, metadata, ...Object.values(metadata)]
    .filter(isJsonObject)
    .map((place) => readLeniently(place, unnoticed))
    .find((place) => typeof place.toolName === 'string');
}

/** Interrupts kept of one exchange. A run waits for a person on a few. */
export const MAX_INTERRUPTS = 1000;

/**
 * Adds an interrupt to those that are known; false when there are too many. One call interrupts once, however many
 * events say so: Mastra announces it both as CUSTOM and in the outcome; the outcome's id is the one a resume names.
 */
export function addInterrupt(known: Interrupt[], interrupt: Interrupt): boolean {
  const { id, toolCallId } = interrupt;
  const at = known.findIndex((held) => held.id === id || (toolCallId !== undefined && held.toolCallId === toolCallId));
  if (at >= 0) known[at] = { ...known[at], ...interrupt };
  else if (known.length < MAX_INTERRUPTS) known.push(interrupt);
  else return false;
  return true;
}
