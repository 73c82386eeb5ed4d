import { describe, expect, it } from 'vitest';
import type { Conversation } from '../../examples/conversations.ts';
import type { ReceivedSpan } from '../../examples/demo/otlp-receiver.ts';
import { readSamples } from '../../examples/demo/prometheus-text.ts';
import { findMissing, type Evidence } from '../../examples/demo/verify.ts';

const judged: Conversation = {
  name: 'judged',
  shows: 'a drift',
  turns: [{ say: 'Hello' }],
  expected: { kind: 'judged', goal: 1, topics: 0.5 },
};
const smallTalk: Conversation = {
  ...judged,
  name: 'small-talk',
  expected: { kind: 'judged', goal: 'not_applicable', topics: 'not_applicable' },
};
const waiting: Conversation = { ...judged, name: 'waiting', expected: { kind: 'waiting' } };

function run(threadId: string): ReceivedSpan {
  const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.conversation.id': threadId };
  return { name: 'invoke_agent', traceId: threadId, spanId: 'run', parentSpanId: '', attributes, events: [] };
}

function evaluation(threadId: string, metric: string, score?: { value: number; label: string }): ReceivedSpan {
  const result = {
    'gen_ai.evaluation.name': metric,
    ...(score && { 'gen_ai.evaluation.score.value': score.value, 'gen_ai.evaluation.score.label': score.label }),
  };
  return {
    name: `evaluation ${metric}`,
    traceId: threadId,
    spanId: metric,
    parentSpanId: 'run',
    attributes: {
      ...result,
      'gen_ai.operation.name': 'evaluation',
      'gen_ai.conversation.id': threadId,
      'gen_ai.evaluation.explanation': 'because',
      'ag_ui.evaluation.verdict': score ? 'scored' : 'not_applicable',
      'ag_ui.evaluation.revision': 1,
    },
    events: [{ name: 'gen_ai.evaluation.result', attributes: result }],
  };
}

const SPANS: readonly ReceivedSpan[] = [
  run('judged-1'),
  evaluation('judged-1', 'agent_goal_accuracy', { value: 1, label: 'pass' }),
  evaluation('judged-1', 'topic_adherence', { value: 0.5, label: 'fail' }),
  run('small-talk-1'),
  evaluation('small-talk-1', 'agent_goal_accuracy'),
  evaluation('small-talk-1', 'topic_adherence'),
  run('waiting-1'),
];

const SCRAPE = `# HELP agui_eval_scores_total Scores given.
# TYPE agui_eval_scores_total counter
agui_eval_scores_total{agent="a",metric="agent_goal_accuracy"} 1
agui_eval_scores_total{agent="a",metric="topic_adherence"} 1
agui_eval_score_sum_total{agent="a",metric="agent_goal_accuracy"} 1
agui_eval_score_sum_total{agent="a",metric="topic_adherence"} 0.5
agui_eval_passes_total{agent="a",metric="agent_goal_accuracy"} 1
agui_eval_passes_total{agent="a",metric="topic_adherence"} 0
agui_eval_score_count{agent="a",metric="agent_goal_accuracy"} 1
agui_eval_score_count{agent="a",metric="topic_adherence"} 1
agui_eval_closings_total{agent="a"} 3
agui_eval_conversations_total{agent="a",decision="scored"} 1
agui_eval_conversations_total{agent="a",decision="empty"} 1
agui_eval_conversations_total{agent="a",decision="incomplete"} 1
`;

function evidence(spans = SPANS, scrape = SCRAPE): Evidence {
  const conversations = [judged, smallTalk, waiting].map((conversation) => ({
    conversation,
    threadId: `${conversation.name}-1`,
  }));
  return { conversations, spans, samples: readSamples(scrape) };
}

const without = (name: string): ReceivedSpan[] => SPANS.filter((span) => `${span.traceId} ${span.spanId}` !== name);
const changed = (index: number, change: Partial<ReceivedSpan>): ReceivedSpan[] =>
  SPANS.map((span, at) => (at === index ? { ...span, ...change } : span));

describe("the demo's check", () => {
  it('finds nothing missing when every score is in both places', () => {
    expect(findMissing(evidence())).toEqual([]);
  });

  it.each([
    [
      'a score that reached no span',
      without('judged-1 topic_adherence'),
      /no evaluation span of topic_adherence for judged-1/,
    ],
    ['a verdict that reached no span', without('small-talk-1 topic_adherence'), /no evaluation span .* small-talk-1/],
    ['a score that hangs on no run', without('judged-1 run'), /not a child of an invoke_agent span/],
    ['a score in another trace', changed(1, { traceId: 'other' }), /not a child of an invoke_agent span/],
    ['a missing event', changed(1, { events: [] }), /no gen_ai.evaluation.result event/],
    [
      'another value than expected, with its reason',
      [
        ...SPANS.slice(0, 1),
        evaluation('judged-1', 'agent_goal_accuracy', { value: 0, label: 'fail' }),
        ...SPANS.slice(2),
      ],
      /agent_goal_accuracy of judged-1 is 0, expected 1. Reason given: because/,
    ],
  ])('names %s', (_, spans, message) => {
    expect(findMissing(evidence(spans)).join('\n')).toMatch(message);
  });

  it.each([
    [
      'a score that is not counted',
      /^agui_eval_scores_total.*topic.*$/m,
      /agui_eval_scores_total\{metric="topic_adherence"\} is missing/,
    ],
    ['a sum that differs', /0\.5$/m, /agui_eval_score_sum_total\{metric="topic_adherence"\} is .*, expected 0.5/],
    ['a closing that ended in no decision', /^.*decision="empty".*\n/m, /adds up to 2, expected 3/],
  ])('names %s', (_, pattern, message) => {
    expect(findMissing(evidence(SPANS, SCRAPE.replace(pattern, ''))).join('\n')).toMatch(message);
  });
});

describe('reading a scrape', () => {
  it('takes labels with quotes and braces, and leaves comments out', () => {
    expect(readSamples('# TYPE a counter\na{b="x \\"{y}\\"",c="d"} 1.5\nup 1\n')).toEqual([
      { name: 'a', labels: { b: 'x "{y}"', c: 'd' }, value: 1.5 },
      { name: 'up', labels: {}, value: 1 },
    ]);
  });
});
