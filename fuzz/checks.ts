import assert from 'node:assert/strict';
import type { DroppedFindings, Finding } from '../src/agui/findings.ts';
import { FINDING_CODES } from '../src/agui/findings.ts';
import { FINDINGS_PER_CODE } from '../src/agui/finding-log.ts';

const BUILT_IN = [Object.prototype, Array.prototype, String.prototype, Function.prototype];
const MEMBERS = BUILT_IN.map((prototype) => Reflect.ownKeys(prototype).length);

/** No input has put a member on what all objects share. */
export function assertUnpolluted(): void {
  assert.deepEqual(
    BUILT_IN.map((prototype) => Reflect.ownKeys(prototype).length),
    MEMBERS,
    'a built-in prototype has another number of members than at the start',
  );
}

/** Values that nest deeper cannot be cloned, and soon not be written down. */
const MAX_DEPTH = 1000;

/**
 * The value is plain JSON: writing it down and reading it again gives the same.
 *
 * @returns its length as text.
 */
export function assertPlainJson(value: unknown): number {
  const text = JSON.stringify(value);
  assertPlain(value, '$');
  assert.equal(JSON.stringify(JSON.parse(text)), text, 'reading the JSON again gave something else');
  return text.length;
}

function assertPlain(value: unknown, path: string, depth = 0): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      assert.ok(Number.isFinite(value), `${path}: given ${value}, expected a finite number`);
      return;
    case 'object':
      if (value === null) return;
      assert.ok(depth <= MAX_DEPTH, 'it nests too deep');
      if (Array.isArray(value)) {
        for (const [index, item] of value.entries()) assertPlain(item, `${path}[${index}]`, depth + 1);
        return;
      }
      assert.equal(Object.getPrototypeOf(value), Object.prototype, `${path}: given an object of a class`);
      for (const [key, item] of Object.entries(value)) assertPlain(item, `${path}.${key}`, depth + 1);
      return;
    default:
      assert.fail(`${path}: given ${typeof value}, expected JSON`);
  }
}

/** No more findings are kept than the bound says, each once, in order. */
export function assertFindings(findings: readonly Finding[], dropped: readonly DroppedFindings[]): void {
  for (const [code, ofCode] of Map.groupBy(findings, (finding) => finding.code)) {
    assert.ok(FINDING_CODES.includes(code), `"${code}" is no code of a finding`);
    assert.ok(ofCode.length <= FINDINGS_PER_CODE, `${ofCode.length} findings of ${code} are kept`);
  }
  for (const { code, count } of dropped) {
    assert.ok(count > 0);
    assert.equal(findings.filter((finding) => finding.code === code).length, FINDINGS_PER_CODE);
  }
  assert.deepEqual(
    findings,
    findings.toSorted((one, other) => one.at - other.at),
    'findings are out of order',
  );
}

/** What was made of an input is in proportion to it. `per`: characters for each byte; `flat`: for none. */
export function assertInProportion(
  characters: number,
  bytes: number,
  { per, flat }: { per: number; flat: number },
): void {
  assert.ok(characters <= flat + per * bytes, `${characters} characters came of ${bytes} bytes`);
}
