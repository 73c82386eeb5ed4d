import type { ConfigArguments } from '../config/load.ts';
import type { Judge } from '../judge/judge.ts';
import { unusablePath, UsageError } from '../lib/usage-error.ts';
import { EXIT, type Command, type CommandIo, type ExitStatus } from './command.ts';
import { parseArguments } from './parse-arguments.ts';

const HELP = `Usage: agui-sidecar score [FILE] [options]
       agui-sidecar score --suite FILE [options]

Judges conversations with metrics: JSON lines in, one verdict a line out, in the same order. Without FILE, or with "-",
rows are read from standard input. All of the input is read and checked before the first row is scored.

A row, on one line:
{"metric": "topic_adherence", "params": {"reference_topics": ["tea"]}, "messages": [{"role": "user", "text": "How long does green tea steep?"}, {"role": "assistant", "text": "Two minutes."}]}

A labelled conversation of a suite, likewise:
{"id": "1", "reference_topics": ["tea"], "messages": [{"role": "user", "text": "How long does green tea steep?"}, {"role": "assistant", "text": "Two minutes."}], "labels": {"goal": 1, "topics": [{"topic": "steeping time", "on_topic": true, "refused": false, "turn": 1, "quote": "How long"}]}}

Options:
  --suite FILE       put a labelled suite before the judge and report how they agree
  --json             print the report of --suite as one JSON document
  --judge-dir DIR    take answers from DIR/answers.jsonl; what has none goes to DIR/pending.jsonl
  --concurrency N    rows judged at once (default: 4, or judge.concurrency)
  --config FILE      configuration with the judge; also by OPENAI_BASE_URL, OPENAI_API_KEY and JUDGE_MODEL
  --set a.b=c        one setting, stronger than file and environment; may be repeated

Exit status: 0 when every row got a verdict, failed ones included; 1 when stopped before; 2 for bad usage or input.

Example: OPENAI_BASE_URL=http://localhost:11434/v1 JUDGE_MODEL=qwen3 agui-sidecar score rows.jsonl > verdicts.jsonl
`;

const OPTIONS = {
  suite: { type: 'string' },
  json: { type: 'boolean', default: false },
  'judge-dir': { type: 'string' },
  concurrency: { type: 'string' },
  config: { type: 'string' },
  set: { type: 'string', multiple: true },
} as const;

/** `agui-sidecar score`, as docs/metrics.md specifies it. */
export const score: Command = {
  help: HELP,
  async run(args, io) {
    const { values, positionals } = parseArguments({ args: [...args], options: OPTIONS, allowPositionals: true });
    const concurrency = values.concurrency === undefined ? undefined : readConcurrency(values.concurrency);
    const judgeSource: JudgeSource = { ...values, directory: values['judge-dir'], concurrency };
    if (values.suite !== undefined) {
      if (positionals.length > 0) throw new UsageError('score takes either FILE or --suite FILE, not both');
      return scoreSuite(values.suite, values.json, judgeSource, io);
    }
    if (values.json) throw new UsageError('--json goes with --suite; rows are always printed as JSON lines');
    if (positionals.length > 1) throw new UsageError(`score reads one FILE, given ${positionals.length}`);
    return scoreRows(positionals[0] ?? '-', judgeSource, io);
  },
};

function readConcurrency(given: string): number {
  if (/^[1-9]\d{0,2}$/.test(given)) return Number(given);
  throw new UsageError(`--concurrency: given ${JSON.stringify(given)}, expected a whole number from 1 to 999`);
}

async function scoreRows(source: string, judgeSource: JudgeSource, io: CommandIo): Promise<ExitStatus> {
  const [
    { readScoreRows },
    { formatLineProblems },
    { METRICS },
    { noJudge },
    { judgeRow, toOutputLine },
    { createTally },
    { inputKind },
    { mapInOrder },
  ] = await Promise.all([
    import('../batch/read-rows.ts'),
    import('../lib/json-lines.ts'),
    import('../metrics/registry.ts'),
    import('../batch/no-judge.ts'),
    import('../batch/judge-row.ts'),
    import('../batch/tally.ts'),
    import('../batch/input-kind.ts'),
    import('../lib/map-in-order.ts'),
  ]);
  const text = await readInput(source, io);
  if (inputKind(text) === 'suite') {
    throw new UsageError(
      `${nameOf(source)}: these look like a labelled suite ("labels" on the first line): add --suite`,
    );
  }
  const reading = readScoreRows(text, METRICS, (line, member) =>
    io.stderr.write(`line ${line}: ${member}: no metric reads this member; ignored\n`),
  );
  if (!reading.ok) throw new UsageError(formatLineProblems(nothingScored(source), reading.problems));
  const { rows } = reading;
  const needsJudge = rows.some(({ metric }) => metric.evaluator === 'llm');

  const { judge, concurrency } = needsJudge
    ? await openJudge(judgeSource, io)
    : { judge: noJudge, concurrency: judgeSource.concurrency ?? 4 };
  const tally = createTally();
  try {
    for await (const judged of mapInOrder(rows, concurrency, (row) => judgeRow(row, judge, io.signal))) {
      await write(io, `${JSON.stringify(toOutputLine(judged))}\n`);
      tally.add(judged.verdict);
    }
  } catch (error) {
    if (!io.signal.aborted) throw error;
    io.stderr.write(`stopped: ${tally.rows()} of ${rows.length} rows were judged: ${tally.summary()}\n`);
    return EXIT.failed;
  } finally {
    await judge[Symbol.asyncDispose]();
  }
  io.stderr.write(`${rows.length} ${rows.length === 1 ? 'row' : 'rows'}: ${tally.summary()}\n`);
  reportUnanswered(tally.failedAs('unanswered'), judgeSource, io);
  return EXIT.done;
}

async function scoreSuite(source: string, json: boolean, judgeSource: JudgeSource, io: CommandIo): Promise<ExitStatus> {
  const [{ inputKind }, { readSuite }, { formatLineProblems }, { judgeSuite }, { renderReport }] = await Promise.all([
    import('../batch/input-kind.ts'),
    import('../suite/read-suite.ts'),
    import('../lib/json-lines.ts'),
    import('../suite/judge-suite.ts'),
    import('../suite/render.ts'),
  ]);
  const text = await readInput(source, io);
  if (inputKind(text) === 'rows') {
    throw new UsageError(
      `${nameOf(source)}: these look like rows to score ("metric" and no "labels" on the first line): leave out --suite`,
    );
  }
  const reading = readSuite(text);
  if (!reading.ok) throw new UsageError(formatLineProblems(nothingScored(source), reading.problems));

  const { judge, concurrency } = await openJudge(judgeSource, io);
  try {
    const report = await judgeSuite(reading.rows, judge, { concurrency, signal: io.signal });
    await write(io, json ? `${JSON.stringify(report, null, 2)}\n` : renderReport(report, judgeSource.directory));
    const failed = [...report.goal.failed, ...report.topicRows.failed];
    reportUnanswered(failed.filter(({ errorType }) => errorType === 'unanswered').length, judgeSource, io);
    return EXIT.done;
  } catch (error) {
    if (!io.signal.aborted) throw error;
    io.stderr.write('stopped: the suite was not finished, so there is nothing to compare\n');
    return EXIT.failed;
  } finally {
    await judge[Symbol.asyncDispose]();
  }
}

interface JudgeSource extends ConfigArguments {
  /** Of the file judge. */
  readonly directory: string | undefined;
  readonly concurrency: number | undefined;
}

/** Opens the judge that was asked for; closing it is the caller's. */
async function openJudge(
  { directory, concurrency, config, set }: JudgeSource,
  io: CommandIo,
): Promise<{ readonly judge: Judge & AsyncDisposable; readonly concurrency: number }> {
  if (directory !== undefined) {
    const { openFileJudge } = await import('../judge/file-judge.ts');
    return { judge: await openFileJudge(directory), concurrency: concurrency ?? 4 };
  }
  const [{ loadConfig }, { formatProblems }] = await Promise.all([
    import('../config/load.ts'),
    import('../config/problem.ts'),
  ]);
  const loaded = await loadConfig({ config, set }, io.env, 'judge');
  if (!loaded.ok) throw new UsageError(formatProblems(loaded.problems));
  const { judge } = loaded.config;
  if (judge.kind === 'off') {
    throw new UsageError(
      'these rows need a judge and none is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint that ' +
        'needs no key, or give --config FILE or --judge-dir DIR',
    );
  }
  const { createOpenAiJudge } = await import('../judge/openai-judge.ts');
  const places = concurrency ?? judge.concurrency;
  return { judge: createOpenAiJudge({ ...judge, concurrency: places }), concurrency: places };
}

function reportUnanswered(rows: number, { directory }: JudgeSource, io: CommandIo): void {
  if (rows === 0 || directory === undefined) return;
  io.stderr.write(
    `${rows} judgement${rows === 1 ? '' : 's'} had no answer: answer the lines of ${directory}/pending.jsonl in ` +
      `${directory}/answers.jsonl, as {"key": …, "value": …}, and run again\n`,
  );
}

const nameOf = (source: string): string => (source === '-' ? 'standard input' : source);

const nothingScored = (source: string): string => `${nameOf(source)}: nothing was scored, since the input`;

async function readInput(source: string, io: CommandIo): Promise<string> {
  if (source === '-') {
    const { text } = await import('node:stream/consumers');
    return text(io.stdin);
  }
  const { readFile } = await import('node:fs/promises');
  try {
    return await readFile(source, 'utf8');
  } catch (error) {
    throw unusablePath(source, error);
  }
}

/** Waits until the line is taken, so that a slow reader slows us and not our memory. */
function write(io: CommandIo, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    io.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
