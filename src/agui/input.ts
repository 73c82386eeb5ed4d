import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import type { ExchangeKind, Interrupt } from './exchange.ts';
import { readCustomInterrupt } from './interrupts.ts';
import { readLeniently } from './lenient.ts';
import { readWireMessages, type WireMessage } from './wire-message.ts';

/** What a request says about the run it asks for, read leniently: hand-written clients leave ids out. */
export interface RunRequest {
  /** Empty when it is not said. */
  readonly threadId: string;
  /** Empty when it is not said. */
  readonly runId: string;
  readonly messages: readonly WireMessage[];
  /** It answers interrupts. */
  readonly resumes: boolean;
  /** Interrupts that it answers, as far as it names their tool calls. */
  readonly interrupts: readonly Interrupt[];
  /** The method of CopilotKit's single-route envelope, as in `agent/run`. */
  readonly method?: string;
  /** A proxied call to an MCP server: no turn of the conversation. */
  readonly isProxiedCall: boolean;
  /** It names a thread, so it is a RunAgentInput whatever comes back. */
  readonly isExplicit: boolean;
}

const ignore = (): void => {};

/**
 * Reads a request body as RunAgentInput, in camelCase or snake_case, nested in CopilotKit's envelope or not. Undefined
 * when it is no JSON object. The request is not the agent's work, so nothing about it becomes a finding.
 */
export function readRunRequest(body: JsonValue | undefined): RunRequest | undefined {
  if (!isJsonObject(body)) return undefined;
  const method = typeof body.method === 'string' ? body.method : undefined;
  const isEnvelope = method !== undefined && isJsonObject(body.body);
  const fields = readLeniently(isEnvelope && isJsonObject(body.body) ? body.body : body, ignore);

  const { threadId, runId } = fields;
  const props = asObject(fields.forwardedProps);
  const command = readLeniently(asObject(props.command), ignore);
  return {
    threadId: typeof threadId === 'string' ? threadId : '',
    runId: typeof runId === 'string' ? runId : '',
    messages: readWireMessages(fields.messages, ignore).messages,
    resumes: (Array.isArray(fields.resume) && fields.resume.length > 0) || command.resume !== undefined,
    interrupts: answeredInterrupts(command),
    ...(isEnvelope ? { method } : {}),
    isProxiedCall: '__proxiedMCPRequest' in props,
    isExplicit: typeof threadId === 'string' && (Array.isArray(fields.messages) || typeof runId === 'string'),
  };
}

const asObject = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});

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
export function exchangeKind(path: string, request: RunRequest | undefined, hasOutput: boolean): ExchangeKind {
  const lastOf = (text: string): string => text.split('/').findLast((segment) => segment !== '') ?? '';
  const endpoint = lastOf(request?.method ?? path.replace(/[?#].*$/, ''));
  if (endpoint === 'connect') return 'replay';
  if (AUXILIARY.has(endpoint) || request?.isProxiedCall) return 'auxiliary';
  if (request && request.messages.length === 0 && !request.resumes && !hasOutput) return 'probe';
  return 'run';
}
