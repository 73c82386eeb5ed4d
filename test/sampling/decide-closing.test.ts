import { describe, expect, it } from 'vitest';
import type { Closing } from '../../src/conversation/threads.ts';
import { Threads } from '../../src/conversation/threads.ts';
import { atOnce } from '../../src/lib/steps.ts';
import { type ClosingRules, decideClosing } from '../../src/sampling/decide-closing.ts';
import { assistant, exchange, user } from '../support/exchanges.ts';

const rules: ClosingRules = { sampling: { rate: 1 }, evaluatorVersions: ['v1'], openAtStop: 'judge' };

function closingOf(parts: Parameters<typeof exchange>[0], cause: Closing['cause'] = 'idle'): Closing {
  const threads = new Threads({ idleMs: 1, waitingMs: 1, openRunMs: 1, maxThreads: 10, maxCharacters: 1e6 });
  threads.append(atOnce(threads.merging(exchange(parts))), 0);
  const [closing] = threads.closeAll(1);
  if (!closing) throw new Error('nothing closed');
  return { ...closing, cause };
}

const answered = { input: [user('u1', 'hi')], output: [assistant('a1', 'hello')] };

const decision = (closing: Closing, over: Partial<ClosingRules> = {}) => {
  const made = decideClosing(closing, { ...rules, ...over });
  return made.kind === 'decided' ? made.decision : made.kind;
};

describe('what becomes of a closing', () => {
  it('is a job when it is sampled', () => {
    const made = decideClosing(closingOf(answered), { ...rules, sampling: { rate: 0.999999 } });
    expect(made).toMatchObject({
      kind: 'judge',
      job: {
        agent: 'harbour',
        threadId: 'thread-1',
        revision: 1,
        probability: 0.999999,
        stratum: 'default',
      },
    });
  });

  it.each([
    ['sampled_out', closingOf(answered), { sampling: { rate: 0 } }],
    ['filtered', closingOf(answered), { evaluatorVersions: [] }],
    ['empty', closingOf({ output: [assistant('a1', 'welcome')] }), {}],
    ['incomplete', closingOf({ overrides: { findings: [{ code: 'truncated_tap', at: 0, id: '' }] } }), {}],
    ['incomplete', closingOf(answered, 'waiting'), {}],
    ['incomplete', closingOf(answered, 'open_run'), {}],
    ['incomplete', closingOf({ ...answered, overrides: { ending: 'client_aborted' } }), {}],
    ['incomplete', closingOf({ ...answered, overrides: { findings: [{ code: 'truncated_tap', at: 9, id: '' }] } }), {}],
    ['shed', closingOf(answered, 'evicted'), {}],
    ['expired', closingOf(answered, 'unfinished'), {}],
    ['incomplete', closingOf({ ...answered, overrides: { ending: 'http_error', status: 429 } }), {}],
    ['judge', closingOf({ ...answered, overrides: { ending: 'http_error', status: 500 } }), {}],
    ['judge', closingOf({ ...answered, overrides: { ending: 'upstream_error' } }), {}],
    ['judge', closingOf({ ...answered, overrides: { ending: 'run_error' } }), {}],
  ] as const)('is %s', (expected, closing, over) => {
    expect(decision(closing, over)).toBe(expected);
  });

  describe('when the sidecar stops', () => {
    const stopped = (parts: Parameters<typeof exchange>[0]) => closingOf({ ...answered, ...parts }, 'shutdown');

    it.each([
      ['judge', stopped({}), {}],
      ['judge', stopped({ overrides: { ending: 'run_error' } }), {}],
      ['judge', stopped({ overrides: { ending: 'cancelled' } }), {}],
      ['empty', stopped({ input: [] }), {}],
      ['sampled_out', stopped({}), { sampling: { rate: 0 } }],
      ['filtered', stopped({}), { evaluatorVersions: [] }],
      ['expired', stopped({}), { openAtStop: 'expire' }],
      // Somebody's stop may be the reason for each of these.
      ['expired', stopped({ overrides: { ending: 'client_aborted' } }), {}],
      ['expired', stopped({ overrides: { ending: 'upstream_error' } }), {}],
      ['expired', stopped({ overrides: { ending: 'truncated' } }), {}],
      ['expired', stopped({ overrides: { ending: 'http_error', status: 503 } }), {}],
      ['expired', stopped({ overrides: { findings: [{ code: 'truncated_tap', at: 9, id: '' }] } }), {}],
    ] as const)('is %s', (expected, closing, over) => {
      expect(decision(closing, over)).toBe(expected);
    });

    it('is a job that says so', () => {
      expect(decideClosing(stopped({}), rules)).toMatchObject({ kind: 'judge', job: { cause: 'shutdown' } });
      expect(decideClosing(closingOf(answered), rules)).toMatchObject({ kind: 'judge', job: { cause: 'idle' } });
    });
  });

  it('gives two closings of one thread different job ids, and one closing always the same', () => {
    const closing = closingOf(answered);
    const id = (each: Closing) => {
      const made = decideClosing(each, rules);
      return made.kind === 'judge' ? made.job.id : undefined;
    };
    expect(id(closing)).toBe(id({ ...closing }));
    expect(id(closing)).not.toBe(id({ ...closing, revision: 2 }));
  });
});
