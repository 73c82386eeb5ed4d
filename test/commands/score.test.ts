import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../src/lib/usage-error.ts';
import { score } from '../../src/commands/score.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { startJudgeServer, type JudgeServer } from '../support/judge-server.ts';
import { runCommand } from '../support/run-command.ts';

const SUITE = fileURLToPath(new URL('../fixtures/suite/suite.jsonl', import.meta.url));

const TALK = [
  { role: 'user', text: 'Is pier 3 free?' },
  { role: 'assistant', text: 'It is.' },
];
const goalRow = (id: string, more: object = {}) => ({ id, metric: 'agent_goal_accuracy', messages: TALK, ...more });
const lines = (...rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** What a judge is asked, as far as these tests answer by it. */
interface Question {
  readonly schema: string;
  readonly text: string;
}

type Answer = JsonObject | number;

/** A judge that answers by a function: with a value, or an HTTP status to fail with. */
const openJudge = (answer: (question: Question) => Answer | Promise<Answer>): Promise<JudgeServer> =>
  startJudgeServer({
    scripts: {
      '*': async ({ schemaName = '', messages }) => {
        const value = await answer({ schema: schemaName, text: messages.at(-1)?.content ?? '' });
        return typeof value === 'number' ? { status: value } : { value };
      },
    },
  });

/** Answers every goal with 1. */
const content = ({ schema }: Question): JsonObject =>
  schema === 'goal_and_end_state'
    ? { user_goal: 'know about pier 3', end_state: 'told in turn 2' }
    : { reason: 'Turn 2 tells.', verdict: '1' };

const envOf = (baseUrl: string) => ({ OPENAI_BASE_URL: baseUrl, JUDGE_MODEL: 'test-judge', JUDGE_RETRIES: '0' });

const parse = (output: string): Record<string, unknown>[] =>
  output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'score-'));
});
afterEach(() => rm(directory, { recursive: true }));

describe('score', () => {
  it('reads rows from standard input and prints one verdict a line, with calls and usage', async () => {
    await using endpoint = await openJudge(content);
    const { status, stdout } = await runCommand(score, [], {
      stdin: lines(goalRow('r1')),
      env: envOf(endpoint.baseUrl),
    });
    expect(status).toBe(0);
    expect(parse(stdout)).toEqual([
      {
        id: 'r1',
        metric: 'agent_goal_accuracy',
        kind: 'scored',
        value: 1,
        label: 'pass',
        reason: 'Turn 2 tells.',
        details: { user_goal: 'know about pier 3', end_state: 'told in turn 2' },
        judge_calls: 2,
        usage: { input_tokens: 240, output_tokens: 18 },
        evaluator_version: expect.stringMatching(/^[\da-f]{16}$/),
      },
    ]);
  });

  it('keeps the order of the rows although later ones are done first', async () => {
    const { promise: others, resolve: othersDone } = Promise.withResolvers<void>();
    let asked = 0;
    await using endpoint = await openJudge(async (question) => {
      if (question.schema === 'goal_and_end_state') return content(question);
      if (question.text.includes('the slow pier')) await others;
      else if (++asked === 2) othersDone();
      return content(question);
    });
    const slow = goalRow('slow', { messages: [{ role: 'user', text: 'Is the slow pier free?' }] });
    const { stdout } = await runCommand(score, ['--concurrency', '3'], {
      stdin: lines(slow, goalRow('b'), goalRow('c')),
      env: envOf(endpoint.baseUrl),
    });
    expect(parse(stdout).map(({ id }) => id)).toEqual(['slow', 'b', 'c']);
  });

  it('has no more rows under way than --concurrency says', async () => {
    let underWay = 0;
    let most = 0;
    await using endpoint = await openJudge(async (question) => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay--;
      return content(question);
    });
    const rows = Array.from({ length: 8 }, (_, index) => goalRow(`r${index}`));
    await runCommand(score, ['--concurrency', '2'], { stdin: lines(...rows), env: envOf(endpoint.baseUrl) });
    expect(most).toBeLessThanOrEqual(2);
    expect(endpoint.requests).toHaveLength(16);
  });

  it('reports a row whose judgement failed and goes on; the exit status is 0 all the same', async () => {
    await using endpoint = await openJudge((question) => (question.text.includes('pier 9') ? 500 : content(question)));
    const bad = goalRow('bad', { messages: [{ role: 'user', text: 'Is pier 9 free?' }] });
    const { status, stdout } = await runCommand(score, [], {
      stdin: lines(bad, goalRow('good')),
      env: envOf(endpoint.baseUrl),
    });
    expect(status).toBe(0);
    const [first, second] = parse(stdout);
    expect(first).toMatchObject({ id: 'bad', kind: 'failed', errorType: 'unavailable', judge_calls: 1 });
    expect(first).not.toHaveProperty('value');
    expect(second).toMatchObject({ id: 'good', kind: 'scored', value: 1 });
  });

  it('reads a file, messages in the Ragas form and rows without an id', async () => {
    await using endpoint = await openJudge(content);
    const path = join(directory, 'rows.jsonl');
    const { id: _, ...row } = goalRow('', { messages: [{ type: 'human', content: 'Is pier 3 free?' }] });
    await writeFile(path, `\n${lines(row)}\n`);
    const { stdout } = await runCommand(score, [path], { env: envOf(endpoint.baseUrl) });
    expect(parse(stdout)).toMatchObject([{ id: '2', kind: 'scored' }]);
  });

  it('takes the judge from a configuration file', async () => {
    await using endpoint = await openJudge(content);
    const path = join(directory, 'sidecar.yaml');
    await writeFile(path, `judge:\n  base_url: ${endpoint.baseUrl}\n  model: from-file\n`);
    const { stdout } = await runCommand(score, ['--config', path], { stdin: lines(goalRow('r1')) });
    expect(parse(stdout)).toMatchObject([{ kind: 'scored' }]);
  });

  it('stops when it is told to, and says how far it came', async () => {
    const stop = new AbortController();
    await using endpoint = await openJudge((question) => {
      stop.abort();
      return content(question);
    });
    const { status, stdout, stderr } = await runCommand(score, [], {
      stdin: lines(goalRow('r1'), goalRow('r2')),
      env: envOf(endpoint.baseUrl),
      signal: stop.signal,
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toBe('stopped: 0 of 2 rows were judged: 0 scored, 0 not applicable, 0 failed\n');
  });

  it('needs no judge when there is nothing to ask', async () => {
    expect(await runCommand(score, [], { stdin: '\n' })).toEqual({
      status: 0,
      stdout: '',
      stderr: '0 rows: 0 scored, 0 not applicable, 0 failed\n',
    });
  });

  it('names members that no metric reads', async () => {
    await using endpoint = await openJudge(content);
    const { stderr } = await runCommand(score, [], {
      stdin: lines(goalRow('r1', { refrence: 'x' })),
      env: envOf(endpoint.baseUrl),
    });
    expect(stderr).toMatch(/^line 1: refrence: no metric reads this member; ignored\n/);
  });

  it('says on standard error what became of the rows, failed ones by their type', async () => {
    await using endpoint = await openJudge((question) => (question.text.includes('pier 9') ? 500 : content(question)));
    const about = (text: string) => ({ messages: [{ role: 'user', text }] });
    const { status, stderr } = await runCommand(score, [], {
      stdin: lines(
        goalRow('a', about('Is pier 9 free?')),
        goalRow('b', about('Is pier 9 taken?')),
        goalRow('c'),
        goalRow('d', { messages: [{ role: 'assistant', text: 'Hello?' }] }),
      ),
      env: envOf(endpoint.baseUrl),
    });
    expect(status).toBe(0);
    expect(stderr).toBe('4 rows: 1 scored, 1 not applicable, 2 failed (unavailable 2)\n');
  });

  it('takes one id for several metrics, and rows that say they have none', async () => {
    await using endpoint = await openJudge(content);
    const other = { metric: 'agent_goal_accuracy_with_reference', reference: 'The user knows about pier 3.' };
    const { stdout } = await runCommand(score, [], {
      stdin: lines(goalRow('r1'), goalRow('r1', other), goalRow(''), goalRow('')),
      env: envOf(endpoint.baseUrl),
    });
    expect(parse(stdout).map(({ id }) => id)).toEqual(['r1', 'r1', '', '']);
  });
});

describe('bad input', () => {
  const failure = async (stdin: string, args: readonly string[] = []): Promise<string> => {
    await using endpoint = await openJudge(content);
    const run = runCommand(score, args, { stdin, env: envOf(endpoint.baseUrl) });
    const error: unknown = await run.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(UsageError);
    expect(endpoint.requests).toEqual([]);
    return error instanceof UsageError ? error.message : '';
  };

  it('is refused before anything is scored, all of it at once, each fault with line and field', async () => {
    const message = await failure(
      `${lines(goalRow('fine'))}{"id": \n${lines(
        goalRow('x', { metric: 'agent_goal_acuracy' }),
        goalRow('x', { metric: 'topic_adherence', params: { reference_topics: 'piers', mode: 'f2' } }),
        goalRow('x', { metric: 'agent_goal_accuracy_with_reference', reference: null }),
        goalRow('x', { messages: [{ role: 'captain', text: 'hi' }] }),
      )}`,
    );
    expect(message).toMatch(/line 2: not JSON/);
    expect(message).toMatch(/line 3: metric: given "agent_goal_acuracy", expected one of agent_goal_accuracy, /);
    expect(message).toMatch(/line 4: params\.reference_topics: given "piers", expected a list/);
    expect(message).toMatch(/line 5: reference: given null, but agent_goal_accuracy_with_reference compares with it/);
    expect(message).toMatch(/line 6: messages\[0\]\.role: given "captain"/);
  });

  it.each([
    [
      'text in place of a conversation',
      { messages: undefined, user_input: 'hello' },
      /line 1: user_input: given "hello"/,
    ],
    ['no conversation', { messages: undefined }, /line 1: messages: given nothing/],
    ['a parameter that there is not', { params: { mode: 'f1' } }, /line 1: params\.mode: .*no such parameter/],
    ['an id that is no text', { id: 7 }, /line 1: id: given 7/],
    ['a row that is a list', [], /line 1: given an empty list, expected an object/],
    [
      'messages that mix two forms',
      { messages: [{ role: 'user', content: 'Is pier 3 free?' }] },
      /line 1: messages\[0\]\.content: given "Is pier 3 free\?", expected it under "text": .*"type" and "content"/,
    ],
  ])('%s', async (_, more, expected) => {
    expect(await failure(lines(Array.isArray(more) ? more : goalRow('r', more)))).toMatch(expected);
  });

  it('knows a suite that was given as rows', async () => {
    const message = await failure(await readFile(SUITE, 'utf8'));
    expect(message).toMatch(/^standard input: these look like a labelled suite .*: add --suite$/);
  });

  it('knows rows that were given as a suite', async () => {
    const message = await failure(lines(goalRow('a'), goalRow('b')), ['--suite', '-']);
    expect(message).toMatch(/^standard input: these look like rows to score .*: leave out --suite$/);
  });

  it('shows the first faults only and counts the rest', async () => {
    const message = await failure('nonsense\n'.repeat(30));
    expect(message.split('\n')).toHaveLength(22);
    expect(message).toContain('and 10 more');
  });
});

describe('bad usage', () => {
  it.each([
    [['--concurrency', '0'], /--concurrency: given "0"/],
    [['--no-such-option'], /--no-such-option/],
    [['a.jsonl', 'b.jsonl'], /one FILE/],
    [['--suite', SUITE, 'rows.jsonl'], /not both/],
    [['--json'], /goes with --suite/],
    [['no-such-file.jsonl'], /no-such-file\.jsonl.*ENOENT/],
  ])('%j', async (args, expected) => {
    await expect(runCommand(score, args)).rejects.toThrow(expected);
  });

  it('says which settings name a judge when rows need one and there is none', async () => {
    const run = runCommand(score, [], { stdin: lines(goalRow('r1')) });
    await expect(run).rejects.toThrow(/OPENAI_API_KEY.*OPENAI_BASE_URL.*--judge-dir/);
  });
});

describe('score --judge-dir', () => {
  it('fails rows as unanswered, writes down what it would have asked, and scores once that is answered', async () => {
    const args = ['--judge-dir', directory];
    const stdin = lines(goalRow('r1'));
    const pending = async () => parse(await readFile(join(directory, 'pending.jsonl'), 'utf8'));

    const first = await runCommand(score, args, { stdin });
    expect(first.status).toBe(0);
    expect(parse(first.stdout)).toMatchObject([{ kind: 'failed', errorType: 'unanswered' }]);
    expect(first.stderr).toContain('1 judgement had no answer');

    const answers: object[] = [];
    for (const schema of ['goal_and_end_state', 'outcome_comparison']) {
      const open = (await pending()).at(-1);
      expect(open).toMatchObject({ schema });
      answers.push({ key: open?.key, value: content({ schema, text: '' }) });
      await writeFile(join(directory, 'answers.jsonl'), lines(...answers));
      await runCommand(score, args, { stdin });
    }
    const last = await runCommand(score, args, { stdin });
    expect(parse(last.stdout)).toMatchObject([{ kind: 'scored', value: 1 }]);
    expect(last.stderr).toBe('1 row: 1 scored, 0 not applicable, 0 failed\n');
  });
});

describe('the help', () => {
  const examples = score.help.split('\n').filter((line) => line.startsWith('{'));

  it('has a row that can be pasted as it is', async () => {
    await using endpoint = await openJudge(() => ({ topics: [] }));
    const { stdout } = await runCommand(score, [], { stdin: examples[0] ?? '', env: envOf(endpoint.baseUrl) });
    expect(parse(stdout)).toMatchObject([{ id: '1', metric: 'topic_adherence', kind: 'not_applicable' }]);
  });

  it('has a labelled conversation that can be pasted as it is', async () => {
    const args = ['--suite', '-', '--judge-dir', directory, '--json'];
    const { stdout } = await runCommand(score, args, { stdin: examples[1] ?? '' });
    expect(JSON.parse(stdout)).toMatchObject({ rows: 1 });
  });
});

describe('score --suite', () => {
  /** Right but for k2, whose claim it believes, and k4, whose topic it takes for refused. */
  const judge = ({ schema, text }: Question): JsonObject => {
    const about = ['regatta', 'Cancel', 'Ahoy', 'shanty'].findIndex((word) => text.includes(word));
    if (schema === 'goal_and_end_state') return { user_goal: about === 2 ? '' : 'something', end_state: 'as told' };
    if (schema === 'outcome_comparison') return { reason: `Turn 2, by row ${about + 1}.`, verdict: '1' };
    const topic = (evidence: string, on_topic: boolean, refused: boolean) => ({
      topic: evidence,
      on_topic,
      refused,
      turn: 1,
      evidence,
    });
    const topics = [
      [topic('who won', false, true), topic('pier 2', true, false)],
      [topic('Cancel', true, false)],
      [],
      [topic('shanty', false, true)],
    ];
    return { topics: topics[about] ?? [] };
  };

  it('prints how the judge agrees with the labels, each number with its interval', async () => {
    await using endpoint = await openJudge(judge);
    const { status, stdout } = await runCommand(score, ['--suite', SUITE], { env: envOf(endpoint.baseUrl) });
    expect(status).toBe(0);
    expect(stdout.replaceAll(/[\da-f]{16}/g, '<version>')).toMatchInlineSnapshot(`
      "4 labelled conversations before test-judge, 11 judge calls. Intervals are 95 %.

      agent_goal_accuracy  (evaluator <version>)
        n                    4, and 0 failed judgements
        accuracy             0.75 (0.30 to 0.95) 3/4, base rate 0.50
        Cohen's κ            0.56 (-0.08 to 1.00)
        sensitivity (1)      1.00 (0.34 to 1.00) 2/2
        specificity (0)      0.00 (0.00 to 0.79) 0/1

      topic_adherence  (evaluator <version>)
        n                    4, and 0 failed judgements
        accuracy             0.75 (0.30 to 0.95) 3/4, base rate 0.50
        Cohen's κ            0.56 (-0.08 to 1.00)
        sensitivity (pass)   1.00 (0.34 to 1.00) 2/2
        specificity (fail)   0.00 (0.00 to 0.79) 0/1
        same value           0.67 (0.21 to 0.94) 2/3
        topics paired by turn
          pairs              4; 0 missed, 0 invented
          on_topic           1.00 (0.51 to 1.00) 4/4, base rate 0.50, κ 1.00 (0.02 to 1.00)
          refused            0.75 (0.30 to 0.95) 3/4, base rate 0.75, κ 0.50 (-0.23 to 1.00)

      tag       goal                        topics
      claimed   0.00 (0.00 to 0.79) 0/1     1.00 (0.21 to 1.00) 1/1
      drift     1.00 (0.21 to 1.00) 1/1     0.00 (0.00 to 0.79) 0/1
      greeting  1.00 (0.21 to 1.00) 1/1     1.00 (0.21 to 1.00) 1/1
      harbour   0.67 (0.21 to 0.94) 2/3     0.67 (0.21 to 0.94) 2/3
      met       1.00 (0.21 to 1.00) 1/1     1.00 (0.21 to 1.00) 1/1

      agent_goal_accuracy: disagreements
        k2 [claimed, harbour]: labelled 0, judged 1
          label: Nothing was called.
          judge: Turn 2, by row 2.

      topic_adherence: disagreements
        k4 [drift, harbour]: labelled fail, judged pass
          label: a sea shanty (turn 1): off topic, answered
          judge: shanty (turn 1): off topic, refused

      topics: disagreements
        k4, turn 1, a sea shanty: refused labelled false, judged true
      "
    `);
  });

  it('never shows tags, ids or labels to the judge', async () => {
    await using endpoint = await openJudge(judge);
    await runCommand(score, ['--suite', SUITE], { env: envOf(endpoint.baseUrl) });
    const asked = JSON.stringify(endpoint.requests.map(({ body }) => body));
    for (const secret of ['harbour', 'k1', 'Nothing was called', 'booking a pier']) expect(asked).not.toContain(secret);
  });

  it('gives the same as one JSON document', async () => {
    await using endpoint = await openJudge(judge);
    const { stdout } = await runCommand(score, ['--suite', SUITE, '--json'], { env: envOf(endpoint.baseUrl) });
    expect(JSON.parse(stdout)).toMatchObject({
      rows: 4,
      goal: {
        n: 4,
        accuracy: { hits: 3, n: 4 },
        baseRate: 0.5,
        sensitivity: { hits: 2, n: 2 },
        specificity: { hits: 0, n: 1 },
        disagreements: [
          {
            id: 'k2',
            labelled: '0',
            judged: '1',
            labelReason: 'Nothing was called.',
            judgeReason: 'Turn 2, by row 2.',
          },
        ],
        failed: [],
      },
      topicRows: { accuracy: { hits: 3, n: 4 }, valueAgreed: { hits: 2, n: 3 } },
      topics: {
        pairs: 4,
        onTopic: { accuracy: { hits: 4, n: 4 } },
        refused: { accuracy: { hits: 3, n: 4 } },
        missed: [],
        invented: [],
        disagreements: [{ id: 'k4', field: 'refused', labelled: 'false', judged: 'true' }],
      },
    });
  });

  it('keeps failed judgements apart from every number', async () => {
    await using endpoint = await openJudge((question) => (question.text.includes('Ahoy') ? 500 : judge(question)));
    const { stdout } = await runCommand(score, ['--suite', SUITE, '--json'], { env: envOf(endpoint.baseUrl) });
    expect(JSON.parse(stdout)).toMatchObject({
      goal: { n: 3, failed: [{ id: 'k3', errorType: 'unavailable' }] },
      topicRows: { n: 3, failed: [{ id: 'k3', errorType: 'unavailable' }] },
    });
  });

  it('gives no interval to the κ of a judge that always says the same', async () => {
    await using endpoint = await openJudge(({ schema }) => {
      if (schema === 'goal_and_end_state') return { user_goal: 'something', end_state: 'as told' };
      return schema === 'outcome_comparison' ? { reason: 'Always.', verdict: '1' } : { topics: [] };
    });
    const run = (...more: string[]) =>
      runCommand(score, ['--suite', SUITE, ...more], { env: envOf(endpoint.baseUrl) }).then(({ stdout }) => stdout);
    expect((await run()).match(/Cohen's κ .*/g)).toEqual([
      "Cohen's κ            0.00, no interval",
      "Cohen's κ            0.00, no interval",
    ]);
    expect(JSON.parse(await run('--json'))).toMatchObject({ goal: { kappa: { value: 0, interval: null } } });
  });

  it('says of a file judge where its answers are, and how many it was asked for', async () => {
    const { stdout, stderr } = await runCommand(score, ['--suite', SUITE, '--judge-dir', directory]);
    expect(stdout.split('\n')[0]).toBe(
      `4 labelled conversations before the answers in ${directory}, 8 questions. Intervals are 95 %.`,
    );
    expect(stderr).toContain('8 judgements had no answer');
  });

  it('refuses an id that comes twice, naming both lines', async () => {
    const suite = await readFile(SUITE, 'utf8');
    const [first = ''] = suite.split('\n');
    const run = runCommand(score, ['--suite', '-', '--judge-dir', directory], {
      stdin: `${suite.trimEnd()}\n${first}`,
    });
    await expect(run).rejects.toThrow('line 5: id: "k1" is the id of line 1 too');
  });

  it('refuses a suite with a fault by line and field', async () => {
    const path = join(directory, 'suite.jsonl');
    const [first = ''] = (await readFile(SUITE, 'utf8')).split('\n');
    await writeFile(
      path,
      `${first.replace('"goal":1', '"goal":2')}\n${first.replace('"quote":"Book', '"quote":"Hook')}\n`,
    );
    const run = runCommand(score, ['--suite', path, '--judge-dir', directory]);
    await expect(run).rejects.toThrow(/line 1: labels\.goal: .*\n.*line 2: labels\.topics\.0\.quote: /);
  });
});
