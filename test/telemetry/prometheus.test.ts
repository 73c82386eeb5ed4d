import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FINDING_CODES } from '../../src/agui/findings.ts';
import { JUDGE_ERROR_TYPES } from '../../src/judge/judge.ts';
import { DECISIONS } from '../../src/scoring/scorecard.ts';
import { createPrometheus, type Prometheus, type PrometheusOptions } from '../../src/telemetry/prometheus.ts';
import {
  NOW,
  sampleCall,
  sampleEnd,
  sampleExchange,
  sampleJob,
  sampleRequest,
  sampleResult,
  sampleScorecard,
} from './samples.ts';

const OPENMETRICS = 'application/openmetrics-text;version=1.0.0';
const PAIR = '{agent="harbour",metric="agent_goal_accuracy"}';

function create(changes: Partial<PrometheusOptions> = {}): Prometheus {
  const metric = { evaluatorVersion: 'v-123', judgeModel: 'judge-model' };
  return createPrometheus({
    agents: [
      {
        name: 'harbour',
        metrics: [
          { ...metric, name: 'agent_goal_accuracy' },
          { ...metric, name: 'topic_adherence' },
        ],
        tools: ['tide_table'],
      },
    ],
    eventTypes: ['RUN_STARTED', 'TEXT_MESSAGE_CONTENT', 'RUN_FINISHED'],
    queue: () => ({ queued: 3, capacity: 100, inFlight: 2 }),
    spanQueueLength: () => 7,
    logLinesLost: () => 0,
    build: { version: '1.2.3', revision: 'abc' },
    onRefused: () => {},
    ...changes,
  });
}

/** Samples of our own by series, exemplars included. */
async function samples(prometheus: Prometheus): Promise<Map<string, string>> {
  const { body } = await prometheus.exposition(OPENMETRICS);
  const lines = body.split('\n').filter((line) => line.startsWith('agui_'));
  return new Map(
    lines.map((line) => {
      const [, series = '', value = ''] = /^([^ {]+(?:\{[^}]*\})?) (.*)$/.exec(line) ?? [];
      return [series, value];
    }),
  );
}

async function numbers(prometheus: Prometheus, ...series: string[]): Promise<(number | undefined)[]> {
  const all = await samples(prometheus);
  return series.map((name) => (all.has(name) ? Number(all.get(name)?.split(' ')[0]) : undefined));
}

describe('series that are known beforehand', () => {
  it('begin at 0, for every decision, finding and judge outcome', async () => {
    const all = await samples(create());
    for (const decision of DECISIONS) {
      expect(all.get(`agui_eval_conversations_total{agent="harbour",decision="${decision}"}`)).toBe('0');
    }
    for (const code of FINDING_CODES) {
      expect(all.get(`agui_eval_findings_total{agent="harbour",code="${code}"}`)).toBe('0');
    }
    for (const outcome of ['success', ...JUDGE_ERROR_TYPES]) {
      const labels = `agent="harbour",metric="topic_adherence",outcome="${outcome}"`;
      expect(all.get(`agui_eval_judge_requests_total{${labels}}`)).toBe('0');
    }
  });

  it('make a later event change values only and add no series', async () => {
    const prometheus = create();
    const before = [...(await samples(prometheus)).keys()];
    recordOneOfEach(prometheus);
    expect([...(await samples(prometheus)).keys()]).toEqual(before);
  });

  it('cost a scrape under 3,000 lines with three agents', async () => {
    const [agent] = [{ name: 'a', tools: [], metrics: [{ name: 'm', evaluatorVersion: 'v', judgeModel: 'j' }] }];
    const prometheus = create({ agents: [agent, { ...agent, name: 'b' }, { ...agent, name: 'c' }] });
    expect((await prometheus.exposition(OPENMETRICS)).body.split('\n').length).toBeLessThan(3_000);
  });

  it('are none when there is nothing to judge, rather than series without labels', async () => {
    const all = await samples(create({ agents: [{ name: 'harbour', tools: [], metrics: [] }] }));
    expect([...all.keys()].filter((name) => name.startsWith('agui_eval_score'))).toEqual([]);
    expect(all.has('agui_eval_metric_info')).toBe(false);
  });
});

describe('a score', () => {
  it('adds to the plain and the weighted sums', async () => {
    const prometheus = create();
    prometheus.recordScorecard(sampleScorecard());
    const verdict = { kind: 'scored', value: 1, label: 'pass', reason: 'r' } as const;
    prometheus.recordScorecard(
      sampleScorecard({ job: sampleJob({ probability: 0.5 }), results: [sampleResult({ verdict })] }),
    );
    expect(
      await numbers(
        prometheus,
        `agui_eval_scores_total${PAIR}`,
        `agui_eval_score_sum_total${PAIR}`,
        `agui_eval_score_squares_sum_total${PAIR}`,
        `agui_eval_passes_total${PAIR}`,
        `agui_eval_weight_sum_total${PAIR}`,
        `agui_eval_weighted_score_sum_total${PAIR}`,
        `agui_eval_weighted_score_squares_sum_total${PAIR}`,
        `agui_eval_weight_squares_sum_total${PAIR}`,
        `agui_eval_weighted_passes_sum_total${PAIR}`,
      ),
    ).toEqual([2, 1.75, 1.5625, 1, 6, 5, 4.25, 20, 2]);
  });

  it('goes into its bucket with the trace as exemplar', async () => {
    const prometheus = create();
    const traceId = 'c'.repeat(32);
    prometheus.recordScorecard(sampleScorecard(), new Map([['agent_goal_accuracy', traceId]]));
    const all = await samples(prometheus);
    const bucket = (le: string) =>
      all.get(`agui_eval_score_bucket{le="${le}",agent="harbour",metric="agent_goal_accuracy"}`);
    expect(bucket('0.7')).toBe('0');
    expect(bucket('0.8')).toMatch(new RegExp(`^1 # \\{trace_id="${traceId}"\\} 0.75 \\d`));
  });

  it('comes with its decision, its verdict, its lag and what the judge took', async () => {
    const prometheus = create();
    const calls = [sampleCall(), sampleCall({ outcome: 'malformed', model: 'not-configured' })];
    prometheus.recordScorecard(sampleScorecard({ results: [sampleResult({ calls })] }));
    expect(
      await numbers(
        prometheus,
        'agui_eval_conversations_total{agent="harbour",decision="scored"}',
        'agui_eval_verdicts_total{agent="harbour",metric="agent_goal_accuracy",kind="scored"}',
        'agui_eval_lag_seconds_sum',
        'agui_eval_judge_requests_total{agent="harbour",metric="agent_goal_accuracy",outcome="success"}',
        'agui_eval_judge_requests_total{agent="harbour",metric="agent_goal_accuracy",outcome="malformed"}',
        'agui_eval_judge_duration_seconds_count{metric="agent_goal_accuracy"}',
        'agui_eval_judge_tokens_total{model="judge-model",type="input"}',
        'agui_eval_judge_tokens_total{model="other",type="output"}',
      ),
    ).toEqual([1, 1, 61, 1, 1, 2, 120, 30]);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -0.1, 1.1])('of %d is refused and counted', async (value) => {
    const refused: unknown[] = [];
    const prometheus = create({ onRefused: (series, given) => refused.push([series, given]) });
    const verdict = { kind: 'scored', value, label: 'pass', reason: 'r' } as const;
    prometheus.recordScorecard(sampleScorecard({ results: [sampleResult({ verdict })] }));
    expect(
      await numbers(
        prometheus,
        `agui_eval_scores_total${PAIR}`,
        `agui_eval_score_sum_total${PAIR}`,
        'agui_refused_values_total{series="agui_eval_score"}',
      ),
    ).toEqual([0, 0, 1]);
    expect(refused).toEqual([['agui_eval_score', value]]);
  });

  it('with an impossible sampling probability adds to no sum', async () => {
    const prometheus = create();
    for (const probability of [0, -1, 1.5, Number.NaN]) {
      prometheus.recordScorecard(sampleScorecard({ job: sampleJob({ probability }) }));
    }
    expect(await numbers(prometheus, `agui_eval_scores_total${PAIR}`, `agui_eval_weight_sum_total${PAIR}`)).toEqual([
      0, 0,
    ]);
  });

  it('of a verdict that is not scored does not exist', async () => {
    const prometheus = create();
    const verdicts = [
      { kind: 'not_applicable', why: 'w' },
      { kind: 'failed', errorType: 'timeout', cause: 'c' },
    ] as const;
    const results = verdicts.map((verdict) => sampleResult({ verdict }));
    prometheus.recordScorecard(sampleScorecard({ decision: 'judge_failed', results }));
    expect(
      await numbers(
        prometheus,
        `agui_eval_scores_total${PAIR}`,
        'agui_eval_verdicts_total{agent="harbour",metric="agent_goal_accuracy",kind="not_applicable"}',
        'agui_eval_verdicts_total{agent="harbour",metric="agent_goal_accuracy",kind="failed"}',
        'agui_eval_lag_seconds_count',
      ),
    ).toEqual([0, 1, 1, 0]);
  });

  it('of topic adherence adds its four outcomes', async () => {
    const prometheus = create();
    const details = {
      outcomes: { on_topic_answered: 3, off_topic_answered: 1, on_topic_refused: 0, off_topic_refused: 2 },
    };
    const verdict = { kind: 'scored', value: 0.75, label: 'fail', reason: 'r', details } as const;
    prometheus.recordScorecard(sampleScorecard({ results: [sampleResult({ metric: 'topic_adherence', verdict })] }));
    const outcomes = Object.keys(details.outcomes);
    expect(
      await numbers(
        prometheus,
        ...outcomes.map((outcome) => `agui_eval_topic_outcomes_total{agent="harbour",outcome="${outcome}"}`),
      ),
    ).toEqual([3, 1, 0, 2]);
  });

  it('keeps every sum finite and every count whole, whatever the values are', async () => {
    const anyNumber = fc.oneof(fc.double(), fc.double({ min: 0, max: 1 }));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(anyNumber, anyNumber), { maxLength: 20 }), async (given) => {
        const prometheus = create();
        for (const [value, probability] of given) {
          const verdict = { kind: 'scored', value, label: 'pass', reason: 'r' } as const;
          prometheus.recordScorecard(
            sampleScorecard({ job: sampleJob({ probability }), results: [sampleResult({ verdict })] }),
          );
        }
        const [scores = Number.NaN, sum = Number.NaN, weight = Number.NaN] = await numbers(
          prometheus,
          `agui_eval_scores_total${PAIR}`,
          `agui_eval_score_sum_total${PAIR}`,
          `agui_eval_weight_sum_total${PAIR}`,
        );
        const usable = given.filter(
          ([value, probability]) => value >= 0 && value <= 1 && probability >= 1e-9 && probability <= 1,
        );
        expect(scores).toBe(usable.length);
        expect(sum).toBeCloseTo(
          usable.reduce((total, [value]) => total + value, 0),
          9,
        );
        expect(weight).toBeGreaterThanOrEqual(scores);
        expect(Number.isFinite(weight)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});

describe('closings', () => {
  it('are counted when they happen and again by their one decision', async () => {
    const prometheus = create();
    for (const decision of DECISIONS) {
      prometheus.recordClosing('harbour');
      prometheus.recordDecision('harbour', decision);
    }
    const all = await samples(prometheus);
    const decided = [...all].filter(([name]) => name.startsWith('agui_eval_conversations_total'));
    expect(decided.reduce((sum, [, value]) => sum + Number(value), 0)).toBe(DECISIONS.length);
    expect(all.get('agui_eval_closings_total{agent="harbour"}')).toBe(String(DECISIONS.length));
  });
});

/** The tap stopped reading before the stream's end. */
const UNREAD = { code: 'truncated_tap', at: 9, id: '' } as const;

describe('a request', () => {
  it.each([
    [sampleEnd(), sampleExchange(), '200', 'completed'],
    [sampleEnd({ status: 404 }), undefined, '404', 'completed'],
    [sampleEnd(), sampleExchange({ ending: 'run_error' }), '200', 'run_error'],
    [sampleEnd(), sampleExchange({ ending: 'truncated' }), '200', 'upstream_error'],
    [sampleEnd(), sampleExchange({ ending: 'truncated', findings: [UNREAD] }), '200', 'completed'],
    [sampleEnd({ status: 500 }), undefined, '500', 'upstream_error'],
    [sampleEnd({ status: 504, errorCode: 'upstream_timeout' }), undefined, '504', 'upstream_error'],
    [sampleEnd({ transport: 'upstream_error' }), sampleExchange({ ending: 'upstream_error' }), '200', 'upstream_error'],
    [sampleEnd({ transport: 'client_aborted' }), sampleExchange({ ending: 'run_error' }), '200', 'client_disconnect'],
    [{ ...sampleEnd({ transport: 'client_aborted' }), status: undefined }, undefined, 'none', 'client_disconnect'],
  ])('is counted by status and outcome', async ({ status, ...end }, exchange, code, outcome) => {
    const prometheus = create();
    prometheus.requestEnded(sampleRequest(), { ...end, ...(status && { status }) }, exchange);
    const labels = `agent="harbour",code="${code}",outcome="${outcome}"`;
    expect(await numbers(prometheus, `agui_proxy_requests_total{${labels}}`)).toEqual([1]);
  });

  it('is active until it is closed, before it is read', async () => {
    const prometheus = create();
    prometheus.requestStarted(sampleRequest());
    prometheus.requestStarted(sampleRequest());
    prometheus.requestClosed(sampleRequest());
    expect(await numbers(prometheus, 'agui_proxy_active_streams{agent="harbour"}')).toEqual([1]);
  });

  it('is timed: first byte, overhead, and for a run first event and duration', async () => {
    const prometheus = create();
    prometheus.requestEnded(sampleRequest(), sampleEnd(), sampleExchange());
    prometheus.recordExchange(sampleExchange());
    const sum = (name: string) => `agui_proxy_${name}_seconds_sum{agent="harbour"}`;
    expect(
      await numbers(prometheus, sum('first_byte'), sum('overhead'), sum('first_event'), sum('stream_duration')),
    ).toEqual([0.03, 0.0004, 0.04, 2]);
    expect(await numbers(prometheus, 'agui_proxy_bytes_total{agent="harbour"}')).toEqual([1000]);
  });

  it('counts what the tap did not copy', async () => {
    const prometheus = create();
    expect(await numbers(prometheus, 'agui_tee_dropped_bytes_total')).toEqual([0]);
    prometheus.recordTeeDrop(400);
    expect(await numbers(prometheus, 'agui_tee_dropped_bytes_total')).toEqual([400]);
  });
});

describe('a stream', () => {
  it('is counted by event type, finding and tool call', async () => {
    const prometheus = create();
    prometheus.recordExchange(streamWithTools());
    expect(
      await numbers(
        prometheus,
        'agui_stream_events_total{type="TEXT_MESSAGE_CONTENT"}',
        'agui_stream_events_total{type="other"}',
        'agui_eval_findings_total{agent="harbour",code="malformed_json"}',
        'agui_eval_findings_total{agent="harbour",code="missing_end"}',
        'agui_stream_parse_errors_total{reason="malformed_json"}',
        'agui_tool_calls_total{agent="harbour",tool="tide_table",outcome="answered"}',
        'agui_tool_calls_total{agent="harbour",tool="other",outcome="complete"}',
        'agui_tool_calls_total{agent="harbour",tool="other",outcome="open"}',
      ),
    ).toEqual([5, 2, 2, 1, 2, 1, 1, 1]);
  });

  it('has all its findings counted, those included that are not kept', async () => {
    const prometheus = create();
    const findingsDropped = [
      { code: 'malformed_json', count: 500 },
      { code: 'snake_case', count: 3 },
    ] as const;
    prometheus.recordExchange({ ...streamWithTools(), findingsDropped });
    expect(
      await numbers(
        prometheus,
        'agui_eval_findings_total{agent="harbour",code="malformed_json"}',
        'agui_eval_findings_total{agent="harbour",code="snake_case"}',
        'agui_stream_parse_errors_total{reason="malformed_json"}',
      ),
    ).toEqual([502, 3, 502]);
  });

  it('that ends before it began is refused as a defect and not taken for one of no length', async () => {
    const refused: string[] = [];
    const prometheus = create({ onRefused: (series) => refused.push(series) });
    prometheus.recordExchange(sampleExchange({ timing: { startedAt: NOW, endedAt: NOW - 1 } }));
    expect(refused).toEqual(['agui_proxy_stream_duration_seconds']);
  });

  it('that replays a run does not count its tool calls again', async () => {
    const prometheus = create();
    prometheus.recordExchange({ ...streamWithTools(), kind: 'replay' });
    const labels = '{agent="harbour",tool="tide_table",outcome="answered"}';
    expect(await numbers(prometheus, `agui_tool_calls_total${labels}`)).toEqual([0]);
  });
});

describe('labels', () => {
  it('take no value that is not configured', async () => {
    const prometheus = create();
    prometheus.recordClosing('stranger');
    prometheus.requestEnded(sampleRequest({ agent: 'stranger' }), sampleEnd({ status: 999 }));
    prometheus.recordScorecard(
      sampleScorecard({ job: sampleJob({ agent: 'stranger' }), results: [sampleResult({ metric: 'made_up' })] }),
    );
    const all = await samples(prometheus);
    expect([...all.keys()].filter((name) => /stranger|made_up|999/.test(name))).toEqual([]);
    expect(all.get('agui_eval_closings_total{agent="other"}')).toBe('1');
    expect(all.get('agui_eval_scores_total{agent="other",metric="other"}')).toBe('1');
    expect(all.get('agui_proxy_requests_total{agent="other",code="other",outcome="upstream_error"}')).toBe('1');
  });
});

describe('gauges', () => {
  it('are read at each scrape', async () => {
    let queued = 1;
    const prometheus = create({ queue: () => ({ queued, capacity: 5, inFlight: 0 }) });
    expect(await numbers(prometheus, 'agui_eval_queue_length', 'agui_otel_queue_length')).toEqual([1, 7]);
    queued = 4;
    expect(await numbers(prometheus, 'agui_eval_queue_length')).toEqual([4]);
  });

  it('are NaN when they cannot be read, and the scrape goes on', async () => {
    const prometheus = create({
      queue: () => {
        throw new Error('store gone');
      },
    });
    expect(await numbers(prometheus, 'agui_eval_queue_length', 'agui_otel_queue_length')).toEqual([Number.NaN, 7]);
  });

  it('tell what runs and what scores', async () => {
    const all = await samples(create());
    expect(all.get('agui_build_info{version="1.2.3",revision="abc"}')).toBe('1');
    const labels = 'agent="harbour",metric="topic_adherence",evaluator_version="v-123",judge_model="judge-model"';
    expect(all.get(`agui_eval_metric_info{${labels}}`)).toBe('1');
  });
});

describe('spans', () => {
  it('are counted by outcome', async () => {
    const prometheus = create();
    prometheus.recordSpans('failed', 512);
    expect(
      await numbers(
        prometheus,
        'agui_otel_spans_total{outcome="exported"}',
        'agui_otel_spans_total{outcome="failed"}',
        'agui_otel_spans_total{outcome="dropped"}',
      ),
    ).toEqual([0, 512, 0]);
  });
});

function streamWithTools() {
  return sampleExchange({
    eventCounts: { RUN_STARTED: 1, TEXT_MESSAGE_CONTENT: 5, NOT_LISTED: 2 },
    findings: [
      { code: 'malformed_json', at: 1, id: '' },
      { code: 'malformed_json', at: 2, id: '' },
      { code: 'missing_end', at: 3, id: 'm' },
    ],
    toolCalls: [
      { id: '1', name: 'tide_table', startedAt: NOW, endedAt: NOW + 1, state: 'answered' },
      { id: '2', name: 'made_up_1', startedAt: NOW, endedAt: NOW + 1, state: 'complete' },
      { id: '3', name: 'made_up_2', startedAt: NOW, state: 'open' },
    ],
  });
}

function recordOneOfEach(prometheus: Prometheus): void {
  prometheus.requestStarted(sampleRequest());
  prometheus.requestEnded(sampleRequest(), sampleEnd(), sampleExchange());
  prometheus.recordExchange(streamWithTools());
  prometheus.recordClosing('harbour');
  prometheus.recordScorecard(sampleScorecard());
  prometheus.recordSpans('exported', 1);
}
