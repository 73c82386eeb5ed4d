import type { Effort } from './scenarios.ts';
import type { Field } from './window.ts';

/** What is timed while nothing else goes on, in ms. */
export const DELAYS = {
  head: 'head of a silent answer',
  leftBeforeHead: 'client left before the head',
  leftAfterHead: 'client left after the head',
} as const;

export type Delay = keyof typeof DELAYS;

/** How long the agent is silent when nobody tells it that its client has left. */
export const SILENCE_MS = 250;

const SILENCE = { kind: 'silent', forMs: SILENCE_MS } as const;

/**
 * How soon a head reaches the client when no body follows it, and how soon the agent sees that the client has left. One
 * request at a time; the targets take turns, the agent itself among them.
 */
export async function promptness({ targets, agentPort, client, delays }: Field, { silences }: Effort): Promise<void> {
  const turns = [{ name: 'direct', port: agentPort }, ...targets];
  // The first opens the connections.
  for (let round = 0; round <= silences; round += 1) {
    for (const target of turns) {
      const before = await client.leaveSilence(target, { ...SILENCE, isHeadSent: false }, 'begun');
      const after = await client.leaveSilence(target, { ...SILENCE, isHeadSent: true }, 'begun');
      const withHead = await client.leaveSilence(target, { ...SILENCE, isHeadSent: true }, 'head');
      if (round === 0) continue;
      delays.add('head', target.name, withHead.headUs / 1000);
      delays.add('leftBeforeHead', target.name, before.closeUs / 1000);
      delays.add('leftAfterHead', target.name, after.closeUs / 1000);
    }
  }
}
