import type { Message } from '../conversation/message.ts';
import { renderTranscript, type Transcript } from '../conversation/transcript.ts';

/** Answers and references that stand in for those of a real judgement when a version is computed. */
export const SAMPLE = {
  goal: 'a sample goal',
  endState: 'a sample end state',
  reference: 'a sample reference',
  topic: 'a sample topic',
} as const;

/** All that a record can show. */
const EVERYTHING: readonly Message[] = [
  { role: 'system', id: 's', text: 'system' },
  { role: 'developer', id: 'd', text: 'developer' },
  {
    role: 'user',
    id: 'u',
    text: 'user',
    attachments: [{ type: 'image', mimeType: 'image/png', bytes: 1 }, { type: 'two words' }],
  },
  {
    role: 'assistant',
    id: 'a',
    text: 'assistant',
    toolCalls: [
      { id: 'open', name: 'open', args: {}, state: 'open' },
      { id: 'complete', name: 'complete', args: { list: [1, 'x', null] }, state: 'complete' },
      { id: 'answered', name: 'two words', args: { unparsed: '{"' }, state: 'answered' },
    ],
    partial: true,
    subagent: 'subagent',
  },
  { role: 'tool', id: 't', toolCallId: 'answered', text: 'result', error: 'error' },
  { role: 'tool', id: 'lost', toolCallId: 'unknown', text: '', subagent: 'two words' },
  { role: 'assistant', id: 'b', text: '', toolCalls: [] },
];

const long = (length: number): string => 'word '.repeat(length / 5);

/** More than a record takes: texts that are cut, and turns and parts of turns that are left out. */
const TOO_MUCH: readonly Message[] = [
  ...EVERYTHING,
  ...Array.from({ length: 6 }, (_, index): Message => ({ role: 'user', id: `long-${index}`, text: long(30_000) })),
  {
    role: 'assistant',
    id: 'many',
    text: '',
    toolCalls: Array.from({ length: 400 }, (_, index) => ({
      id: `many-${index}`,
      name: 'many',
      args: { unparsed: long(200) },
      state: 'complete' as const,
    })),
  },
];

/** The conversations for which versions are computed. They never change: every version would. */
export const SAMPLE_CONVERSATIONS: readonly (readonly Message[])[] = [EVERYTHING, TOO_MUCH];

let rendered: readonly Transcript[] | undefined;

/** The sample conversations as judges read them. */
export const sampleTranscripts = (): readonly Transcript[] =>
  (rendered ??= SAMPLE_CONVERSATIONS.map((messages) => renderTranscript(messages)));
