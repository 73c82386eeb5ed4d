import { type RecordedRun, recordRun } from '../capture.ts';

const MESSAGES = 10;
const DELTAS = 40;

/** One run as it comes from a model: words, and a tool call now and then. */
export function typicalRun(number: number): RecordedRun {
  const [threadId, runId] = [`thread-${number}`, `run-${number}`];
  const inner = Array.from({ length: MESSAGES }, (_, at) => message(`${runId}-${at}`)).flat();
  const question = { id: `question-${number}`, role: 'user', content: 'When is high water at Oban?' };
  return recordRun({ threadId, runId }, inner, [question]);
}

function message(id: string): object[] {
  const [messageId, toolCallId] = [`message-${id}`, `call-${id}`];
  const words = Array.from({ length: DELTAS }, (_, at) => `word ${at} of the tide `);
  return [
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
    ...words.map((delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta })),
    { type: 'TEXT_MESSAGE_END', messageId },
    { type: 'TOOL_CALL_START', toolCallId, toolCallName: 'tide_table', parentMessageId: messageId },
    ...['{"port":', '"Oban",', '"days":3}'].map((delta) => ({ type: 'TOOL_CALL_ARGS', toolCallId, delta })),
    { type: 'TOOL_CALL_END', toolCallId },
    { type: 'TOOL_CALL_RESULT', toolCallId, messageId: `result-${id}`, content: 'high water at 14:05' },
  ];
}
