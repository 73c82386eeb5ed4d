import { isJsonObject, type JsonObject, type JsonValue } from '../src/lib/json.ts';
import { DEEP_TEXTS, HOSTILE_KEYS, HOSTILE_NUMBERS, HOSTILE_TEXTS, HOSTILE_VALUES } from './hostile.ts';
import type { Random } from './random.ts';

/**
 * One change at one place of a value. `donor` is another input: parts of it are spliced in.
 *
 * The place is found by going down from the top, further the more often chance says so; what is not on the way there is shared
 * with the value that came in.
 */
export function mutate(value: JsonValue, random: Random, donor: JsonValue): JsonValue {
  if (Array.isArray(value)) return mutateList(value, random, donor);
  if (isJsonObject(value)) return mutateObject(value, random, donor);
  if (random.chance(0.05)) return random.pick(HOSTILE_VALUES);
  if (typeof value === 'string') return mutateText(value, random, donor);
  if (typeof value === 'number') return mutateNumber(value, random);
  return random.pick(HOSTILE_VALUES);
}

const GO_DOWN = 0.75;

function mutateList(list: readonly JsonValue[], random: Random, donor: JsonValue): JsonValue {
  const at = random.below(list.length);
  const other = random.below(list.length);
  const item = list[at];
  if (item !== undefined && random.chance(GO_DOWN)) return list.with(at, mutate(item, random, donor));
  const end = at + 1 + random.below(4);
  switch (random.below(10)) {
    case 0:
      return list.toSpliced(at, 1);
    case 1:
      return list.toSpliced(other, 0, ...list.slice(at, end));
    case 2:
      return item === undefined ? [[]] : list.with(at, list[other] ?? null).with(other, item);
    case 3:
      return list.slice(0, at);
    case 4:
      return list.toSpliced(at, end - at);
    case 5:
      return list.toSpliced(at, 0, partOf(donor, random));
    case 6:
      return list.toSpliced(at, 0, random.pick(HOSTILE_VALUES));
    case 7:
      return list.toSpliced(at, 0, ...repeated(list.slice(at, end), 2 + random.below(40)));
    case 8:
      return list.toReversed();
    default:
      return random.chance(0.2) ? random.pick(HOSTILE_VALUES) : [...list.slice(at), ...list.slice(0, at)];
  }
}

function mutateObject(object: JsonObject, random: Random, donor: JsonValue): JsonValue {
  const entries = Object.entries(object);
  const at = random.below(entries.length);
  const [key, value] = entries[at] ?? ['', null];
  if (entries.length > 0 && random.chance(GO_DOWN))
    return ofEntries(entries.with(at, [key, mutate(value, random, donor)]));
  switch (random.below(7)) {
    case 0:
      return ofEntries(entries.toSpliced(at, 1));
    case 1:
      return ofEntries([...entries, [random.pick(HOSTILE_KEYS), value]]);
    case 2:
      return ofEntries(entries.toSpliced(at, 1, [random.pick(HOSTILE_KEYS), value]));
    case 3:
      return ofEntries(
        entries.toSpliced(at, 1, [key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
      );
    case 4:
      return ofEntries(entries.toSpliced(at, 1, [key, random.pick(HOSTILE_VALUES)]));
    case 5:
      return ofEntries([...entries, [random.pick(HOSTILE_KEYS), partOf(donor, random)]]);
    default:
      return ofEntries(entries.toSpliced(at, 1, [key, partOf(donor, random)]));
  }
}

/** Makes `__proto__` a member like any other, as JSON.parse does. */
const ofEntries = (entries: readonly (readonly [string, JsonValue])[]): JsonObject => Object.fromEntries(entries);

function mutateNumber(number: number, random: Random): number {
  return random.pick([...HOSTILE_NUMBERS, number + 1, number - 1, number * 2, Math.floor(number / 2)]);
}

function mutateText(text: string, random: Random, donor: JsonValue): string {
  const at = random.below(text.length + 1);
  const length = 1 + random.below(random.chance(0.5) ? 4 : 80);
  const [head, cut, tail] = [text.slice(0, at), text.slice(at, at + length), text.slice(at + length)];
  switch (random.below(12)) {
    case 0:
      return head + String.fromCharCode((text.charCodeAt(at) || 0) ^ (1 << random.below(8))) + text.slice(at + 1);
    case 1:
      return head + tail;
    case 2:
      return head + cut + cut + tail;
    case 3:
      return head + random.pick(HOSTILE_TEXTS) + cut + tail;
    case 4:
      return random.pick(HOSTILE_TEXTS);
    case 5:
      return head;
    case 6:
      return text.replaceAll('\n', random.pick(['\r\n', '\r', '\n\n']));
    case 7:
      return mutateBlocks(text, random);
    case 8: {
      const other = partOf(donor, random);
      const from = typeof other === 'string' ? other : '';
      return head + from.slice(random.below(from.length)) + tail;
    }
    case 9:
      return afterColon(text, at, (value) => `${random.pick(DEEP_TEXTS)},"a":${value}`);
    case 10:
      return afterColon(text, at, (value) => `${JSON.stringify(random.pick(HOSTILE_VALUES))},"a":${value}`);
    default:
      return head + String.fromCharCode(random.below(random.chance(0.1) ? 0x1_0000 : 256)) + tail;
  }
}

/** Deletes, doubles or moves whole events of an event stream, or whole lines. */
function mutateBlocks(text: string, random: Random): string {
  const separator = text.includes('\n\n') && random.chance(0.8) ? '\n\n' : '\n';
  const blocks = text.split(separator);
  const at = random.below(blocks.length);
  const block = blocks[at] ?? '';
  const rest = blocks.toSpliced(at, 1);
  const changed = [rest, blocks.toSpliced(at, 0, block), rest.toSpliced(random.below(rest.length + 1), 0, block)];
  return random.pick(changed).join(separator);
}

/** Puts a value of its own behind the next `":` and what stood there behind another name, so that JSON stays JSON. */
function afterColon(text: string, at: number, change: (value: string) => string): string {
  const colon = text.indexOf('":', at);
  return colon < 0 ? text : text.slice(0, colon + 2) + change('') + text.slice(colon + 2);
}

function repeated<Item>(items: readonly Item[], times: number): Item[] {
  return Array.from({ length: times }, () => items).flat();
}

/** Some part of a value, itself included. */
function partOf(value: JsonValue, random: Random): JsonValue {
  const children = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  return children.length === 0 || random.chance(0.2) ? value : partOf(random.pick(children), random);
}

/**
 * Makes a value about `size` characters longer, by repeating a list or a text in it. Repeated items are often numbered, so
 * that each has an id of its own.
 */
export function inflate(value: JsonValue, size: number, random: Random): JsonValue {
  if (typeof value === 'string') return value === '' ? value : value.repeat(Math.ceil(size / value.length));
  if (Array.isArray(value)) {
    const list: readonly JsonValue[] = value;
    if (list.length === 0) return list;
    const at = random.below(list.length);
    if (random.chance(0.3)) return list.with(at, inflate(list[at] ?? null, size, random));
    const items = random.chance(0.5) ? list : list.slice(at, at + 1);
    const times = Math.ceil(size / JSON.stringify(items).length);
    const isNumbered = random.chance(0.6);
    const copies = Array.from({ length: times }, (_, number) => (isNumbered ? numbered(items, number) : items));
    return [...list.slice(0, at), ...copies.flat(), ...list.slice(at)];
  }
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value);
  const holders = entries.filter(([, child]) => typeof child === 'object' && child !== null);
  const [chosen] = random.pick(holders.length > 0 ? holders : [...entries, ['', null] as const]);
  return ofEntries(entries.map(([key, child]) => [key, key === chosen ? inflate(child, size, random) : child]));
}

/** The items with this number in place of every other in their texts. */
function numbered(items: readonly JsonValue[], number: number): readonly JsonValue[] {
  return items.map((item) => renumber(item, String(number)));
}

function renumber(value: JsonValue, number: string): JsonValue {
  if (typeof value === 'string') return value.replaceAll(/\d+/g, number);
  if (Array.isArray(value)) return value.map((item: JsonValue) => renumber(item, number));
  if (!isJsonObject(value)) return value;
  return ofEntries(Object.entries(value).map(([key, child]) => [key, renumber(child, number)]));
}
