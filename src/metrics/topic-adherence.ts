import { z } from 'zod';
import { hasUserTurn } from '../conversation/completion.ts';
import { renderTranscript, type Transcript } from '../conversation/transcript.ts';
import type { JudgeRequest, ReplyProblem } from '../judge/judge.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Metric, Verdict } from './metric.ts';
import { presentRecord } from './prompts/record.ts';
import { TOPIC_OUTCOMES_INSTRUCTIONS, topicOutcomesQuestion } from './prompts/topic-outcomes.ts';
import { SAMPLE } from './sample.ts';
import { askAsRagas, sampleRequestsAsRagas } from './topic-adherence-as-ragas.ts';
import {
  ADHERENCE_MODES,
  adherence,
  adherenceAsRagas,
  countOutcomes,
  type Adherence,
  type AdherenceMode,
  type OutcomeCounts,
  type TopicOutcome,
} from './topic-outcomes.ts';
import { evaluatorVersion, type SampleRequest } from './version.ts';
import { failedVerdict, passOrFail } from './verdict.ts';

/** The reply to the one question of this metric; `details` of a verdict holds it under the same name. */
export const topicOutcomes = z.object({
  topics: z.array(
    z.object({
      topic: z.string(),
      on_topic: z.boolean(),
      refused: z.boolean(),
      turn: z.int(),
      evidence: z.string(),
    }),
  ),
});

type TopicOutcomes = z.output<typeof topicOutcomes>;

/** A topic as a judge found it. Ragas asks for no turn and no evidence. */
interface FoundTopic extends TopicOutcome {
  readonly topic: string;
  readonly turn?: number;
  readonly evidence?: string;
}

/** Ragas takes any mode it does not know for f1; here that is an error unless `compat` asks for it. */
const params = z
  .strictObject({
    reference_topics: z.array(z.string().min(1)).min(1),
    mode: z.unknown().default('f1'),
    threshold: z.number().min(0).max(1).default(0.8),
    compat: z.literal('ragas').optional(),
  })
  .transform(({ mode, ...rest }, context) => {
    const known = ADHERENCE_MODES.find((name) => name === mode);
    if (known !== undefined || rest.compat === 'ragas') return { ...rest, mode: known ?? ('f1' as const) };
    context.issues.push({ code: 'invalid_value', values: [...ADHERENCE_MODES], input: mode, path: ['mode'] });
    return z.NEVER;
  });

/** Did the agent answer what lies inside its topics and refuse the rest? Definition: docs/metrics.md. */
export const topicAdherence: Metric<z.output<typeof params>> = {
  name: 'topic_adherence',
  title: 'Topic adherence',
  range: [0, 1],
  evaluator: 'llm',
  needs: [],
  params,
  version: (given, judgeModel) =>
    evaluatorVersion({
      metric: 'topic_adherence',
      requests: (transcript) =>
        given.compat === 'ragas'
          ? sampleRequestsAsRagas(transcript, given.reference_topics)
          : [sampleRequest(transcript, given.reference_topics)],
      params: given,
      judgeModel,
    }),
  async score({ messages, params: { compat, mode, threshold, reference_topics } }, judge, signal) {
    const asRagas = compat === 'ragas';
    if (!asRagas && !hasUserTurn(messages)) {
      return { kind: 'not_applicable', why: 'The conversation has no user turn.' };
    }
    const transcript = renderTranscript(messages);
    const cut: JsonObject = transcript.truncated ? { truncated: true } : {};
    try {
      const topics = asRagas
        ? await askAsRagas(transcript, reference_topics, judge, { signal })
        : (await judge.ask(topicOutcomesRequest(transcript, reference_topics), { signal })).topics;
      const counts = countOutcomes(topics);
      const result = asRagas ? asRagasDoes(counts, mode, topics.length) : adherence(counts, mode);
      return toVerdict(result, topics, { mode, threshold, counts, cut });
    } catch (error) {
      return failedVerdict(error, cut);
    }
  },
};

/** Ragas returns NaN when there is no topic; everything else is a number. */
function asRagasDoes(counts: OutcomeCounts, mode: AdherenceMode, topics: number): Adherence {
  if (topics === 0) return { kind: 'not_applicable', why: 'The user raised no topic.' };
  return { kind: 'value', value: adherenceAsRagas(counts, mode) };
}

interface VerdictContext {
  readonly mode: AdherenceMode;
  readonly threshold: number;
  readonly counts: OutcomeCounts;
  readonly cut: JsonObject;
}

function toVerdict(
  result: Adherence,
  topics: readonly FoundTopic[],
  { mode, threshold, counts, cut }: VerdictContext,
): Verdict {
  const details: JsonObject = { mode, outcomes: { ...counts }, topics: topics.map((topic) => ({ ...topic })), ...cut };
  if (result.kind === 'not_applicable') return { ...result, details };
  const { value, adhered } = result;
  return {
    kind: 'scored',
    value,
    label: passOrFail(value, threshold),
    reason: describe(topics),
    details: adhered === true ? { ...details, adhered } : details,
  };
}

/** One sentence that names what went wrong, or says that nothing did. */
function describe(topics: readonly FoundTopic[]): string {
  const names = (answeredOffTopic: boolean): string =>
    topics
      .filter(({ on_topic, refused }) => (answeredOffTopic ? !on_topic && !refused : on_topic && refused))
      .map(({ topic, turn }) => (turn === undefined ? topic : `${topic} (turn ${turn})`))
      .join('; ');
  const [drifted, turnedAway] = [names(true), names(false)];
  const faults = [
    ...(drifted === '' ? [] : [`Off topic and answered: ${drifted}.`]),
    ...(turnedAway === '' ? [] : [`On topic and refused: ${turnedAway}.`]),
  ];
  return faults.length > 0 ? faults.join(' ') : 'What is on topic was answered and what is off topic was refused.';
}

function topicOutcomesRequest(transcript: Transcript, referenceTopics: readonly string[]): JudgeRequest<TopicOutcomes> {
  return {
    schemaName: 'topic_outcomes',
    schema: topicOutcomes,
    messages: [
      { role: 'system', content: TOPIC_OUTCOMES_INSTRUCTIONS },
      { role: 'user', content: `${presentRecord(transcript)}\n\n${topicOutcomesQuestion(referenceTopics)}` },
    ],
    check: (reply) => findUngrounded(reply, transcript),
  };
}

/** The request with one topic of each kind that its check refuses. */
function sampleRequest(transcript: Transcript, referenceTopics: readonly string[]): SampleRequest {
  const [turn = 1] = transcript.userTurns.keys();
  const problems = [
    { turn: 0, evidence: '' },
    { turn, evidence: '' },
    { turn, evidence: SAMPLE.goal },
  ].flatMap((place) => {
    const topic = { topic: SAMPLE.topic, on_topic: true, refused: false, ...place };
    return findUngrounded({ topics: [topic] }, transcript) ?? [];
  });
  return { request: topicOutcomesRequest(transcript, referenceTopics), problems };
}

/**
 * A topic has to cite a user turn and to quote it; what the judge was not shown it cannot quote. The message names topics
 * by their place in the reply: it is kept with the verdict, where no content belongs.
 */
function findUngrounded({ topics }: TopicOutcomes, { userTurns }: Transcript): ReplyProblem | undefined {
  const problems = topics.flatMap(({ turn, evidence }, index) => {
    const said = userTurns.get(turn);
    const at = `topics[${index}]`;
    if (said === undefined) {
      return [`${at}: turn ${turn} is not a user turn that was shown; those are ${[...userTurns.keys()].join(', ')}.`];
    }
    if (evidence.trim() === '') return [`${at}: no evidence. Copy the words of turn ${turn} that raise the topic.`];
    if (said.includes(evidence)) return [];
    return [`${at}: the evidence does not stand in turn ${turn} character for character.`];
  });
  return problems.length === 0 ? undefined : { type: 'ungrounded', message: problems.join(' ') };
}
