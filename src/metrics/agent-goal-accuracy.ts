import { z } from 'zod';
import { endsOnPendingCall, hasUserTurn } from '../conversation/completion.ts';
import { chooseMark, renderTranscript, type Transcript } from '../conversation/transcript.ts';
import type { Judge, JudgeRequest } from '../judge/judge.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Metric, MetricInput, Verdict } from './metric.ts';
import { GOAL_AND_END_STATE_INSTRUCTIONS, GOAL_AND_END_STATE_QUESTION } from './prompts/goal-and-end-state.ts';
import {
  OUTCOME_COMPARISON_INSTRUCTIONS,
  OUTCOME_COMPARISON_ONLY_INSTRUCTIONS,
  OUTCOME_COMPARISON_QUESTION,
} from './prompts/outcome-comparison.ts';
import { presentQuoted, presentRecord, presentTopicsOfAgent } from './prompts/record.ts';
import { SAMPLE } from './sample.ts';
import { evaluatorVersion } from './version.ts';
import { failedVerdict, passOrFail } from './verdict.ts';

const goalAndEndState = z.object({ user_goal: z.string(), end_state: z.string() });
const outcomeComparison = z.object({ reason: z.string(), verdict: z.enum(['0', '1']) });

const params = z.strictObject({
  threshold: z.number().min(0).max(1).default(1),
  /** What the agent is there for, so that the judge can tell which refusals were right. Unused with `compat`. */
  reference_topics: z.array(z.string().min(1)).min(1).optional(),
  compat: z.literal('ragas').optional(),
});

type GoalAccuracyParams = z.output<typeof params>;

/** Did the agent reach what the user wanted, as inferred from the conversation? 1 or 0. Definition: docs/metrics.md. */
export const agentGoalAccuracy: Metric<GoalAccuracyParams> = {
  ...sharedParts('agent_goal_accuracy', SAMPLE.goal),
  title: 'Agent goal accuracy',
  needs: [],
  score: (input, judge, signal) => score(input, undefined, judge, signal),
};

/** Did the agent reach the outcome that the reference describes? 1 or 0. Definition: docs/metrics.md. */
export const agentGoalAccuracyWithReference: Metric<GoalAccuracyParams> = {
  ...sharedParts('agent_goal_accuracy_with_reference', SAMPLE.reference),
  title: 'Agent goal accuracy, with reference',
  needs: ['reference'],
  score(input, judge, signal) {
    if (input.reference === undefined) throw new TypeError('agent_goal_accuracy_with_reference was called without one');
    return score(input, input.reference, judge, signal);
  },
};

/** @param desired the outcome that the sample requests compare with. */
function sharedParts(
  name: string,
  desired: string,
): Pick<Metric<GoalAccuracyParams>, 'name' | 'range' | 'evaluator' | 'params' | 'version'> {
  return {
    name,
    range: [0, 1],
    evaluator: 'llm',
    params,
    version: (given, judgeModel) =>
      evaluatorVersion({
        metric: name,
        requests: (transcript) => [
          { request: inferenceRequest(transcript, given) },
          { request: comparisonRequest(transcript, { desired, arrived: SAMPLE.endState }, given) },
        ],
        params: given,
        judgeModel,
      }),
  };
}

async function score(
  input: MetricInput<GoalAccuracyParams>,
  reference: string | undefined,
  judge: Judge,
  signal: AbortSignal,
): Promise<Verdict> {
  const { threshold, compat } = input.params;
  const asRagas = compat === 'ragas';
  if (!asRagas) {
    const why = whyNotApplicable(input);
    if (why !== undefined) return { kind: 'not_applicable', why };
  }
  const transcript = renderTranscript(input.messages);
  let details: JsonObject = transcript.truncated ? { truncated: true } : {};
  try {
    const inferred = await judge.ask(inferenceRequest(transcript, input.params), { signal });
    details = { ...inferred, ...details };
    if (!asRagas && isNothing(inferred.user_goal)) {
      return { kind: 'not_applicable', why: 'The user asked for nothing.', details };
    }
    const outcome = { desired: reference ?? inferred.user_goal, arrived: inferred.end_state };
    const { reason, verdict } = await judge.ask(comparisonRequest(transcript, outcome, input.params), { signal });
    const value = verdict === '1' ? 1 : 0;
    return { kind: 'scored', value, label: passOrFail(value, threshold), reason, details };
  } catch (error) {
    return failedVerdict(error, details);
  }
}

/** The rules that need no judge, in the order of docs/metrics.md. */
function whyNotApplicable({ messages, waiting }: MetricInput<GoalAccuracyParams>): string | undefined {
  if (!hasUserTurn(messages)) return 'The conversation has no user turn.';
  if (waiting ?? endsOnPendingCall(messages)) return 'The run waits for a person, so its outcome is still open.';
  return undefined;
}

/** Judges asked for an empty string now and then name the nothing. No user's goal is one of these words. */
const isNothing = (goal: string): boolean => /^[\s\p{P}]*(?:none|null|n\/a)?[\s\p{P}]*$/iu.test(goal);

function inferenceRequest(
  transcript: Transcript,
  { compat, reference_topics: topics }: GoalAccuracyParams,
): JudgeRequest<z.output<typeof goalAndEndState>> {
  const asRagas = compat === 'ragas';
  const topicsOfAgent = asRagas ? [] : presentTopicsOfAgent(topics);
  const question = [presentRecord(transcript), ...topicsOfAgent, GOAL_AND_END_STATE_QUESTION];
  return {
    schemaName: 'goal_and_end_state',
    schema: goalAndEndState,
    messages: [
      { role: 'system', content: GOAL_AND_END_STATE_INSTRUCTIONS },
      { role: 'user', content: question.join('\n\n') },
    ],
    repair: !asRagas,
  };
}

interface Outcome {
  readonly desired: string;
  readonly arrived: string;
}

function comparisonRequest(
  transcript: Transcript,
  { desired, arrived }: Outcome,
  { compat, reference_topics: topics }: GoalAccuracyParams,
): JudgeRequest<z.output<typeof outcomeComparison>> {
  if (compat === 'ragas') return comparisonAsRagas({ desired, arrived });
  const question = [
    presentRecord(transcript),
    ...presentTopicsOfAgent(topics),
    presentQuoted(transcript.mark, 'desired outcome', desired),
    presentQuoted(transcript.mark, 'note on the state arrived at', arrived),
    OUTCOME_COMPARISON_QUESTION,
  ];
  return {
    schemaName: 'outcome_comparison',
    schema: outcomeComparison,
    messages: [
      { role: 'system', content: OUTCOME_COMPARISON_INSTRUCTIONS },
      { role: 'user', content: question.join('\n\n') },
    ],
  };
}

function comparisonAsRagas({ desired, arrived }: Outcome): JudgeRequest<z.output<typeof outcomeComparison>> {
  const mark = chooseMark(`${desired}\n${arrived}`);
  const question = [
    presentQuoted(mark, 'desired outcome', desired),
    presentQuoted(mark, 'outcome arrived at', arrived),
  ];
  return {
    schemaName: 'outcome_comparison',
    schema: outcomeComparison,
    messages: [
      { role: 'system', content: OUTCOME_COMPARISON_ONLY_INSTRUCTIONS },
      { role: 'user', content: question.join('\n\n') },
    ],
    repair: false,
  };
}
