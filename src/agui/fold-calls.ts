import { atOnce, type Steps } from '../lib/steps.ts';
import type { CallEvent, CallNamed, CallResult, CallStart } from './events.ts';
import { currentRun, type FoldState, isLate, note } from './fold-state.ts';
import {
  appendArguments,
  argumentText,
  type HeldCall,
  MAX_REPEATS,
  newCall,
  setArguments,
  settlingArguments,
} from './held-call.ts';
import { type HeldMessage, heldText, newMessage, setText } from './held-message.ts';
import { append, appendResult, MAX_COMPARED_RESULTS, moveCall, rename } from './held-messages.ts';

/** Applies an event of a tool call; chunks have been expanded. */
export function applyCall(state: FoldState, event: CallEvent, subagent: string | undefined): void {
  switch (event.kind) {
    case 'call_start':
      startCall(state, event, subagent);
      return;
    case 'call_named':
      completeCall(state, event);
      return;
    case 'call_args':
      addArguments(state, event.id, event.delta, subagent);
      return;
    case 'call_end':
      atOnce(endingCall(state, event.id));
      return;
    case 'call_result':
      addResult(state, event, subagent);
      return;
    case 'call_chunk':
  }
}

function startCall(state: FoldState, event: CallStart, subagent: string | undefined): void {
  const id = event.id ?? `call-${state.at}`;
  const run = currentRun(state)?.number ?? 0;
  const known = state.held.calls.get(id);
  if (!known) {
    const owner = ownerFor(state, event.parentMessageId, id, subagent);
    // A later chunk may name the parent that this one left out.
    if (event.chunked === true && event.parentMessageId === undefined) owner.provisional = true;
    openCall(
      state,
      addCall(state, newCall({ id, name: event.name, owner, phase: 'open' })),
      run,
      event.chunked === true,
    );
    return;
  }
  const isFirst = known.madeUp && (known.announcedIn === undefined || known.announcedIn === run);
  if (known.announcedIn === run) {
    if (!isFirst) note(state, 'duplicate_start', id);
    completeCall(state, { id, name: event.name, parentMessageId: event.parentMessageId });
    announce(known);
    known.repeats += 1;
    if (known.phase === 'open' && known.repeats <= MAX_REPEATS) known.announcedAgainAt ??= argumentText(known).length;
    openCall(state, known, run, event.chunked === true);
    return;
  }
  // A result without a call only waited for its announcement; any other known call is announced anew by a later run.
  if (!isFirst) note(state, 'duplicate_start', id);
  known.restarts = true;
  known.settled = false;
  known.name = event.name ?? known.name;
  known.owner.changed = true;
  placeOnParent(state, known, event.parentMessageId);
  announce(known);
  openCall(state, known, run, event.chunked === true);
}

/** What came before the call, or without its parent, was announced after all. */
function announce(call: HeldCall): void {
  call.madeUp = false;
  delete call.orphanAt;
  call.owner.provisional = false;
}

/** Adds what was not said of a call before. */
function completeCall(state: FoldState, { id, name, parentMessageId }: Omit<CallNamed, 'kind'>): void {
  const call = state.held.calls.get(id);
  if (!call) return;
  if (call.name === undefined && name !== undefined) {
    call.name = name;
    call.owner.changed = true;
  }
  placeOnParent(state, call, parentMessageId);
}

/** Puts a call whose parent was not known before where its parent is. */
function placeOnParent({ held }: FoldState, call: HeldCall, parentMessageId: string | undefined): void {
  const { owner } = call;
  if (!owner.provisional || parentMessageId === undefined || parentMessageId === '') return;
  const parent = held.byId.get(parentMessageId);
  if (parent === owner) return;
  if (parent?.role === 'assistant') moveCall(held, call, parent);
  else if (!parent && !held.otherIds.has(parentMessageId) && owner.calls.length === 1) {
    rename(held, owner, parentMessageId);
    owner.provisional = false;
  }
}

function addCall(state: FoldState, call: HeldCall): HeldCall {
  state.held.calls.set(call.id, call);
  call.owner.calls.push(call);
  call.owner.changed = true;
  return call;
}

function openCall(state: FoldState, call: HeldCall, run: number, chunked: boolean): void {
  call.announcedIn = run;
  call.phase = 'open';
  call.chunked = chunked;
  if (state.arrivedAt !== undefined) call.startedAt ??= state.arrivedAt;
  state.openCalls.add(call);
  state.lastCall = call;
  state.observed.add(call);
}

/** The assistant message a call stands on: its parent when that is one, else a new message at this position. */
function ownerFor(
  state: FoldState,
  parentMessageId: string | undefined,
  callId: string,
  subagent: string | undefined,
): HeldMessage {
  const { held } = state;
  const parent = parentMessageId === undefined ? undefined : held.byId.get(parentMessageId);
  if (parent?.role === 'assistant') return parent;
  const isTaken = parent !== undefined || (parentMessageId !== undefined && held.otherIds.has(parentMessageId));
  const id = isTaken || parentMessageId === undefined || parentMessageId === '' ? callId : parentMessageId;
  const attribution = subagent === undefined ? {} : { subagent };
  return append(held, newMessage({ id, role: 'assistant', fromRequest: false, ...attribution }));
}

function addArguments(state: FoldState, id: string | undefined, delta: string, subagent: string | undefined): void {
  const call = callFor(state, id, subagent);
  if (delta === '') return;
  if (call.settled) {
    note(state, 'late_arguments', call.id);
    return;
  }
  if (call.restarts) {
    call.restarts = false;
    setArguments(call, '');
  }
  appendArguments(call, delta);
  call.changedAt = state.at;
  call.owner.changed = true;
}

/** The call that arguments belong to; opened when its START is missing. */
function callFor(state: FoldState, id: string | undefined, subagent: string | undefined): HeldCall {
  const named = id === undefined ? openLast(state) : state.held.calls.get(id);
  if (named?.phase === 'open' || (named && isLate(state) && named.phase !== 'ended')) return named;
  if (named?.announcedIn !== undefined && named.announcedIn === currentRun(state)?.number) {
    // Behind its END: still missing from the arguments, or a stray piece when they are settled, which says so itself.
    if (!named.settled) note(state, 'late_arguments', named.id);
    return named;
  }
  note(state, 'missing_start', id ?? '');
  const call = named ?? makeUpCall(state, id ?? `call-${state.at}`, subagent);
  openCall(state, call, currentRun(state)?.number ?? 0, false);
  return call;
}

/** The call that a TOOL_CALL_END ends, if any. */
export function callToEnd(state: FoldState, id: string | undefined): HeldCall | undefined {
  const call = id === undefined ? openLast(state) : state.held.calls.get(id);
  return call?.phase === 'open' || (call && isLate(state) && call.phase !== 'ended') ? call : undefined;
}

/** Applies a TOOL_CALL_END: long arguments are parsed in steps. */
export function* endingCall(state: FoldState, id: string | undefined): Steps<void> {
  const call = callToEnd(state, id);
  if (call) {
    call.phase = 'ended';
    call.changedAt = state.at;
    if (state.arrivedAt !== undefined) call.endedAt ??= state.arrivedAt;
    state.openCalls.delete(call);
    if ((yield* settlingArguments(call)) === 'cut_back') note(state, 'late_arguments', call.id);
  } else note(state, 'missing_start', id ?? '');
}

const openLast = (state: FoldState): HeldCall | undefined =>
  state.lastCall?.phase === 'open' ? state.lastCall : undefined;

function addResult(state: FoldState, event: CallResult, subagent: string | undefined): void {
  const callId = event.callId ?? `call-${state.at}`;
  const id = event.id ?? `result-of-${callId}`;
  const run = currentRun(state)?.number ?? 0;
  const call = state.held.calls.get(callId) ?? makeUpCall(state, callId, subagent, state.at);
  state.observed.add(call);
  if (state.arrivedAt !== undefined) call.answeredAt ??= state.arrivedAt;
  call.owner.changed = true;

  const all = state.held.results.get(callId) ?? [];
  const earlier = all.slice(0, MAX_COMPARED_RESULTS);
  const { text, attachments } = event.content;
  const ofThisRun = earlier.findIndex((held) => held.resultOf === run);
  const repeated = earlier
    .slice(0, ofThisRun < 0 ? earlier.length : ofThisRun)
    .find((held) => held.id === id || heldText(held) === text);
  if (repeated) {
    // The result of an earlier run or of the request, said again.
    if (heldText(repeated) === text) return;
    setText(repeated, text);
    repeated.attachments = attachments;
    repeated.changed = true;
    return;
  }
  if (earlier.length > 0) note(state, 'duplicate_result', callId);
  const attribution = subagent === undefined ? {} : { subagent };
  appendResult(
    state.held,
    call.owner,
    newMessage({
      id,
      role: 'tool',
      fromRequest: false,
      knownText: text,
      attachments,
      toolCallId: callId,
      resultOf: run,
      ...attribution,
    }),
  );
}

/** A call that nobody has announced. Its name and its parent are found later, if at all. */
function makeUpCall(state: FoldState, id: string, subagent: string | undefined, orphanAt?: number): HeldCall {
  const owner = ownerFor(state, undefined, id, subagent);
  owner.provisional = true;
  const orphan = orphanAt === undefined ? {} : { orphanAt };
  return addCall(state, newCall({ id, name: undefined, owner, phase: 'ended', madeUp: true, ...orphan }));
}
