import type { JudgedRecord, Turn } from './record.ts';

/** Who speaks, in every reason: nobody is to take these answers for those of a model. */
export const JUDGE_NAME = 'scripted-judge';

/** One thing the user asks for. */
interface Request {
  /** The reference topic whose word it contains, or the request's own first words. */
  readonly topic: string;
  readonly onTopic: boolean;
  readonly refused: boolean;
  /** Number of the user turn. */
  readonly turn: number;
  /** Words of that turn, as they stand there. */
  readonly evidence: string;
}

/**
 * The rules behind each schema, all of them here to be read. They look at words and at tool results, which is enough for
 * the demo's conversations and for nothing else: this is a stand-in, so that the pipeline can be seen without a model.
 */
export const ANSWERS: Readonly<Record<string, (record: JudgedRecord) => unknown>> = {
  goal_and_end_state(record) {
    const requests = findRequests(record);
    const inGoal = requests.filter((request) => !rightlyDeclined(request));
    const sentences = [...new Set(inGoal.map(({ turn }) => textOf(record, turn)))].join(' ');
    const declined = requests.map(({ evidence }) => evidence).join('; ');
    const goal = requests.length === 0 ? '' : sentences || `a request that was right to decline: ${declined}`;
    return { user_goal: goal, end_state: endState(record) };
  },

  outcome_comparison(record) {
    const failure = whyNotReached(record);
    return failure === undefined
      ? { reason: `${JUDGE_NAME}: ${whyReached(record)}`, verdict: '1' }
      : { reason: `${JUDGE_NAME}: ${failure}`, verdict: '0' };
  },

  topic_outcomes: (record) => ({
    topics: findRequests(record).map(({ topic, onTopic, refused, turn, evidence }) => ({
      topic: `${topic} (${JUDGE_NAME})`,
      on_topic: onTopic,
      refused,
      turn,
      evidence,
    })),
  }),
};

const SMALL_TALK = /^\s*(?:hello|hi|good (?:morning|day|evening)|thanks|thank you|bye)\b/i;
const ASKS = /\?\s*$|^\s*(?:please|can|could|tell|show|write|give|help)\b/i;
const DECLINES = /\b(?:cannot|can't|won't|will not|unable to) help\b/i;

/**
 * A sentence of the user that holds a word of a reference topic raises that topic, once in a conversation. Another
 * sentence that asks for something raises a topic of its own, outside of them.
 */
function findRequests(record: JudgedRecord): Request[] {
  const raised = new Map<string, Omit<Request, 'refused'>>();
  for (const { number: turn, text } of record.turns.filter(({ role }) => role === 'user')) {
    for (const [sentence] of text.matchAll(/[^.?!\n]+[.?!]*/g)) {
      if (SMALL_TALK.test(sentence)) continue;
      const named = record.topics.flatMap((topic) => {
        const evidence = wordOf(topic, sentence);
        return evidence === undefined ? [] : [{ topic, onTopic: true, turn, evidence }];
      });
      const evidence = sentence.trim();
      const own = ASKS.test(sentence) ? [{ topic: firstWords(evidence), onTopic: false, turn, evidence }] : [];
      for (const request of named.length > 0 ? named : own) {
        if (!raised.has(request.topic)) raised.set(request.topic, request);
      }
    }
  }
  const requests = [...raised.values()];
  return requests.map((request) => ({ ...request, refused: isRefused(request, requests, record) }));
}

/** The word of `sentence` that begins like a word of `topic` does: "ferries" for "ferry tickets". */
function wordOf(topic: string, sentence: string): string | undefined {
  const stems = topic.split(/\s+/).map((word) => word.toLowerCase().replace(/(?:ies|y|s)$/, ''));
  return sentence.match(/[\p{L}\p{N}]+/gu)?.find((word) => stems.some((stem) => word.toLowerCase().startsWith(stem)));
}

/** Declined by a sentence that names it; or by one that names nothing, when the user's turn raised nothing else. */
function isRefused(
  request: Omit<Request, 'refused'>,
  all: readonly Omit<Request, 'refused'>[],
  record: JudgedRecord,
): boolean {
  const declining = answersTo(request.turn, record)
    .flatMap(({ text }) => text.match(/[^.?!]+[.?!]*/g) ?? [])
    .filter((sentence) => DECLINES.test(sentence));
  const alone = all.filter(({ turn }) => turn === request.turn).length === 1;
  return declining.some(
    (sentence) => alone || longWords(request.evidence).some((word) => longWords(sentence).includes(word)),
  );
}

const rightlyDeclined = ({ onTopic, refused }: Request): boolean => !onTopic && refused;

/** Undefined when the goal was reached. */
function whyNotReached(record: JudgedRecord): string | undefined {
  const requests = findRequests(record);
  if (requests.length > 0 && requests.every(rightlyDeclined)) return undefined;

  const declined = requests.find(({ onTopic, refused }) => onTopic && refused);
  if (declined !== undefined) return `${declined.topic}, asked for in turn ${declined.turn}, was declined.`;

  const lastUser = record.turns.findLast(({ role }) => role === 'user');
  const lastAnswer = answersTo(lastUser?.number ?? 0, record).at(-1);
  if (lastAnswer === undefined) return `turn ${lastUser?.number} was never answered.`;

  const lastResult = record.turns.findLast(({ role }) => role === 'tool');
  if (lastResult !== undefined && reportsError(lastResult)) {
    return `turn ${lastResult.number} reports an error that nothing made good, whatever turn ${lastAnswer.number} says.`;
  }
  if (/\?\s*$/.test(lastAnswer.text)) return `turn ${lastAnswer.number} is a question that was never answered.`;
  return undefined;
}

function whyReached(record: JudgedRecord): string {
  const answer = record.turns.findLast(({ role, text }) => role === 'assistant' && text !== '');
  if (findRequests(record).every(rightlyDeclined)) return `turn ${answer?.number} declines what is off topic.`;
  const result = record.turns.findLast(({ role }) => role === 'tool');
  return result === undefined
    ? `turn ${answer?.number} answers.`
    : `turn ${result.number} reports no error and turn ${answer?.number} answers.`;
}

function endState({ turns }: JudgedRecord): string {
  const result = turns.findLast(({ role }) => role === 'tool');
  const words = turns.findLast(({ role, text }) => role === 'assistant' && text !== '');
  const parts = [
    result && `the last tool result is ${result.text} (turn ${result.number})`,
    words ? `the assistant ends with “${words.text}” (turn ${words.number})` : 'the assistant says nothing',
  ];
  return `${parts.filter(Boolean).join('; ')}.`;
}

/** What the assistant says between a user turn and the next. */
function answersTo(turn: number, { turns }: JudgedRecord): Turn[] {
  const next = turns.find(({ number, role }) => role === 'user' && number > turn)?.number ?? Infinity;
  return turns.filter(
    ({ number, role, text }) => role === 'assistant' && text !== '' && number > turn && number < next,
  );
}

function reportsError({ failed, text }: Turn): boolean {
  return failed || /"error"\s*:/.test(text);
}

const textOf = ({ turns }: JudgedRecord, turn: number): string =>
  turns.find(({ number }) => number === turn)?.text ?? '';
const firstWords = (text: string): string => text.split(/\s+/).slice(0, 6).join(' ');
const longWords = (text: string): string[] => text.toLowerCase().match(/\p{L}{5,}/gu) ?? [];
