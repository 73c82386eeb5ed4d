import type { Message } from '../conversation/message.ts';
import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import { isLongUnread, readingArguments, workOfArguments } from './held-call.ts';
import { toMessage } from './held-message.ts';
import { type HeldMessages, inOrder } from './held-messages.ts';

/** Makes the messages that later stages take of those that are held, in order; arguments are parsed here at the latest. */
export function* materialising(held: HeldMessages): Steps<Message[]> {
  const answered = new Set(held.results.keys());
  const messages: Message[] = [];
  let work = 0;
  for (const message of inOrder(held)) {
    for (const call of message.calls) {
      if (isLongUnread(call)) yield* readingArguments(call);
      work += workOfArguments(call);
      if (work < ITEMS_PER_STEP) continue;
      work = 0;
      yield;
    }
    work += 1;
    if (work >= ITEMS_PER_STEP) {
      work = 0;
      yield;
    }
    messages.push(toMessage(message, answered));
  }
  return messages;
}
