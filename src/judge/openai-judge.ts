import { setTimeout as delay } from 'node:timers/promises';
import { createBag } from '../lib/bag.ts';
import { followAbort, type FollowingController } from '../lib/follow-abort.ts';
import { createLimit } from '../lib/limit.ts';
import { createCircuit } from './circuit.ts';
import type { Judge } from './judge.ts';
import { createNegotiation } from './negotiate.ts';
import { openChat } from './openai.ts';
import { putQuestion } from './question.ts';

export interface OpenAiJudgeOptions {
  readonly model: string;
  /** Where `/chat/completions` is found, for example `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  /** Absent for endpoints that need none. */
  readonly apiKey?: string;
  /** How long one request may take, in milliseconds; waiting for a place is not part of it. Default 60 000. */
  readonly timeoutMs?: number;
  /** How often one question is sent again after failures that may pass; 0 or more. Default 2. */
  readonly retries?: number;
  /** How many questions are under way at once; at least 1. Default 4. */
  readonly concurrency?: number;
  /** How long an endpoint that refuses everybody is left alone, in milliseconds. Default 30 000. */
  readonly coolDownMs?: number;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when that aborts. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const DEFAULTS = {
  timeoutMs: 60_000,
  retries: 2,
  concurrency: 4,
  coolDownMs: 30_000,
  now: Date.now,
  random: Math.random,
  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
  },
} as const;

/** A day: more is a slip of the unit, and much more would overflow a Node timer, which then fires at once. */
const LONGEST_TIMEOUT_MS = 86_400_000;

/**
 * A judge behind any OpenAI-compatible chat-completions endpoint. Disposing of it aborts the questions under way, waits
 * for them to end, and refuses later ones.
 *
 * @throws {RangeError} for a number out of range.
 * @throws {TypeError} for a `baseUrl` that is no URL.
 */
export function createOpenAiJudge(options: OpenAiJudgeOptions): Judge & AsyncDisposable {
  const settings = { ...DEFAULTS, ...options };
  requireInteger('timeoutMs', settings.timeoutMs, 1, LONGEST_TIMEOUT_MS);
  requireInteger('retries', settings.retries, 0);
  requireInteger('concurrency', settings.concurrency, 1);

  const { protocol, hostname, port } = new URL(settings.baseUrl);
  const limit = createLimit(settings.concurrency);
  const negotiation = createNegotiation();
  const circuit = createCircuit(settings);
  const means = { ...settings, chat: openChat(settings), negotiation, circuit };
  const underWay = createBag<{ readonly question: FollowingController; readonly answer: Promise<unknown> }>();
  let closed: DOMException | undefined;

  return {
    model: settings.model,
    endpoint: { host: hostname, port: Number(port) || (protocol === 'http:' ? 80 : 443) },

    admission: () => circuit.admission(),

    async ask(request, { signal, onCall }) {
      const question = followAbort(signal);
      if (closed) question.abort(closed);
      const stop = question.signal;
      // A question keeps its place while it waits to be sent again: an endpoint that pushes back gets fewer of them.
      const answer = limit(stop, () =>
        negotiation.pass(stop, () =>
          circuit.pass(() => putQuestion(request, means, { signal: stop, ...(onCall && { onCall }) })),
        ),
      );
      const leave = underWay.add({ question, answer });
      try {
        return await answer;
      } finally {
        question.unfollow();
        leave();
      }
    },

    async [Symbol.asyncDispose]() {
      closed ??= new DOMException('the judge was closed', 'AbortError');
      const open = underWay.items();
      for (const { question } of open) question.abort(closed);
      await Promise.allSettled(open.map(({ answer }) => answer));
    },
  };
}

function requireInteger(name: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new RangeError(`${name} is ${value}; expected a whole number from ${least} to ${most}`);
}
