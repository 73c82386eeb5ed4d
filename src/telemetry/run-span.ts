import {
  type Attributes,
  type Context,
  INVALID_SPAN_CONTEXT,
  type PropagationAPI,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Exchange } from '../agui/exchange.ts';
import type { Observation, ProxiedRequest, RequestEnd } from '../proxy/observer.ts';
import { failureOf, finishReasonsOf } from './run-failure.ts';
import { ATTRIBUTE, OPERATION, OTHER } from './semconv.ts';
import { toHrTime, toId, toSpanLink } from './span-context.ts';
import { recordToolSpans } from './tool-spans.ts';

export interface RunSpanOptions {
  readonly tracer: Tracer;
  readonly propagation: Pick<PropagationAPI, 'extract' | 'inject' | 'fields'>;
  /** Value of `gen_ai.provider.name`: the convention lists none that fits an AG-UI agent. */
  readonly providerName: string;
  /** False at a public edge: the trace starts here, linked to the client's. */
  readonly trustIncomingTrace: boolean;
  /** False when the agent emits its own `execute_tool` spans. */
  readonly toolSpans: boolean;
  /** False while no SDK is registered: every span would be void, and is not even made. */
  readonly isTracing: () => boolean;
}

/** The spans of one proxied request. `trace` is what the agent's work and its scores belong to. */
export interface RunSpans extends Pick<Observation, 'trace' | 'traceHeaders'> {
  /** Ends the spans, at `end.endedAt` and not at the time of the call. Only the first call counts. */
  end(end: RequestEnd, exchange?: Exchange): void;
}

export interface RunSpanFactory {
  start(request: ProxiedRequest): RunSpans;
}

/**
 * Traces proxied requests: a SERVER span for each, and below it, when the request is a POST and so invokes the agent, a
 * CLIENT span `invoke_agent`. The innermost span's context goes to the agent.
 *
 * While nothing traces, the client's headers pass unchanged.
 */
export function createRunSpans(options: RunSpanOptions): RunSpanFactory {
  const { tracer, propagation, trustIncomingTrace, toolSpans, isTracing } = options;

  function startServerSpan(request: ProxiedRequest): { span: Span; context: Context } {
    const incoming = propagation.extract(ROOT_CONTEXT, request.headers);
    const remote = trace.getSpanContext(incoming);
    const parent = trustIncomingTrace ? incoming : trace.deleteSpan(incoming);
    const links = trustIncomingTrace || remote === undefined ? [] : [{ context: remote }];
    const known = KNOWN_METHODS.has(request.method);
    const name = `${known ? request.method : 'HTTP'} ${request.match}`;
    const attributes = serverAttributes(request, known);
    const startTime = toHrTime(request.startedAt);
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, startTime, attributes, links }, parent);
    return { span, context: trace.setSpan(parent, span) };
  }

  function startAgentSpan(request: ProxiedRequest, parent: Context): { span: Span; context: Context } {
    const attributes = {
      [ATTRIBUTE.operationName]: OPERATION.invokeAgent,
      [ATTRIBUTE.providerName]: options.providerName,
      [ATTRIBUTE.agentName]: request.agent,
      [ATTRIBUTE.serverAddress]: request.upstream.host,
      [ATTRIBUTE.serverPort]: request.upstream.port,
    };
    const name = `${OPERATION.invokeAgent} ${request.agent}`;
    const startTime = toHrTime(request.startedAt);
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime, attributes }, parent);
    return { span, context: trace.setSpan(parent, span) };
  }

  /** Undefined when there is nothing to say, so that the client's own headers pass. */
  function headersFor(context: Context, { headers }: ProxiedRequest): Readonly<Record<string, string>> | undefined {
    const carrier: Record<string, string> = {};
    propagation.inject(context, carrier);
    if (Object.keys(carrier).length === 0) return undefined;
    // Baggage is the client's: nothing is added to it, so it passes as it was written. So does any header that the
    // configured propagators do not speak.
    const ours = new Set(propagation.fields());
    for (const name of ['traceparent', 'tracestate', 'baggage']) {
      const original = headers[name];
      if (typeof original === 'string' && (name === 'baggage' || !ours.has(name))) carrier[name] = original;
    }
    return carrier;
  }

  return {
    start(request) {
      if (!isTracing()) return NO_SPANS;
      const server = startServerSpan(request);
      const agent = request.method === 'POST' ? startAgentSpan(request, server.context) : undefined;
      const { span, context } = agent ?? server;
      const traceHeaders = headersFor(context, request);
      let ended = false;
      return {
        trace: toSpanLink(span.spanContext()),
        ...(traceHeaders && { traceHeaders }),
        end(end, exchange) {
          if (ended) return;
          ended = true;
          if (agent?.span.isRecording()) {
            if (exchange && exchange.kind !== 'replay' && toolSpans) {
              agent.span.setAttributes(recordToolSpans(tracer, agent.context, exchange, end.endedAt));
            }
            agent.span.setAttributes(agentEndAttributes(request, end, exchange));
            setFailure(agent.span, end, exchange);
          }
          agent?.span.end(toHrTime(end.endedAt));
          endServerSpan(server.span, end);
        },
      };
    },
  };
}

const NO_SPANS: RunSpans = { trace: toSpanLink(INVALID_SPAN_CONTEXT), end() {} };

/** The methods that may be part of a span's name; any other is text of the client's choosing. */
const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);

function serverAttributes(request: ProxiedRequest, knownMethod: boolean): Attributes {
  return {
    [ATTRIBUTE.httpRequestMethod]: knownMethod ? request.method : OTHER,
    [ATTRIBUTE.httpRequestMethodOriginal]: knownMethod ? undefined : request.method,
    [ATTRIBUTE.httpRoute]: request.match,
    [ATTRIBUTE.urlPath]: request.path,
    [ATTRIBUTE.urlScheme]: request.scheme,
    [ATTRIBUTE.serverAddress]: request.headers.host?.replace(/:\d+$/, ''),
    [ATTRIBUTE.serverPort]: request.localPort,
    [ATTRIBUTE.clientAddress]: request.clientAddress,
    [ATTRIBUTE.networkProtocolVersion]: request.httpVersion,
    [ATTRIBUTE.userAgentOriginal]: request.headers['user-agent'],
  };
}

function endServerSpan(span: Span, { status, transport, errorCode, endedAt }: RequestEnd): void {
  if (status !== undefined) span.setAttribute(ATTRIBUTE.httpResponseStatusCode, status);
  if (status !== undefined && status >= 500) {
    span.setAttribute(ATTRIBUTE.errorType, errorCode ?? String(status));
    span.setStatus({ code: SpanStatusCode.ERROR });
  } else if (transport === 'client_aborted') {
    span.setAttribute(ATTRIBUTE.errorType, errorCode ?? 'client_disconnect');
  } else if (transport === 'upstream_error') {
    span.setAttribute(ATTRIBUTE.errorType, errorCode ?? 'upstream_reset');
  }
  span.end(toHrTime(endedAt));
}

function agentEndAttributes(request: ProxiedRequest, end: RequestEnd, exchange: Exchange | undefined): Attributes {
  const status = exchange?.status ?? (end.errorCode === undefined ? end.status : undefined);
  if (exchange === undefined) return { [ATTRIBUTE.httpResponseStatusCode]: status };
  const { threadId, runId, runs, timing, eventCounts, kind, ending } = exchange;
  const reasons = finishReasonsOf(runs);
  const firstContentMs = timing.firstContentAt && Math.max(0, timing.firstContentAt - request.startedAt);
  return {
    [ATTRIBUTE.httpResponseStatusCode]: status,
    [ATTRIBUTE.conversationId]: toId(threadId),
    [ATTRIBUTE.sessionId]: toId(threadId),
    [ATTRIBUTE.runId]: toId(runId),
    [ATTRIBUTE.parentRunId]: toId(runs.find(({ parentRunId }) => parentRunId)?.parentRunId),
    [ATTRIBUTE.exchangeKind]: kind,
    [ATTRIBUTE.ending]: ending,
    [ATTRIBUTE.eventCount]: Object.values(eventCounts).reduce((sum, count) => sum + count, 0),
    [ATTRIBUTE.finishReasons]: reasons.length === 0 ? undefined : reasons,
    [ATTRIBUTE.timeToFirstChunk]: firstContentMs && firstContentMs / 1000,
    ...(kind === 'replay' ? {} : usageAttributes(exchange)),
  };
}

/** A replay brings the usage of a run that was counted before, and so does not come here. */
function usageAttributes({ usage }: Exchange): Attributes {
  return {
    [ATTRIBUTE.inputTokens]: usage?.inputTokens,
    [ATTRIBUTE.outputTokens]: usage?.outputTokens,
    [ATTRIBUTE.cacheReadInputTokens]: usage?.cachedInputTokens,
    [ATTRIBUTE.cacheWriteInputTokens]: usage?.cacheWriteInputTokens,
    [ATTRIBUTE.reasoningOutputTokens]: usage?.reasoningTokens,
  };
}

function setFailure(span: Span, end: RequestEnd, exchange: Exchange | undefined): void {
  const failure = failureOf(end, exchange);
  if (failure === undefined) return;
  span.setAttribute(ATTRIBUTE.errorType, failure.type);
  if (failure.description !== undefined) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: failure.description });
  }
}
