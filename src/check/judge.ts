import type { JudgeConfig } from '../config/config.ts';
import type { Message } from '../conversation/message.ts';
import type { JudgeCall, JudgeErrorType } from '../judge/judge.ts';
import { createOpenAiJudge } from '../judge/openai-judge.ts';
import { recordCalls } from '../judge/record-calls.ts';
import { agentGoalAccuracy } from '../metrics/agent-goal-accuracy.ts';
import type { Failed, Verdict } from '../metrics/metric.ts';
import type { CheckResult } from './check-result.ts';
import { reach } from './reach.ts';

/** A conversation that any judge must find achieved. */
const PLAIN_CASE: readonly Message[] = [
  { role: 'user', id: 'u1', text: 'Please book a table for two at Da Mario for 7 pm tonight.' },
  {
    role: 'assistant',
    id: 'a1',
    text: '',
    toolCalls: [
      {
        id: 'c1',
        name: 'book_table',
        args: { restaurant: 'Da Mario', guests: 2, time: '19:00' },
        state: 'answered',
      },
    ],
  },
  { role: 'tool', id: 't1', toolCallId: 'c1', text: '{"status":"confirmed","reference":"DM-1907"}' },
  {
    role: 'assistant',
    id: 'a2',
    text: 'Done: a table for two at Da Mario at 7 pm tonight. Your reference is DM-1907.',
    toolCalls: [],
  },
];

/**
 * Whether the judge really judges: a small conversation is put to it by the metric, prompts and schemas that are used in
 * service. Nothing is sent twice, so that a failure that comes and goes is seen.
 */
export async function checkJudge(config: JudgeConfig, signal: AbortSignal): Promise<CheckResult> {
  const item = 'judge';
  if (config.kind === 'off') {
    return {
      item,
      status: 'skipped',
      detail: 'Nothing is judged: there is neither a key nor an endpoint.',
      remedy: 'Set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint of your own.',
    };
  }
  const calls: JudgeCall[] = [];
  const verdict = await judgePlainCase(config, calls, signal);
  const cost = describeCalls(calls);
  switch (verdict.kind) {
    case 'failed':
      return { item, status: 'failed', ...(await explain(verdict, config, signal)) };
    case 'not_applicable':
      return {
        item,
        status: 'ok',
        detail: `${config.model} answers, but saw no goal in a plain request. ${TOO_WEAK} ${cost}`,
      };
    case 'scored':
      if (verdict.value !== 1) {
        const wrong = `${config.model} answers, but got a plain case wrong: ${verdict.reason}`;
        return { item, status: 'ok', detail: `${wrong} ${TOO_WEAK} ${cost}` };
      }
      return { item, status: 'ok', detail: `${config.model} at ${config.baseUrl} judges. ${cost}` };
  }
}

/** What was seen, and what to do: an endpoint that cannot be reached has nothing to do with key and model. */
async function explain(
  { errorType, cause }: Failed,
  { model, baseUrl }: JudgeConfig & { kind: 'on' },
  signal: AbortSignal,
): Promise<Pick<CheckResult, 'detail' | 'remedy'>> {
  if (errorType === 'unavailable' || errorType === 'timeout') {
    const reached = await reach(new URL(baseUrl).origin, {}, { timeoutMs: REACH_TIMEOUT_MS, signal });
    if (reached.kind === 'unreachable' && !reached.isThere) {
      return {
        detail: `${baseUrl} ${reached.why}.`,
        remedy: `Start the judge, or correct judge.base_url (OPENAI_BASE_URL). ${MEANWHILE}`,
      };
    }
  }
  return {
    detail: `${model} at ${baseUrl} gave no verdict (${errorType}): ${cause}.`,
    remedy: `${REMEDIES[errorType] ?? ANOTHER_MODEL} ${MEANWHILE}`,
  };
}

const REACH_TIMEOUT_MS = 10_000;

const MEANWHILE = 'Until then conversations are counted as judge_failed.';

/** For answers that are no verdicts. */
const ANOTHER_MODEL = 'Take another model: judge.model (JUDGE_MODEL).';

const REMEDIES: Readonly<Partial<Record<JudgeErrorType, string>>> = {
  unauthorized: 'Correct judge.api_key (OPENAI_API_KEY), or what the key may use.',
  rate_limited: 'Wait, or raise the limits of the account behind judge.api_key (OPENAI_API_KEY).',
  timeout: 'Allow more with judge.timeout (JUDGE_TIMEOUT), or take a faster model: judge.model (JUDGE_MODEL).',
  unavailable: "Correct judge.base_url (OPENAI_BASE_URL) or judge.model (JUDGE_MODEL), or see the endpoint's own log.",
  malformed:
    'See that judge.base_url (OPENAI_BASE_URL) is an OpenAI-compatible endpoint, or take another model: judge.model (JUDGE_MODEL).',
};

async function judgePlainCase(
  config: JudgeConfig & { kind: 'on' },
  calls: JudgeCall[],
  signal: AbortSignal,
): Promise<Verdict> {
  const judge = createOpenAiJudge({ ...config, retries: 0 });
  const params = agentGoalAccuracy.params.parse({});
  try {
    return await agentGoalAccuracy.score({ messages: PLAIN_CASE, params }, recordCalls(judge, calls), signal);
  } finally {
    await judge[Symbol.asyncDispose]();
  }
}

const TOO_WEAK = 'Its scores would mean little: try a stronger model, and score --suite.';

function describeCalls(calls: readonly JudgeCall[]): string {
  const answered = calls.filter(({ outcome }) => outcome === 'success');
  const last = answered.at(-1);
  const sum = (read: (call: JudgeCall) => number | undefined) =>
    calls.reduce((total, call) => total + (read(call) ?? 0), 0);
  const facts = [
    ...(last?.format === undefined ? [] : [`answers by ${last.format}`]),
    ...(last?.responseModel === undefined || last.responseModel === last.model ? [] : [`as ${last.responseModel}`]),
    `${calls.length} requests in ${Math.round(sum(({ startedAt, endedAt }) => endedAt - startedAt))} ms`,
    `${sum(({ inputTokens }) => inputTokens)} tokens in, ${sum(({ outputTokens }) => outputTokens)} out`,
  ];
  return `${facts.join(', ')}.`;
}
