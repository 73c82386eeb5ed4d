/**
 * The harbour's books and the tools that read and change them. Everything is invented and fixed, so that the same
 * question always gets the same answer.
 */

export interface ToolUse {
  readonly name: ToolName;
  readonly args: Readonly<Record<string, string | number>>;
}

/** What a tool came back with. A failure is told to the user as one; see `content` for how it travels. */
export type ToolOutcome =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly error: string };

export type ToolName = keyof typeof TOOLS;

type Tool = (args: ToolUse['args']) => ToolOutcome;

const done = (value: Readonly<Record<string, unknown>>): ToolOutcome => ({ ok: true, value });
const failed = (error: string): ToolOutcome => ({ ok: false, error });

const TOOLS = {
  tide_times: () => done({ high: ['04:52', '17:20'], low: ['11:06', '23:31'] }),
  harbour_weather: () => done({ wind: 'SW 4', waves_m: 0.8, visibility: 'good' }),
  find_berths: ({ length_m }) => done({ length_m, free: [{ berth: 'C12', price_eur: 31 }] }),
  reserve_berth: ({ berth, nights }) => done({ booking: 'B-204', berth, nights }),
  cancel_berth: ({ booking }) => failed(`booking ${booking} is locked by accounting, nothing was changed`),
  ferry_departures: () => done({ departures: ['09:30', '14:10', '18:45'], crossing_minutes: 40 }),
  ferry_fares: ({ adults }) => done({ adults, total_eur: Number(adults) * 18.5 }),
  buy_ferry_ticket: ({ desk, sailing, adults }) =>
    desk === 'east'
      ? failed('ticket desk east does not answer, nothing was sold')
      : done({ ticket: 'FT-2041', sailing, adults }),
} satisfies Record<string, Tool>;

export function isToolName(name: string): name is ToolName {
  return Object.hasOwn(TOOLS, name);
}

export function runTool(use: ToolUse): ToolOutcome {
  const tool: Tool = TOOLS[use.name];
  return tool(use.args);
}

/**
 * The text of a TOOL_CALL_RESULT. The event has no member for errors (AG-UI 1.0), so a failure is told in the content,
 * where the client, the model and whoever judges the conversation can all read it.
 */
export function content(outcome: ToolOutcome): string {
  return JSON.stringify(outcome.ok ? outcome.value : { error: outcome.error });
}
