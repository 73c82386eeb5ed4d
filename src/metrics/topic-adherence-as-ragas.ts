import { z } from 'zod';
import { chooseMark, type Transcript } from '../conversation/transcript.ts';
import type { AskOptions, Judge, JudgeRequest } from '../judge/judge.ts';
import { lenientBoolean } from './lenient-boolean.ts';
import { presentQuoted, presentRecord } from './prompts/record.ts';
import {
  TOPIC_CLASSIFICATION_INSTRUCTIONS,
  TOPIC_REFUSAL_INSTRUCTIONS,
  TOPICS_INSTRUCTIONS,
} from './prompts/topics-as-ragas.ts';
import { SAMPLE } from './sample.ts';
import type { TopicOutcome } from './topic-outcomes.ts';
import type { SampleRequest } from './version.ts';

const topics = z.object({ topics: z.array(z.string()) });
const topicRefusal = z.object({ refused_to_answer: z.boolean() });
const topicClassification = z.object({ classifications: z.array(z.boolean()) });

interface NamedTopicOutcome extends TopicOutcome {
  readonly topic: string;
}

/**
 * Ragas' steps: list the topics, ask for each whether it was refused, classify all of them at once. One call after the
 * other; nothing is asked twice; a list of classifications that is too short is filled with false, a longer one is cut.
 *
 * @throws {JudgeError} when one of the calls fails.
 */
export async function askAsRagas(
  transcript: Transcript,
  referenceTopics: readonly string[],
  judge: Judge,
  options: AskOptions,
): Promise<readonly NamedTopicOutcome[]> {
  const { topics: found } = await judge.ask(topicsRequest(transcript), options);
  if (found.length === 0) return [];
  const refused: boolean[] = [];
  for (const topic of found) {
    const answer = await judge.ask(refusalRequest(transcript, topic), options);
    refused.push(answer.refused_to_answer);
  }
  const { classifications } = await judge.ask(classificationRequest(found, referenceTopics), options);
  return found.map((topic, index) => ({
    topic,
    on_topic: classifications[index] ?? false,
    refused: refused[index] ?? false,
  }));
}

/** The requests that {@link askAsRagas} makes when the one topic found is that of the sample. */
export function sampleRequestsAsRagas(
  transcript: Transcript,
  referenceTopics: readonly string[],
): readonly SampleRequest[] {
  return [
    { request: topicsRequest(transcript) },
    { request: refusalRequest(transcript, SAMPLE.topic) },
    { request: classificationRequest([SAMPLE.topic], referenceTopics) },
  ];
}

function topicsRequest(transcript: Transcript): JudgeRequest<z.output<typeof topics>> {
  return {
    schemaName: 'topics',
    schema: topics,
    messages: [
      { role: 'system', content: TOPICS_INSTRUCTIONS },
      { role: 'user', content: `${presentRecord(transcript)}\n\nList the topics.` },
    ],
    repair: false,
  };
}

function refusalRequest(transcript: Transcript, topic: string): JudgeRequest<z.output<typeof topicRefusal>> {
  const question = [
    presentRecord(transcript),
    presentQuoted(transcript.mark, 'topic', topic),
    'Was this topic refused?',
  ];
  return {
    schemaName: 'topic_refusal',
    schema: topicRefusal,
    read: z.object({ refused_to_answer: lenientBoolean }),
    messages: [
      { role: 'system', content: TOPIC_REFUSAL_INSTRUCTIONS },
      { role: 'user', content: question.join('\n\n') },
    ],
    repair: false,
  };
}

function classificationRequest(
  found: readonly string[],
  referenceTopics: readonly string[],
): JudgeRequest<z.output<typeof topicClassification>> {
  const [reference, listed] = [JSON.stringify(referenceTopics), JSON.stringify(found)];
  const mark = chooseMark(reference + listed);
  const question = [presentQuoted(mark, 'reference topics', reference), presentQuoted(mark, 'topics', listed)];
  return {
    schemaName: 'topic_classification',
    schema: topicClassification,
    read: z.object({ classifications: z.array(lenientBoolean) }),
    messages: [
      { role: 'system', content: TOPIC_CLASSIFICATION_INSTRUCTIONS },
      { role: 'user', content: question.join('\n\n') },
    ],
    repair: false,
  };
}
