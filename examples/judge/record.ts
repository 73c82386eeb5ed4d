/** The record of a conversation, read back out of a judge prompt of the sidecar. */
export interface JudgedRecord {
  readonly turns: readonly Turn[];
  /** What the operator says the agent is there for; empty when the prompt does not say. */
  readonly topics: readonly string[];
}

export interface Turn {
  /** From 1. */
  readonly number: number;
  readonly role: string;
  /** The turn's own words, without the calls listed under them. */
  readonly text: string;
  /** The recorder marked it as a failed tool call. */
  readonly failed: boolean;
}

/**
 * Reads what src/conversation/transcript.ts and src/metrics/prompts/record.ts write: the mark is named first, and only
 * lines that start with it are structure.
 *
 * @returns nothing when the prompt holds no record.
 */
export function readRecord(prompt: string): JudgedRecord | undefined {
  const mark = /^The mark of this record is ([0-9a-f]+)\./m.exec(prompt)?.[1];
  if (mark === undefined) return undefined;
  const start = prompt.indexOf(`\n${mark} `) + 1;
  const end = prompt.indexOf(`\n${mark} [end of the record]`);
  if (start === 0 || end === -1) return undefined;

  const turns: Turn[] = [];
  let lines: string[] | undefined;
  let header: RegExpExecArray | null = null;
  const close = (): void => {
    if (header === null || lines === undefined) return;
    const [, number, role = '', notes = ''] = header;
    turns.push({ number: Number(number), role, text: lines.join('\n'), failed: /\bFAILED$/.test(notes) });
  };
  const opening = new RegExp(`^${mark} turn (\\d+), (\\w+)(.*)$`);
  let ownText = false;
  for (const line of prompt.slice(start, end).split('\n')) {
    const opened = opening.exec(line);
    if (opened !== null) {
      close();
      [header, lines, ownText] = [opened, [], true];
    } else if (line.startsWith(`${mark} `)) {
      // A call, an attachment or a cut: what follows is not the speaker's own words.
      ownText = false;
    } else if (ownText) {
      lines?.push(line);
    }
  }
  close();
  return { turns, topics: topicsAfter(prompt.slice(end)) };
}

/** The list of topics stands after the record, one quoted topic a line. */
function topicsAfter(text: string): string[] {
  const list = /topics[^\n]*, set by (?:the|its) operator:\n((?:- "[^\n]*"\n?)+)/.exec(text)?.[1] ?? '';
  return list
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => String(JSON.parse(line.slice(2))));
}
