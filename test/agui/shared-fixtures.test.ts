import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { toRagasMessages } from '../../src/conversation/ragas.ts';
import type { JsonObject, JsonValue } from '../../src/lib/json.ts';
import { hasSharedFixtures, SHARED_FIXTURES } from '../support/shared.ts';
import { fromCollector, fromReference, type WireEvent } from './reference-client.ts';
import { encodeSse, fold, foldBytes, waysToCut } from './streams.ts';

interface CollectorCase {
  readonly name: string;
  readonly events: readonly WireEvent[];
  readonly client?: readonly JsonObject[];
  readonly ragas: JsonValue;
}

interface ConformanceCase {
  readonly name: string;
  readonly stream: readonly WireEvent[];
  readonly expect: Expectation;
  readonly expectOverrides?: { readonly typescript?: Expectation };
}

interface Expectation {
  readonly outcome?: string;
  readonly messages?: readonly JsonObject[];
  readonly messageCount?: number;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(new URL(path, SHARED_FIXTURES), 'utf8'));

describe.skipIf(!hasSharedFixtures)('shared collector streams', () => {
  const cases = hasSharedFixtures
    ? ['designed', 'random'].flatMap((set) => readJson(`collector/${set}.json`) as CollectorCase[])
    : [];

  it.each(cases.map((made) => [made.name, made] as const))('%s', async (_, { events, client, ragas }) => {
    const whole = fold(events);
    expect(toRagasMessages(whole.messages)).toEqual(ragas);
    if (client) expect(fromCollector(whole.messages)).toEqual(fromReference(client));
    for (const { name, pieces } of waysToCut(encodeSse(events))) {
      expect({ way: name, folded: await foldBytes(pieces) }).toEqual({ way: name, folded: whole });
    }
  });
});

describe.skipIf(!hasSharedFixtures)('shared conformance streams', () => {
  const cases = hasSharedFixtures
    ? ['streams', 'streams-1.0', 'streams-draft'].flatMap((folder) =>
        readdirSync(new URL(`agui-conformance/${folder}/`, SHARED_FIXTURES))
          .filter((file) => file.endsWith('.json'))
          .map((file) => [file, readJson(`agui-conformance/${folder}/${file}`) as ConformanceCase] as const),
      )
    : [];

  it.each(cases)('%s', async (_, { stream, ...fixture }) => {
    const whole = fold(stream);
    for (const { name, pieces } of waysToCut(encodeSse(stream))) {
      expect({ way: name, folded: await foldBytes(pieces) }).toEqual({ way: name, folded: whole });
    }
    const expected = { ...fixture.expect, ...fixture.expectOverrides?.typescript };
    if (expected.outcome !== 'completed') return;
    const held = fromCollector(whole.messages);
    if (expected.messages) expect(held).toEqual(asSubset(expected.messages, held));
    else if (expected.messageCount !== undefined) expect(held).toHaveLength(expected.messageCount);
  });

  /** What an expectation leaves open is taken from what is held: members it does not name assert nothing. */
  function asSubset(messages: readonly JsonObject[], held: ReturnType<typeof fromCollector>) {
    const shown = messages.filter(({ role }) => role !== 'reasoning' && role !== 'activity');
    return fromReference(shown).map((message, index) => ({
      ...message,
      ...(shown[index]?.id === undefined ? { id: held[index]?.id } : {}),
      ...(shown[index]?.toolCalls === undefined ? { toolCalls: held[index]?.toolCalls } : {}),
      ...(shown[index]?.content === undefined ? { text: held[index]?.text } : {}),
    }));
  }
});
