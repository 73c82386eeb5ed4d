import { parseArgs } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { HttpAgent, type Message } from '@ag-ui/client';
import { CONVERSATIONS, type Conversation } from './conversations.ts';

/**
 * Holds one conversation with the AG-UI agent at `url`, turn by turn, through the reference client. A run that ends in
 * RUN_ERROR is part of the conversation; anything else that goes wrong is thrown. `signal` breaks the conversation off.
 *
 * @returns what the client holds in the end.
 */
export async function converse(
  url: string,
  conversation: Conversation,
  threadId: string,
  signal: AbortSignal,
): Promise<readonly Message[]> {
  const agent = new HttpAgent({ url, threadId });
  signal.addEventListener('abort', () => agent.abortRun());
  for (const [index, turn] of conversation.turns.entries()) {
    if (signal.aborted) break;
    let failedRun = false;
    const subscriber = { onRunErrorEvent: () => void (failedRun = true) };
    if ('say' in turn) {
      agent.addMessage({ id: `${threadId}-user-${index + 1}`, role: 'user', content: turn.say });
    }
    const answers = agent.pendingInterrupts.map(({ id }) => ({
      interruptId: id,
      status: 'approve' in turn && turn.approve ? ('resolved' as const) : ('cancelled' as const),
    }));
    await agent.runAgent(answers.length > 0 ? { resume: answers } : {}, subscriber).catch((error: unknown) => {
      if (!failedRun && !signal.aborted) throw error;
    });
  }
  return agent.messages;
}

/** Holds each conversation once, two at a time, on threads named `<conversation>-<round>`. */
export async function playRound(url: string, round: number, signal: AbortSignal): Promise<void> {
  const waiting = CONVERSATIONS.values();
  const user = async (): Promise<void> => {
    for (const conversation of waiting) {
      if (signal.aborted) return;
      await converse(url, conversation, `${conversation.name}-${round}`, signal);
    }
  };
  await Promise.all([user(), user()]);
}

const USAGE = 'node examples/traffic.ts URL        talks to the AG-UI agent at URL until Ctrl-C';

async function main(): Promise<void> {
  const [url] = parseArgs({ allowPositionals: true }).positionals;
  if (url === undefined || !URL.canParse(url)) {
    console.error(`Expected the URL of an AG-UI agent.\n\n  ${USAGE}`);
    process.exitCode = 2;
    return;
  }
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  for (let round = 1; !stop.signal.aborted; round++) {
    // The agent may not be up yet, or be restarted; the next round finds out.
    await playRound(url, round, stop.signal).catch((error: unknown) => console.error(`round ${round}:`, error));
    await pause(2_000, undefined, { signal: stop.signal }).catch(() => undefined);
  }
}

if (import.meta.main) await main();
