import { z } from 'zod';
import { createOpenAiJudge, type OpenAiJudgeOptions } from '../../src/judge/openai-judge.ts';
import type { Judge, JudgeCall, JudgeError, JudgeRequest } from '../../src/judge/judge.ts';
import { startJudgeServer, type JudgeServer, type JudgeServerOptions } from '../support/judge-server.ts';

const berth = z.object({ berth: z.string(), free: z.boolean() });

export type Berth = z.infer<typeof berth>;

export const FREE: Berth = { berth: 'A4', free: true };

/** A question with an answer of two fields; what it asks does not matter to the client. */
export const question: JudgeRequest<Berth> = {
  schemaName: 'berth',
  schema: berth,
  messages: [
    { role: 'system', content: 'You keep the berths of a harbour.' },
    { role: 'user', content: 'Is A4 free for the Albatross tonight?' },
  ],
};

export interface Bench extends AsyncDisposable {
  readonly server: JudgeServer;
  readonly judge: Judge & AsyncDisposable;
  /** Every call reported, in order. */
  readonly calls: JudgeCall[];
  /** How long the judge slept between tries, in milliseconds. */
  readonly slept: number[];
  /** Lets the judge's clock run. */
  pass(ms: number): void;
  ask(request?: JudgeRequest<Berth>, signal?: AbortSignal): Promise<Berth>;
  /** Asks and expects a failure. */
  fail(request?: JudgeRequest<Berth>): Promise<JudgeError>;
}

/** A judge in front of a scripted server, on a clock that only moves when the judge sleeps or the test says so. */
export async function setUp(script: JudgeServerOptions, options: Partial<OpenAiJudgeOptions> = {}): Promise<Bench> {
  const server = await startJudgeServer(script);
  const calls: JudgeCall[] = [];
  const slept: number[] = [];
  let time = 1_700_000_000_000;
  const judge = createOpenAiJudge({
    model: 'keeper-1',
    baseUrl: server.baseUrl,
    now: () => time,
    random: () => 0.5,
    sleep: async (ms) => {
      slept.push(ms);
      time += ms;
    },
    ...options,
  });
  const ask: Bench['ask'] = (request = question, signal = new AbortController().signal) =>
    judge.ask(request, { signal, onCall: (call) => calls.push(call) });
  return {
    server,
    judge,
    calls,
    slept,
    pass: (ms) => void (time += ms),
    ask,
    fail: (request) =>
      ask(request).then(
        (value) => Promise.reject(new Error(`answered with ${JSON.stringify(value)}`)),
        (error: unknown) => error as JudgeError,
      ),
    async [Symbol.asyncDispose]() {
      await judge[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The outcomes of the calls reported. */
export const outcomes = (calls: readonly JudgeCall[]): readonly string[] => calls.map(({ outcome }) => outcome);
