import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../src/agui/exchange.ts';
import { readCapture } from '../../src/agui/read-capture.ts';
import { hasSharedFixtures, SHARED_FIXTURES } from '../support/shared.ts';
import { BOUNDS, captureOf } from './captures.ts';
import { byteByByte, cutAtRandom } from './streams.ts';

const FOLDER = new URL('captures/', SHARED_FIXTURES);

/**
 * What each capture comes to, one word for each message: its role's first letter and the length of its text, with the
 * names of its calls and what became of them. Read off the streams by eye.
 */
const EXPECTED: Readonly<Record<string, string>> = {
  'copilot-builtin-frontend-tool.sse': 'run success: u13 a0+setTheme(complete)',
  'copilot-builtin-hello.sse': 'run success: u5 a37',
  'copilot-builtin-llm-error.sse': 'run run_error: u11',
  'copilot-builtin-reasoning.sse': 'run success: u11 a31',
  'copilot-builtin-tool-turn2.sse': 'run success: u16 a30+tideTable(answered) t16 a73 u11 a37',
  'copilot-builtin-tool.sse': 'run success: u16 a30+tideTable(answered) t16 a73',
  'copilot-connect-replay.sse': 'replay success: u16 a30+tideTable(answered) t16 a73 u11 a37',
  'encoder-all-events.pb': 'run run_error: u2 a4+tideTable(answered) t2 a5 a0+x(complete) | snapshot_omits*3',
  'encoder-all-events.sse': 'run run_error: u2 a4+tideTable(answered) t2 a5 a0+x(complete) | snapshot_omits*3',
  'framing-bom.sse': 'run success: u6 a30',
  'framing-comments.sse': 'run success: u6 a30',
  'framing-cr.sse': 'run success: u6 a30 | crlf_framing',
  'framing-crlf.sse': 'run success: u6 a30 | crlf_framing',
  'framing-cut-midframe.sse': 'run truncated: u6 a11 | malformed_json missing_end no_terminal_event',
  'framing-done-sentinel.sse': 'run success: u6 a30 | malformed_json',
  'framing-error-then-finish.sse': 'run run_error: u6 a11 | missing_end event_after_end',
  'framing-event-id-retry.sse': 'run success: u6 a30',
  'framing-gz-lf.sse': 'run success: u6 a30',
  'framing-lf.sse': 'run success: u6 a30',
  'framing-multiline.sse': 'run success: u6 a30',
  'framing-no-final-blank.sse': 'run success: u6 a30',
  'framing-nospace.sse': 'run success: u6 a30',
  'framing-nulls.sse': 'run success: u6 a30 | null_optional*6',
  'framing-snake.sse': 'run success: u6 a30 | snake_case*6',
  'framing-truncated.sse': 'run truncated: u6 a11 | missing_end no_terminal_event',
  'framing-unknown-event.sse': 'run cancelled: u6 a30 | unknown_event',
  'mastra-frontend-tool-run1.sse': 'run success: u13 a0+setTheme(complete)',
  'mastra-frontend-tool-run2.sse': 'run success: u13 a0+setTheme(answered) t11 a21',
  'mastra-hello.sse': 'run success: u11 a37',
  'mastra-interrupt-run1.sse': 'run interrupt: u12 !bookBerth',
  'mastra-interrupt-run2.sse': 'run success: u12 a0+unknown_tool(answered) t14 a34 | orphan_result',
  'mastra-llm-error.sse': 'run run_error: u11',
  'mastra-reasoning.sse': 'run success: u11 a31',
  'mastra-tool-turn2.sse': 'run success: u16 a30+tideTable(answered) t16 a73 u11 a37',
  'mastra-tool.sse': 'run success: u16 a30+tideTable(answered) t16 a73',
  'mastra-two-tools.sse': 'run success: u16 a0+tideTable(answered)+tideTable(answered) t16 t16 a47',
  'py-adk.sse': 'run success: u4 a19',
};

function summary({ kind, ending, messages, interrupts, findings }: Exchange): string {
  const turns = messages.map((message) => {
    const calls = message.role === 'assistant' ? message.toolCalls : [];
    return [`${message.role[0]}${message.text.length}`, ...calls.map(({ name, state }) => `${name}(${state})`)].join(
      '+',
    );
  });
  const waiting = interrupts.flatMap(({ toolName }) => (toolName === undefined ? [] : [`!${toolName}`]));
  const codes = [...Map.groupBy(findings, ({ code }) => code)].map(([code, { length }]) =>
    length > 1 ? `${code}*${length}` : code,
  );
  return [`${kind} ${ending}:`, ...turns, ...waiting, ...(codes.length > 0 ? ['|', ...codes] : [])].join(' ');
}

interface Meta {
  readonly url: string;
  readonly request: { readonly body: unknown };
}

describe.skipIf(!hasSharedFixtures)('captures of real servers', () => {
  const files = hasSharedFixtures ? readdirSync(FOLDER).filter((file) => /\.(?:sse|pb)$/.test(file)) : [];

  it.each(files)('%s', async (file) => {
    const body = readFileSync(new URL(file, FOLDER));
    const metaFile = file.replace(/\.\w+$/, '.meta.json');
    const meta = readdirSync(FOLDER).includes(metaFile)
      ? (JSON.parse(readFileSync(new URL(metaFile, FOLDER), 'utf8')) as Meta)
      : undefined;
    const seed = Math.floor(Math.random() * 2 ** 32);
    const ways = { whole: [body], 'byte by byte': byteByByte(body), [`seed ${seed}`]: cutAtRandom(body, seed) };
    for (const [way, pieces] of Object.entries(ways)) {
      const exchange = await readCapture(
        captureOf({
          pieces,
          contentType: file.endsWith('.pb') ? 'application/vnd.ag-ui.event+proto' : 'text/event-stream',
          ...(meta ? { request: meta.request.body, overrides: { path: new URL(meta.url).pathname } } : {}),
        }),
        BOUNDS,
      );
      expect({ way, summary: exchange && summary(exchange) }).toEqual({ way, summary: EXPECTED[file] });
    }
  });
});
