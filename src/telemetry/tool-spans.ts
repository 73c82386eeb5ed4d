import { type Attributes, type Context, SpanKind, type Tracer } from '@opentelemetry/api';
import type { Exchange } from '../agui/exchange.ts';
import { ATTRIBUTE, OPERATION } from './semconv.ts';
import { toHrTime, toId, toName } from './span-context.ts';

/** A run that calls more tools keeps spans of its first ones. */
const SPANS_PER_RUN = 64;

/**
 * Records the tool calls that a run's stream showed as `execute_tool` spans below `parent`. The sidecar sees calls and
 * not executions: a span lasts from TOOL_CALL_START to TOOL_CALL_RESULT, or to TOOL_CALL_END when there is none, or to
 * `runEndedAt` when the call was left open.
 *
 * @returns what the run's own span says of them.
 */
export function recordToolSpans(tracer: Tracer, parent: Context, exchange: Exchange, runEndedAt: number): Attributes {
  const timed = exchange.toolCalls.filter(({ startedAt }) => startedAt !== undefined).slice(0, SPANS_PER_RUN);
  for (const call of timed) {
    const startedAt = call.startedAt ?? runEndedAt;
    const tool = toName(call.name);
    const attributes = {
      [ATTRIBUTE.operationName]: OPERATION.executeTool,
      [ATTRIBUTE.toolName]: tool,
      [ATTRIBUTE.toolCallId]: toId(call.id),
      [ATTRIBUTE.toolType]: 'function',
      [ATTRIBUTE.observed]: true,
      [ATTRIBUTE.toolCallState]: call.state,
    };
    const name = `${OPERATION.executeTool} ${tool}`;
    const startTime = toHrTime(startedAt);
    const span = tracer.startSpan(name, { kind: SpanKind.INTERNAL, startTime, attributes }, parent);
    span.end(toHrTime(Math.max(startedAt, call.endedAt ?? runEndedAt)));
  }
  const { length: count } = exchange.toolCalls;
  return { [ATTRIBUTE.toolCallCount]: count, [ATTRIBUTE.toolCallsWithoutSpan]: count - timed.length };
}
