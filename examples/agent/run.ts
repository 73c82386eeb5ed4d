import { EventType, type AGUIEvent } from '@ag-ui/core';
import type { RunAgentInputSchema } from '@ag-ui/core/schemas';
import { afterApproval, reply, type Turn } from './assistant.ts';
import { content, isToolName, runTool, type ToolOutcome, type ToolUse } from './harbour.ts';

/** A request body as the server has validated it. */
type RunInput = ReturnType<typeof RunAgentInputSchema.parse>;

/**
 * One AG-UI run as a sequence of events: RUN_STARTED, then what the assistant says and does, then RUN_FINISHED, which
 * names an interrupt when a person is to approve a tool call, or RUN_ERROR.
 */
export function* run(input: RunInput): Generator<AGUIEvent, void, undefined> {
  const { threadId, runId } = input;
  const ids = counter(runId);
  yield { type: EventType.RUN_STARTED, threadId, runId };

  const approval = answeredApproval(input);
  let turn: Turn;
  if (approval === undefined) {
    turn = reply(lastUserText(input));
  } else {
    const outcome: ToolOutcome = approval.granted
      ? runTool(approval.tool)
      : { ok: false, error: 'declined by the user' };
    yield toolResult(approval.toolCallId, outcome, ids('result'));
    turn = afterApproval(approval.tool, outcome);
  }

  let outcomes: readonly ToolOutcome[] = [];
  for (;;) {
    const { done, value: step } = turn.next(outcomes);
    if (done || step === undefined) break;
    outcomes = [];
    switch (step.kind) {
      case 'say':
        yield* say(step.text, ids('message'));
        break;
      case 'use': {
        const calls = step.tools.map((tool) => ({ id: ids('call'), tool, outcome: runTool(tool) }));
        for (const { id, tool } of calls) yield* call(id, tool);
        for (const { id, outcome } of calls) yield toolResult(id, outcome, ids('result'));
        outcomes = calls.map(({ outcome }) => outcome);
        break;
      }
      case 'ask_approval': {
        const id = ids('call');
        yield* call(id, step.tool);
        const interrupt = { id: ids('approval'), reason: 'tool_call', toolCallId: id, message: step.question };
        yield {
          type: EventType.RUN_FINISHED,
          threadId,
          runId,
          outcome: { type: 'interrupt', interrupts: [interrupt] },
        };
        return;
      }
      case 'give_up':
        yield { type: EventType.RUN_ERROR, message: step.message, code: step.code };
        return;
    }
  }
  yield { type: EventType.RUN_FINISHED, threadId, runId };
}

function* say(text: string, messageId: string): Generator<AGUIEvent, void, undefined> {
  yield { type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' };
  // Three words at a time, as a model's tokens would trickle in.
  for (const [delta] of text.matchAll(/(?:\S+\s*){1,3}/g)) {
    yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta };
  }
  yield { type: EventType.TEXT_MESSAGE_END, messageId };
}

function* call(toolCallId: string, tool: ToolUse): Generator<AGUIEvent, void, undefined> {
  const args = JSON.stringify(tool.args);
  const half = Math.ceil(args.length / 2);
  yield { type: EventType.TOOL_CALL_START, toolCallId, toolCallName: tool.name };
  yield { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: args.slice(0, half) };
  yield { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: args.slice(half) };
  yield { type: EventType.TOOL_CALL_END, toolCallId };
}

function toolResult(toolCallId: string, outcome: ToolOutcome, messageId: string): AGUIEvent {
  return { type: EventType.TOOL_CALL_RESULT, messageId, toolCallId, role: 'tool', content: content(outcome) };
}

interface Approval {
  readonly toolCallId: string;
  readonly tool: ToolUse;
  readonly granted: boolean;
}

/**
 * The approval that this request answers: its `resume` entry, and the tool call it is about, found in the history as
 * the last call that has no result.
 */
function answeredApproval(input: RunInput): Approval | undefined {
  const answer = input.resume?.[0];
  if (answer === undefined) return undefined;
  const answered = new Set(input.messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])));
  const pending = input.messages
    .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    .findLast(({ id }) => !answered.has(id));
  if (pending === undefined || !isToolName(pending.function.name)) return undefined;
  const tool: ToolUse = { name: pending.function.name, args: argumentsOf(pending.function.arguments) };
  return { toolCallId: pending.id, tool, granted: answer.status === 'resolved' };
}

/** The arguments this agent sent earlier, come back with the history: only what its tools take is read. */
function argumentsOf(json: string): ToolUse['args'] {
  const parsed: unknown = JSON.parse(json);
  const entries = Object.entries(typeof parsed === 'object' && parsed !== null ? parsed : {});
  return Object.fromEntries(entries.filter(([, value]) => typeof value === 'string' || typeof value === 'number'));
}

function lastUserText(input: RunInput): string {
  const message = input.messages.findLast(({ role }) => role === 'user');
  if (typeof message?.content === 'string') return message.content;
  const parts = Array.isArray(message?.content) ? message.content : [];
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
}

/** Ids that are unique in the thread and the same whenever the run is. */
function counter(runId: string): (kind: string) => string {
  let last = 0;
  return (kind) => `${runId}-${kind}-${++last}`;
}
