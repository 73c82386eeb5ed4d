import { describe, expect, it } from 'vitest';
import { topicAdherence } from '../../src/metrics/topic-adherence.ts';
import { setUp } from '../judge/questions.ts';
import { assistant, user } from '../support/exchanges.ts';
import type { JudgeServerReply } from '../support/judge-server.ts';
import { NEVER, scriptedJudge } from '../support/scripted-judge.ts';

const TALK = [
  user('u1', 'Which knot holds a wet rope?'),
  assistant('a1', 'A double fisherman.'),
  user('u2', 'Good. And what is a fair rent in Leith?'),
  assistant('a2', 'That is outside of what I know.'),
];
const KNOTS = { topic: 'knots for wet rope', on_topic: true, refused: false, turn: 1, evidence: 'holds a wet rope' };
const RENT = { topic: 'rents', on_topic: false, refused: true, turn: 3, evidence: 'a fair rent in Leith' };

const params = (given: object = {}) => topicAdherence.params.parse({ reference_topics: ['knots'], ...given });

const score = (answers: readonly unknown[], given: object = {}, messages = TALK) => {
  const judge = scriptedJudge(answers);
  return { judge, verdict: topicAdherence.score({ messages, params: params(given) }, judge, NEVER) };
};

describe('topic adherence', () => {
  it('asks one question and scores what comes back, with the four counts and every topic in the details', async () => {
    const { judge, verdict } = score([{ topics: [KNOTS, RENT] }]);
    expect(await verdict).toEqual({
      kind: 'scored',
      value: 1,
      label: 'pass',
      reason: 'What is on topic was answered and what is off topic was refused.',
      details: {
        mode: 'f1',
        outcomes: { on_topic_answered: 1, off_topic_answered: 0, on_topic_refused: 0, off_topic_refused: 1 },
        topics: [KNOTS, RENT],
      },
    });
    expect(judge.seen.map(({ schemaName }) => schemaName)).toEqual(['topic_outcomes']);
  });

  it('names in its reason what was answered off topic and what was refused on topic', async () => {
    const { verdict } = score([
      {
        topics: [
          { ...KNOTS, refused: true },
          { ...RENT, refused: false },
        ],
      },
    ]);
    expect(await verdict).toMatchObject({
      value: 0,
      label: 'fail',
      reason: 'Off topic and answered: rents (turn 3). On topic and refused: knots for wet rope (turn 1).',
    });
  });

  it.each(['precision', 'recall', 'f1'])('is 1 and adhered when all was off topic and refused, by %s', async (mode) => {
    const { verdict } = score([{ topics: [RENT] }], { mode });
    expect(await verdict).toMatchObject({ kind: 'scored', value: 1, label: 'pass', details: { adhered: true } });
  });

  it('does not apply to small talk', async () => {
    const { verdict } = score([{ topics: [] }]);
    expect(await verdict).toMatchObject({ kind: 'not_applicable', why: 'The user raised no topic.' });
  });

  it('does not apply where its mode divides by nothing, and tells the counts all the same', async () => {
    const { verdict } = score([{ topics: [{ ...KNOTS, refused: true }] }], { mode: 'precision' });
    expect(await verdict).toMatchObject({ kind: 'not_applicable', details: { outcomes: { on_topic_refused: 1 } } });
  });

  it('asks nothing about a conversation without a user turn', async () => {
    const { judge, verdict } = score([], {}, [assistant('a', 'Anyone?')]);
    expect(await verdict).toMatchObject({ kind: 'not_applicable', why: 'The conversation has no user turn.' });
    expect(judge.seen).toEqual([]);
  });

  it('labels by the threshold', async () => {
    const topics = [KNOTS, KNOTS, { ...RENT, refused: false }];
    expect(await score([{ topics }]).verdict).toMatchObject({ value: 0.8, label: 'pass' });
    expect(await score([{ topics }], { threshold: 0.81 }).verdict).toMatchObject({ value: 0.8, label: 'fail' });
  });
});

describe('evidence', () => {
  /** Scores by the judge that is used in service, which puts a fault back once. */
  const scoreByEndpoint = async (replies: readonly JudgeServerReply[], messages = TALK) => {
    await using bench = await setUp({ scripts: { topic_outcomes: replies } });
    const verdict = await topicAdherence.score({ messages, params: params() }, bench.judge, NEVER);
    return { verdict, requests: bench.server.requests };
  };
  const twice = (topic: typeof KNOTS): readonly JudgeServerReply[] =>
    [topic, topic].map((each) => ({ value: { topics: [each] } }));

  it.each([
    ['words that do not stand in the turn', { ...KNOTS, evidence: 'Which knots hold' }],
    ['words of another turn', { ...KNOTS, evidence: 'A double fisherman.' }],
    ['words in other case', { ...KNOTS, evidence: 'holds a Wet rope' }],
    ['no words', { ...KNOTS, evidence: ' ' }],
    ['a turn that is not a user turn', { ...KNOTS, turn: 2, evidence: 'A double fisherman.' }],
    ['a turn that does not exist', { ...KNOTS, turn: 9 }],
    ['turn 0', { ...KNOTS, turn: 0 }],
  ])('%s fails the judgement as ungrounded after one retry', async (_, topic) => {
    const { verdict, requests } = await scoreByEndpoint(twice(topic));
    expect(verdict).toMatchObject({ kind: 'failed', errorType: 'ungrounded' });
    expect(requests).toHaveLength(2);
    expect(requests[1]?.messages.at(-1)?.content).toMatch(/topics\[0\]: .*turn \d/);
  });

  it('may be corrected in the retry', async () => {
    const { verdict } = await scoreByEndpoint([
      { value: { topics: [{ ...KNOTS, turn: 2 }] } },
      { value: { topics: [KNOTS] } },
    ]);
    expect(verdict).toMatchObject({ kind: 'scored', value: 1 });
  });

  it('cannot be taken from what the judge was not shown', async () => {
    const long = [user('u', `${'a '.repeat(20_000)}SECRET${' z'.repeat(20_000)}`)];
    const { judge, verdict } = score([{ topics: [{ ...KNOTS, evidence: 'SECRET' }] }], {}, long);
    expect(await verdict).toMatchObject({ kind: 'failed', errorType: 'ungrounded', details: { truncated: true } });
    expect(JSON.stringify(judge.seen)).not.toContain('SECRET');
  });

  it('that does not hold is not repeated in the cause, which may be logged', async () => {
    const topic = { ...KNOTS, topic: 'private matter', evidence: 'private words' };
    const { verdict } = await scoreByEndpoint(twice(topic));
    expect(verdict).toMatchObject({ kind: 'failed', errorType: 'ungrounded' });
    expect(JSON.stringify(verdict)).not.toContain('private');
  });
});

describe('parameters', () => {
  it('have f1 and 0.8 as defaults', () => {
    expect(params()).toEqual({ reference_topics: ['knots'], mode: 'f1', threshold: 0.8 });
  });

  it.each([
    [{ reference_topics: [] }],
    [{ reference_topics: [''] }],
    [{ mode: 'accuracy' }],
    [{ threshold: 1.1 }],
    [{ compat: 'langchain' }],
    [{ modus: 'f1' }],
  ])('%j are refused', (given) => {
    expect(topicAdherence.params.safeParse({ reference_topics: ['knots'], ...given }).success).toBe(false);
  });
});

describe('compat "ragas"', () => {
  it('asks for the topics, for each in order whether it was refused, and once for all where they belong', async () => {
    const { judge, verdict } = score(
      [
        { topics: ['knots', 'rents'] },
        { refused_to_answer: false },
        { refused_to_answer: true },
        { classifications: [true, false] },
      ],
      { compat: 'ragas' },
    );
    expect(await verdict).toMatchObject({
      details: {
        topics: [
          { topic: 'knots', on_topic: true, refused: false },
          { topic: 'rents', on_topic: false, refused: true },
        ],
      },
    });
    expect(judge.seen.map(({ schemaName, repair }) => [schemaName, repair])).toEqual([
      ['topics', false],
      ['topic_refusal', false],
      ['topic_refusal', false],
      ['topic_classification', false],
    ]);
    expect(judge.seen[1]?.messages.at(-1)?.content).toContain('\nknots\n');
    expect(judge.seen[2]?.messages.at(-1)?.content).toContain('\nrents\n');
  });

  it('judges a conversation that has no user turn', async () => {
    const { judge, verdict } = score([{ topics: [] }], { compat: 'ragas' }, []);
    expect(await verdict).toMatchObject({ kind: 'not_applicable' });
    expect(judge.seen).toHaveLength(1);
  });
});
