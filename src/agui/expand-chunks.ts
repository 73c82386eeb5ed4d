import type { CallChunk, StreamEvent, TextChunk, TextRole } from './events.ts';

/**
 * Turns the chunk shorthand into START, CONTENT and END (protocol.md section 6). Each lane – the parent agent or one
 * sub-agent – assembles at most one message, call or reasoning message; a new id or another event of the lane ends it.
 *
 * Where AG-UI gives up on a stream, this goes on: a chunk that names nothing continues or opens what it most likely
 * means, and `onFault` is told its id.
 */
export interface ChunkExpander {
  /** Hands `event` on to `emit`, preceded by the ENDs it causes; chunks are replaced. */
  push(event: StreamEvent, at: number): void;
}

type Emit = (event: StreamEvent) => void;

type Kind = 'text' | 'call' | 'reasoning';

interface Pending {
  readonly kind: Kind;
  readonly id: string;
  readonly lane: string;
  /** What chunks have said of it so far: later ones may add to it, and otherwise only repeat it. */
  readonly established: Record<string, string | undefined>;
}

/** The parent agent's lane. Attributed events never have an empty sub-agent id. */
const PARENT = '';

export function createChunkExpander(emit: Emit, onFault: (id: string) => void): ChunkExpander {
  const lanes = new Map<string, Pending>();
  const byId = new Map<string, Pending>();
  const byKind: Readonly<Record<Kind, Set<Pending>>> = { text: new Set(), call: new Set(), reasoning: new Set() };
  const latest: Partial<Record<Kind, Pending>> = {};

  const attributed = (lane: string): { subagent?: string } => (lane === PARENT ? {} : { subagent: lane });
  const idKey = (kind: Kind, id: string): string => `${kind}:${id}`;

  const forget = (pending: Pending): void => {
    lanes.delete(pending.lane);
    byId.delete(idKey(pending.kind, pending.id));
    byKind[pending.kind].delete(pending);
  };

  const closeLane = (lane: string): void => {
    const pending = lanes.get(lane);
    if (!pending) return;
    forget(pending);
    if (pending.kind === 'text') emit({ kind: 'text_end', id: pending.id, ...attributed(lane) });
    if (pending.kind === 'call') emit({ kind: 'call_end', id: pending.id, ...attributed(lane) });
  };

  /** What was being written is cut off by no event of AG-UI, so it is not ended: the collector closes it as partial. */
  const dropLanes = (): void => {
    for (const pending of lanes.values()) forget(pending);
  };

  const open = (pending: Pending): void => {
    closeLane(pending.lane);
    lanes.set(pending.lane, pending);
    byId.set(idKey(pending.kind, pending.id), pending);
    byKind[pending.kind].add(pending);
    latest[pending.kind] = pending;
  };

  /** The stream that a chunk continues; undefined when it opens one. */
  const find = (kind: Kind, id: string | undefined, tag: string | undefined): Pending | undefined => {
    if (id !== undefined) {
      // An id is the strongest signal: it continues wherever it is open.
      const holder = byId.get(idKey(kind, id));
      if (holder && tag !== undefined && tag !== holder.lane) onFault(id);
      return holder;
    }
    const own = lanes.get(tag ?? PARENT);
    if (own?.kind === kind) return own;
    if (tag !== undefined) return undefined;
    const candidates = byKind[kind];
    if (candidates.size > 1) onFault('');
    const newest = latest[kind];
    return newest && candidates.has(newest) ? newest : candidates.values().next().value;
  };

  /** Takes over what was not said before, and holds on to what was; true when there was something new. */
  const establish = (pending: Pending, said: Readonly<Record<string, string | undefined>>): boolean => {
    let isNew = false;
    for (const [name, value] of Object.entries(said)) {
      if (value === undefined || value === pending.established[name]) continue;
      if (pending.established[name] === undefined) {
        pending.established[name] = value;
        isNew = true;
      } else onFault(pending.id);
    }
    return isNew;
  };

  const pushText = (chunk: TextChunk, tag: string | undefined, at: number): void => {
    let pending = find('text', chunk.id, tag);
    if (pending) establish(pending, { role: chunk.role });
    else {
      const role: TextRole = chunk.role ?? 'assistant';
      if (chunk.id === undefined) onFault('');
      pending = { kind: 'text', id: chunk.id ?? `message-${at}`, lane: tag ?? PARENT, established: { role } };
      open(pending);
      emit({ kind: 'text_start', id: pending.id, role, chunked: true, ...attributed(pending.lane) });
    }
    const { delta } = chunk;
    if (delta !== undefined) emit({ kind: 'text_content', id: pending.id, delta, ...attributed(pending.lane) });
  };

  const pushCall = (chunk: CallChunk, tag: string | undefined, at: number): void => {
    const { name, parentMessageId, delta } = chunk;
    let pending = find('call', chunk.id, tag);
    if (pending) {
      if (establish(pending, { name, parentMessageId })) {
        emit({ kind: 'call_named', id: pending.id, name, parentMessageId, ...attributed(pending.lane) });
      }
    } else {
      if (chunk.id === undefined || name === undefined) onFault(chunk.id ?? '');
      const established = { name, parentMessageId };
      pending = { kind: 'call', id: chunk.id ?? `call-${at}`, lane: tag ?? PARENT, established };
      open(pending);
      emit({
        kind: 'call_start',
        id: pending.id,
        name,
        parentMessageId,
        chunked: true,
        ...attributed(pending.lane),
      });
    }
    if (delta !== undefined) emit({ kind: 'call_args', id: pending.id, delta, ...attributed(pending.lane) });
  };

  const pushReasoning = (id: string | undefined, tag: string | undefined, at: number): void => {
    if (find('reasoning', id, tag)) return;
    open({ kind: 'reasoning', id: id ?? `reasoning-${at}`, lane: tag ?? PARENT, established: {} });
  };

  const push = (event: StreamEvent, at: number): void => {
    switch (event.kind) {
      case 'text_chunk':
        pushText(event, event.subagent, at);
        return;
      case 'call_chunk':
        pushCall(event, event.subagent, at);
        return;
      case 'reasoning_chunk':
        pushReasoning(event.id, event.subagent, at);
        break;
      case 'ignored':
      case 'activity':
        break;
      case 'subagent_ended':
        if (event.subagent !== undefined) closeLane(event.subagent);
        break;
      case 'run_started':
      case 'run_finished':
      case 'run_error':
      case 'messages_snapshot':
        for (const lane of lanes.keys()) closeLane(lane);
        break;
      case 'run_cancelled':
        dropLanes();
        break;
      default:
        closeLane(event.subagent ?? PARENT);
    }
    emit(event);
  };

  return { push };
}
