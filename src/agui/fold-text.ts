import type { TextEvent, TextRole } from './events.ts';
import { type FoldState, isLate, note } from './fold-state.ts';
import { type HeldMessage, isStreamed, newMessage } from './held-message.ts';
import { append } from './held-messages.ts';
import { appendPiece } from './pieces.ts';

/** Applies an event of a text message; chunks have been expanded. */
export function applyText(state: FoldState, event: TextEvent, subagent: string | undefined): void {
  switch (event.kind) {
    case 'text_start':
      startText(state, event.id ?? `message-${state.at}`, event.role, subagent, event.chunked === true);
      return;
    case 'text_content': {
      const message = messageFor(state, event.id, subagent);
      if (event.delta === '') return;
      appendPiece(message.deltas, event.delta);
      message.changed = true;
      return;
    }
    case 'text_end':
      endText(state, event.id);
      return;
    case 'text_chunk':
  }
}

function startText(
  state: FoldState,
  id: string,
  role: TextRole,
  subagent: string | undefined,
  chunked: boolean,
): HeldMessage {
  const known = state.held.byId.get(id);
  const attribution = subagent === undefined ? {} : { subagent };
  const message = known ?? append(state.held, newMessage({ id, role, fromRequest: false, ...attribution }));
  if (known) {
    if (known.open) note(state, 'duplicate_start', id);
    // Text that came whole may be streamed once more from its beginning (a replay after a snapshot).
    known.replays ||= !isStreamed(known);
  }
  open(state, message, chunked);
  return message;
}

function open(state: FoldState, message: HeldMessage, chunked: boolean): void {
  message.open = true;
  message.partial = false;
  message.chunked = chunked;
  state.openTexts.add(message);
  state.lastText = message;
}

/** The message that content belongs to; opened when its START is missing. */
function messageFor(state: FoldState, id: string | undefined, subagent: string | undefined): HeldMessage {
  const named = id === undefined ? openLast(state) : state.held.byId.get(id);
  if (named?.open) return named;
  // Content behind the end of its run is attached to the message that the end closed.
  if (named?.partial && isLate(state)) return named;
  note(state, 'missing_start', id ?? '');
  if (!named) return startText(state, id ?? `message-${state.at}`, 'assistant', subagent, false);
  open(state, named, false);
  return named;
}

function endText(state: FoldState, id: string | undefined): void {
  const message = id === undefined ? openLast(state) : state.held.byId.get(id);
  if (message?.open || (message?.partial && isLate(state))) {
    message.open = false;
    message.partial = false;
    state.openTexts.delete(message);
  } else note(state, 'missing_start', id ?? '');
}

const openLast = (state: FoldState): HeldMessage | undefined => (state.lastText?.open ? state.lastText : undefined);
