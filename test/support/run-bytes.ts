/** The body of a run request: one user message in a thread, and `rest` beside it. */
export function runRequest(threadId: string, rest: Readonly<Record<string, unknown>> = {}): string {
  const messages = [{ id: `${threadId}-question`, role: 'user', content: 'When is high water?' }];
  const common = { tools: [], context: [], state: {}, forwardedProps: {} };
  return JSON.stringify({ threadId, runId: `${threadId}-run`, messages, ...common, ...rest });
}

/** One event as it stands in an event stream. */
export const sse = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;

/** The events of a run that answers with one message of `deltas`, one a piece. */
export function* runStream(threadId: string, deltas: Iterable<string>): Generator<string> {
  const named = { threadId, runId: `${threadId}-run` };
  yield sse({ type: 'RUN_STARTED', ...named });
  yield sse({ type: 'TEXT_MESSAGE_START', messageId: 'answer', role: 'assistant' });
  for (const delta of deltas) yield sse({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'answer', delta });
  yield sse({ type: 'TEXT_MESSAGE_END', messageId: 'answer' });
  yield sse({ type: 'RUN_FINISHED', ...named });
}

/** `bytes` of events, in pieces as large as a connection takes at once. */
export function* flood(bytes: number): Generator<Buffer> {
  const event = Buffer.from(
    sse({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'answer', delta: 'High water is at 14:20. '.repeat(3) }),
  );
  const piece = Buffer.concat(Array.from({ length: Math.ceil(PIECE_BYTES / event.length) }, () => event));
  for (let sent = 0; sent < bytes; sent += piece.length) yield piece;
}

const PIECE_BYTES = 64 * 1024;
