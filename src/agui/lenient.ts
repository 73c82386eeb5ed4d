import type { JsonObject, JsonValue } from '../lib/json.ts';

/** What was unusual about an object that could be read all the same. */
export type Leniency = 'null_optional' | 'snake_case';

/** Fields whose value may be any JSON, null included. */
const MAY_BE_NULL = new Set(['snapshot', 'value', 'event', 'result', 'state', 'payload', 'forwardedProps']);

const CAMEL_CASE_OF = new Map(
  [
    'threadId',
    'runId',
    'parentRunId',
    'protocolVersion',
    'rawEvent',
    'messageId',
    'parentMessageId',
    'toolCallId',
    'toolCallName',
    'toolCalls',
    'toolName',
    'subagentRunId',
    'parentSubagentRunId',
    'parentToolCallId',
    'stepName',
    'activityType',
    'entityId',
    'encryptedValue',
    'mimeType',
    'interruptId',
    'forwardedProps',
    'pendingToolCallIds',
    'inputTokens',
    'outputTokens',
    'totalTokens',
    'reasoningTokens',
    'cachedInputTokens',
    'cacheWriteInputTokens',
  ].map((name) => [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name]),
);

export type NoteLeniency = (leniency: Leniency) => void;

/** For what is no agent's work, so nothing about it becomes a finding. */
export const unnoticed = (): void => {};

/**
 * The object as AG-UI 1.0 would have written it: members that are null are absent, names in snake_case are in camelCase.
 * Real servers send both (.NET serialises nulls; some Python servers leave the aliases out). Only this level is read:
 * a reader calls it for each object that the protocol describes.
 */
export function readLeniently(object: JsonObject, note: NoteLeniency): JsonObject {
  if (!needsRepair(object)) return object;
  const repaired: [name: string, value: JsonValue][] = [];
  for (const [key, value] of Object.entries(object)) {
    if (value === null) {
      if (!MAY_BE_NULL.has(key)) note('null_optional');
      continue;
    }
    const name = CAMEL_CASE_OF.get(key);
    if (name === undefined) repaired.push([key, value]);
    else if (object[name] === undefined || object[name] === null) {
      note('snake_case');
      repaired.push([name, value]);
    }
  }
  return Object.fromEntries(repaired);
}

function needsRepair(object: JsonObject): boolean {
  for (const key in object) {
    if (object[key] === null || (key.includes('_') && CAMEL_CASE_OF.has(key))) return true;
  }
  return false;
}
