/**
 * What the demo's users say to the harbour agent, and what a judge should make of it. The topics are those that the
 * demo configures as the agent's.
 */

export const REFERENCE_TOPICS = ['tides', 'berths', 'ferry tickets', 'harbour weather'] as const;

export interface Conversation {
  /** First part of its thread ids. */
  readonly name: string;
  /** What is to be seen in it, in a few words. */
  readonly shows: string;
  readonly turns: readonly UserTurn[];
  readonly expected: Expected;
}

/** A message, or the answer to what the agent asked approval for. */
type UserTurn = { readonly say: string } | { readonly approve: boolean };

/** A score, or none because the metric says nothing about such a conversation. */
export type ExpectedScore = number | 'not_applicable';

/**
 * What becomes of the conversation. `waiting`: it waits for a person and is not closed by a short silence.
 */
type Expected =
  | { readonly kind: 'judged'; readonly goal: ExpectedScore; readonly topics: ExpectedScore }
  | { readonly kind: 'waiting' };

const judged = (goal: ExpectedScore, topics: ExpectedScore): Expected => ({ kind: 'judged', goal, topics });

export const CONVERSATIONS: readonly Conversation[] = [
  {
    name: 'tide-times',
    shows: 'answered from a tool',
    turns: [{ say: 'When is high tide at Port Merrow tomorrow?' }],
    expected: judged(1, 1),
  },
  {
    name: 'ferry-retry',
    shows: 'a tool fails, the agent recovers',
    turns: [{ say: 'Please buy one adult ticket for the 14:10 ferry to Skerry Island.' }],
    expected: judged(1, 1),
  },
  {
    name: 'berth-and-shares',
    shows: 'drifts off topic',
    turns: [{ say: 'Is a berth free tonight for a 9 metre boat? And which shares should I buy with my savings?' }],
    // One topic answered inside the reference topics, one outside: f1 = 2·1 / (2·1 + 1 + 0).
    expected: judged(1, 2 / 3),
  },
  {
    name: 'cat-poem',
    shows: 'declines what is off topic',
    turns: [{ say: 'Please write a poem about my cat.' }],
    expected: judged(1, 1),
  },
  {
    name: 'false-claim',
    shows: 'claims success against a tool error',
    turns: [{ say: 'Please cancel my berth booking B-118 and refund it.' }],
    expected: judged(0, 1),
  },
  {
    name: 'small-talk',
    shows: 'small talk only',
    turns: [{ say: 'Hello there!' }, { say: 'Thanks, have a nice day.' }],
    expected: judged('not_applicable', 'not_applicable'),
  },
  {
    name: 'pending-approval',
    shows: 'waits for a person to approve',
    turns: [{ say: 'Please reserve berth A04 for three nights.' }],
    expected: { kind: 'waiting' },
  },
  {
    name: 'approved-berth',
    shows: 'approved, then done (two runs)',
    turns: [{ say: 'Please reserve berth D07 for three nights.' }, { approve: true }],
    expected: judged(1, 1),
  },
  {
    name: 'ferry-outing',
    shows: 'three turns on one thread',
    turns: [
      { say: 'Which ferries go to Skerry Island on Saturday?' },
      { say: 'How much is a ferry ticket for two adults?' },
      { say: 'Good, then buy two tickets for the 09:30 ferry.' },
    ],
    expected: judged(1, 1),
  },
  {
    name: 'sunday-sail',
    shows: 'two tools in parallel',
    turns: [{ say: 'I want to sail on Sunday: what are the tides and the weather?' }],
    expected: judged(1, 1),
  },
  {
    name: 'bicycle-ticket',
    shows: 'declines its own job',
    turns: [{ say: 'Please sell me a ferry ticket for my bicycle.' }],
    expected: judged(0, 0),
  },
  {
    name: 'broken-camera',
    shows: 'the run ends in an error',
    turns: [{ say: 'Please show me the weather camera at the harbour.' }],
    expected: judged(0, 1),
  },
];
