import type { Exchange } from '../../src/agui/exchange.ts';
import type {
  AssistantMessage,
  Message,
  PromptMessage,
  ToolCall,
  ToolMessage,
} from '../../src/conversation/message.ts';

export const user = (id: string, text: string): PromptMessage => ({ role: 'user', id, text });

export const assistant = (id: string, text: string, toolCalls: readonly ToolCall[] = []): AssistantMessage => ({
  role: 'assistant',
  id,
  text,
  toolCalls,
});

export const call = (
  id: string,
  name = 'tides',
  state: ToolCall['state'] = 'complete',
  args: ToolCall['args'] = {},
): ToolCall => ({ id, name, args, state });

export const result = (id: string, toolCallId: string, text: string, error?: string): ToolMessage => ({
  role: 'tool',
  id,
  toolCallId,
  text,
  ...(error === undefined ? {} : { error }),
});

let exchanges = 0;

/** An exchange of one run. `messages` defaults to the input followed by the output. */
export function exchange(parts: {
  readonly input?: readonly Message[];
  readonly output?: readonly Message[];
  readonly overrides?: Partial<Exchange>;
}): Exchange {
  exchanges += 1;
  const { input = [], output = [], overrides = {} } = parts;
  const runId = overrides.runId ?? `run-${exchanges}`;
  const ending = overrides.ending ?? 'success';
  return {
    kind: 'run',
    agent: 'harbour',
    threadId: 'thread-1',
    runId,
    runs: [{ threadId: 'thread-1', runId, ending, usage: null }],
    input,
    output,
    messages: [...input.filter(({ id }) => !output.some((message) => message.id === id)), ...output],
    ending,
    interrupts: [],
    resumes: false,
    findings: [],
    eventCounts: {},
    toolCalls: [],
    timing: { startedAt: 0, endedAt: 1 },
    trace: { traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 },
    ...overrides,
  };
}
