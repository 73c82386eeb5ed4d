import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../lib/json.ts';
import { atOnce, type Steps } from '../lib/steps.ts';
import type { ExchangeKind, Interrupt } from './exchange.ts';
import { readCustomInterrupt } from './interrupts.ts';
import { readLeniently, unnoticed } from './lenient.ts';
import { outlineRequest } from './outline-request.ts';
import { readingWireMessages, type WireMessage } from './wire-message.ts';

/** What tells which run a request asks for, if any, without a look into its messages. */
export interface RunHead {
  /** Empty when it is not said. */
  readonly threadId: string;
  /** Empty when it is not said. */
  readonly runId: string;
  readonly parentRunId?: string;
  readonly hasMessages: boolean;
  /** It answers interrupts. */
  readonly resumes: boolean;
  /** The method of CopilotKit's single-route envelope, as in `agent/run`. */
  readonly method?: string;
  /** A proxied call to an MCP server: no turn of the conversation. */
  readonly isProxiedCall: boolean;
  /** It names a thread, so it is a RunAgentInput whatever comes back. */
  readonly isExplicit: boolean;
}

/** What a request says about the run it asks for, read leniently: hand-written clients leave ids out. */
export interface RunRequest extends RunHead {
  readonly messages: readonly WireMessage[];
  /** Interrupts that it answers, as far as it names their tool calls. */
  readonly interrupts: readonly Interrupt[];
}

/**
 * Reads a request body as RunAgentInput, in camelCase or snake_case, nested in CopilotKit's envelope or not. Undefined
 * when it is no JSON object. The request is not the agent's work, so nothing about it becomes a finding.
 */
export const readRunRequest = (body: JsonValue | undefined): RunRequest | undefined => atOnce(readingRunRequest(body));

/** The same in steps: the history may be long. */
export function* readingRunRequest(body: JsonValue | undefined): Steps<RunRequest | undefined> {
  if (!isJsonObject(body)) return undefined;
  const input = openEnvelope(body);
  const { messages } = yield* readingWireMessages(input.fields.messages, unnoticed);
  return {
    ...headOf(input),
    messages,
    hasMessages: messages.length > 0,
    interrupts: answeredInterrupts(commandOf(input.fields)),
  };
}

/** Reads the same body as {@link readRunRequest} as far as a {@link RunHead} goes: at no cost, however long its history. */
export function readRunHead(body: JsonValue | undefined): RunHead | undefined {
  return isJsonObject(body) ? headOf(openEnvelope(body)) : undefined;
}

const THREAD_ID = /"thread_?[iI]d"\s*:\s*("(?:[^"\\]|\\.){1,512}")/u;

/**
 * The thread that the beginning of a body names, when the whole is not there to be parsed. One that is named inside of its
 * state, its messages or whatever else a run does not depend on is another.
 */
export const readThreadId = (head: string): string | undefined => threadIdBy(THREAD_ID, outlineRequest(head));

const LEADING_THREAD_ID = /^\s*\{\s*"threadId"\s*:\s*("(?:[^"\\]|\\.){1,512}")\s*,\s*"runId"\s*:/u;

/**
 * The thread of a body that names it first and its run second, as AG-UI's own clients do: told by the beginning, however long
 * the history behind it. Of an envelope only the whole can tell. A thread that is named twice has no agreed meaning
 * (RFC 8259 §4); to whoever asks this the first counts.
 */
export const readLeadingThreadId = (beginning: string): string | undefined => threadIdBy(LEADING_THREAD_ID, beginning);

function threadIdBy(pattern: RegExp, text: string): string | undefined {
  const [, quoted] = pattern.exec(text) ?? [];
  const threadId = quoted === undefined ? undefined : parseJson(quoted);
  return typeof threadId === 'string' && threadId !== '' ? threadId : undefined;
}

/** A request of which only the thread is known. */
export const unreadRequest = (threadId: string): RunRequest => ({
  threadId,
  runId: '',
  messages: [],
  interrupts: [],
  hasMessages: true,
  resumes: false,
  isProxiedCall: false,
  isExplicit: true,
});

interface RunInput {
  /** The fields of RunAgentInput, in camelCase. */
  readonly fields: JsonObject;
  /** The envelope's, when there is one. */
  readonly method?: string;
}

function openEnvelope(body: JsonObject): RunInput {
  return typeof body.method === 'string' && isJsonObject(body.body)
    ? { fields: readLeniently(body.body, unnoticed), method: body.method }
    : { fields: readLeniently(body, unnoticed) };
}

function headOf({ fields, method }: RunInput): RunHead {
  const { threadId, runId, parentRunId, messages, resume } = fields;
  return {
    threadId: typeof threadId === 'string' ? threadId : '',
    runId: typeof runId === 'string' ? runId : '',
    ...(typeof parentRunId === 'string' && { parentRunId }),
    hasMessages: Array.isArray(messages) && messages.length > 0,
    resumes: (Array.isArray(resume) && resume.length > 0) || commandOf(fields).resume !== undefined,
    ...(method === undefined ? {} : { method }),
    isProxiedCall: '__proxiedMCPRequest' in asObject(fields.forwardedProps),
    isExplicit: typeof threadId === 'string' && (Array.isArray(messages) || typeof runId === 'string'),
  };
}

const asObject = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});

const commandOf = ({ forwardedProps }: JsonObject): JsonObject =>
  readLeniently(asObject(asObject(forwardedProps).command), unnoticed);

/** The legacy resume sends the value of the `on_interrupt` event back, and with it the name of the call. */
function answeredInterrupts(command: JsonObject): Interrupt[] {
  const event = command.interruptEvent ?? command.interrupt_event;
  if (event === undefined) return [];
  const interrupt = readCustomInterrupt(event, 'interruptEvent');
  return interrupt.toolCallId === undefined ? [] : [interrupt];
}

/** Last segments of paths and envelope methods under which servers run a model beside the conversation. */
const AUXILIARY = new Set(['suggest', 'suggestions', 'title']);

/**
 * What the exchange is to its conversation.
 *
 * @param path as the client asked for it, query included.
 * @param hasOutput the stream brought a message.
 */
export function exchangeKind(path: string, request: RunHead | undefined, hasOutput: boolean): ExchangeKind {
  const lastOf = (text: string): string => text.split('/').findLast((segment) => segment !== '') ?? '';
  const endpoint = lastOf(request?.method ?? path.replace(/[?#].*$/, ''));
  if (endpoint === 'connect') return 'replay';
  if (AUXILIARY.has(endpoint) || request?.isProxiedCall) return 'auxiliary';
  if (request && !request.hasMessages && !request.resumes && !hasOutput) return 'probe';
  return 'run';
}
