import { UNKNOWN_TOOL } from '../agui/held-message.ts';
import { ITEMS_PER_STEP, type Steps } from '../lib/steps.ts';
import type { AssistantMessage, Message, ToolCall, ToolMessage } from './message.ts';

export interface Placement {
  /** The message stands for the held one of its id as a whole; otherwise it continues it. */
  readonly supersedes: boolean;
  /** A tool message takes the place of the result held for its call. */
  readonly replacesResult: boolean;
}

/** A place in the branch whose message may be replaced. */
interface Cell {
  message: Message;
}

/** A message with the results that stand behind it. */
interface Head extends Cell {
  readonly results: Cell[];
  /** Its calls while they are being changed; {@link settle} gives them back to the message. */
  calls?: OpenCalls | undefined;
}

/** Calls that can be changed one by one. Copied at each change, the results of many parallel calls would cost their square. */
interface OpenCalls {
  readonly list: ToolCall[];
  /** By id; a message may have announced one twice. */
  readonly positions: ReadonlyMap<string, readonly number[]>;
}

/**
 * The messages of one branch, open for changes. Knows its messages by id and its calls by theirs, so that placing one
 * takes the same time in a long conversation as in a short one.
 */
export class Branch {
  readonly #heads: Head[] = [];
  /** Ids are separate for each role. */
  readonly #byId: Readonly<Record<Message['role'], Map<string, Cell>>> = {
    system: new Map(),
    developer: new Map(),
    user: new Map(),
    assistant: new Map(),
    tool: new Map(),
  };
  /** By tool call id: who made the call last. */
  readonly #callers = new Map<string, Head>();
  /** By tool call id: the last result. */
  readonly #results = new Map<string, Cell>();

  /** A branch of these messages, made in steps. */
  static *of(messages: readonly Message[]): Steps<Branch> {
    const branch = new Branch();
    for (const [at, message] of messages.entries()) {
      if (at % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
      branch.append(message);
    }
    return branch;
  }

  /** The messages in the order a reader sees them, in steps. */
  *listing(): Steps<Message[]> {
    const messages: Message[] = [];
    for (const [at, head] of this.#heads.entries()) {
      if (at % ITEMS_PER_STEP === ITEMS_PER_STEP - 1) yield;
      settle(head);
      messages.push(head.message);
      for (const { message } of head.results) messages.push(message);
    }
    return messages;
  }

  /** Puts a message at the end, whatever is held. */
  append(message: Message): void {
    const last = this.#heads.at(-1);
    if (message.role === 'tool' && last && this.#callers.get(message.toolCallId) === last)
      this.#appendResult(last, message);
    else this.#appendHead(message);
  }

  /**
   * Puts a message where a reader expects it: over the held message of its id; a tool result behind its caller; a
   * re-announced call over the call that is held; otherwise at the end.
   */
  place(message: Message, placement: Placement): void {
    if (message.role === 'tool') return this.#placeResult(message, placement);
    const held = this.#byId[message.role].get(message.id);
    if (held) {
      if (isHead(held)) settle(held);
      held.message = placement.supersedes ? message : continued(held.message, message);
      if (isHead(held)) this.#registerCalls(held);
    } else if (message.role === 'assistant') {
      this.#placeAssistant(message);
    } else {
      this.append(message);
    }
  }

  #placeResult(result: ToolMessage, placement: Placement): void {
    const sameCall = this.#results.get(result.toolCallId);
    if (sameCall && (placement.replacesResult || sameCall === this.#byId.tool.get(result.id))) {
      sameCall.message = result;
      this.#register(sameCall);
    } else {
      const caller = this.#callers.get(result.toolCallId);
      if (caller) this.#appendResult(caller, result);
      else this.#appendHead(result);
    }
    this.#updateCall(result.toolCallId, (call) => ({ ...call, state: 'answered' }));
  }

  /**
   * A call that is held already is announced again by some resume runs, or known to the collector by its result only; it
   * is updated where it stands. What else the message brings becomes a message of its own.
   */
  #placeAssistant(message: AssistantMessage): void {
    const news = message.toolCalls.filter((call) => !this.#updateCall(call.id, (held) => updated(held, call)));
    if (news.length > 0 || message.text !== '' || message.toolCalls.length === 0) {
      this.append(news.length === message.toolCalls.length ? message : { ...message, toolCalls: news });
    }
  }

  #updateCall(id: string, update: (call: ToolCall) => ToolCall): boolean {
    const caller = this.#callers.get(id);
    if (caller?.message.role !== 'assistant') return false;
    caller.calls ??= openCalls(caller.message.toolCalls);
    const { list, positions } = caller.calls;
    for (const at of positions.get(id) ?? []) list[at] = update(list[at]!);
    return true;
  }

  #appendHead(message: Message): void {
    const head = { message, results: [] };
    this.#heads.push(head);
    this.#register(head);
    this.#registerCalls(head);
  }

  #appendResult(caller: Head, result: ToolMessage): void {
    const cell = { message: result };
    caller.results.push(cell);
    this.#register(cell);
  }

  #register(cell: Cell): void {
    const { message } = cell;
    const byId = this.#byId[message.role];
    if (!byId.has(message.id)) byId.set(message.id, cell);
    if (message.role === 'tool') this.#results.set(message.toolCallId, cell);
  }

  #registerCalls(head: Head): void {
    if (head.message.role !== 'assistant') return;
    for (const call of head.message.toolCalls) this.#callers.set(call.id, head);
  }
}

const isHead = (cell: Cell): cell is Head => 'results' in cell;

function openCalls(calls: readonly ToolCall[]): OpenCalls {
  const positions = new Map<string, number[]>();
  for (const [at, { id }] of calls.entries()) {
    const known = positions.get(id);
    if (known) known.push(at);
    else positions.set(id, [at]);
  }
  return { list: [...calls], positions };
}

function settle(head: Head): void {
  if (!head.calls || head.message.role !== 'assistant') return;
  head.message = { ...head.message, toolCalls: head.calls.list };
  head.calls = undefined;
}

function updated(held: ToolCall, call: ToolCall): ToolCall {
  const state = held.state === 'answered' ? held.state : call.state;
  return call.name === UNKNOWN_TOOL ? { ...held, state } : { ...call, state };
}

/** The continuation of a message that the collector, without the thread's history, took for a new one. */
function continued(held: Message, message: Message): Message {
  const text = message.text.startsWith(held.text) ? message.text : held.text + message.text;
  if (held.role !== 'assistant' || message.role !== 'assistant') return { ...message, text };
  const known = new Set(held.toolCalls.map(({ id }) => id));
  const news = message.toolCalls.filter(({ id }) => !known.has(id));
  return { ...message, text, toolCalls: [...held.toolCalls, ...news] };
}
