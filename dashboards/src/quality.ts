import { METRIC } from '../../src/telemetry/semconv.ts';
import { layout, type RowSpec } from './layout.ts';
import type { Annotation, Dashboard } from './model.ts';
import { heatmap, newest, PROMETHEUS, series, stat, table, timeseries, traces } from './panels.ts';
import { AGENT, AGENT_METRIC, increase, JOB, quantile, rate, ratio, whereEnough, wilson } from './queries.ts';
import { dataSource, interval, labelValues } from './variables.ts';

const RANGE = '$__range';
const WINDOW = '$window';
const BY_SCORE = ['agent', 'metric'];
const SCORE_LEGEND = '{{agent}} {{metric}}';

/** Below this many scores a ratio says too little to be drawn; the number of scores is shown all the same. */
const ENOUGH_SCORES = 5;

/** What of a counter is left by a label matcher, summed: `part('outcome!="success"')`. */
const counted = (metric: string, selector: string, window: string, matcher?: string): string =>
  increase(metric, matcher === undefined ? selector : `${selector}, ${matcher}`, window, []);

const share = (metric: string, selector: string, window: string, matcher: string): string =>
  ratio(counted(metric, selector, window, matcher), counted(metric, selector, window));

const NOT_A_FAILURE = 'outcome!~"completed|client_disconnect"';

const overview: RowSpec = {
  title: 'Overview of the shown time range',
  panels: [
    stat({
      title: 'Conversations closed',
      description:
        'Closings, each of which ends in exactly one decision. A thread that resumes and closes again counts again.',
      unit: 'short',
      queries: [newest(counted(METRIC.closings, AGENT, RANGE), 'closed')],
      width: 4,
      height: 4,
    }),
    stat({
      title: 'Share that was scored',
      description:
        'Closings with at least one score. The rest was not sampled, did not apply, was incomplete or failed to be judged; see “Decisions”.',
      unit: 'percentunit',
      queries: [
        newest(
          ratio(
            counted(METRIC.conversations, AGENT, RANGE, 'decision=~"scored|partly_scored"'),
            counted(METRIC.closings, AGENT, RANGE),
          ),
          'scored',
        ),
      ],
      width: 4,
      height: 4,
    }),
    stat({
      title: 'Judge requests that failed',
      description:
        'A failed request is counted and never a score. Failures are not random, so many of them bias every mean.',
      unit: 'percentunit',
      queries: [newest(share(METRIC.judgeRequests, AGENT_METRIC, RANGE, 'outcome!="success"'), 'failed')],
      width: 4,
      height: 4,
      alarmFrom: 0.2,
    }),
    stat({
      title: 'Topics answered off topic',
      description:
        'Share of all topics the users raised that lie outside the reference topics and were answered all the same.',
      unit: 'percentunit',
      queries: [newest(share(METRIC.topicOutcomes, AGENT, RANGE, 'outcome="off_topic_answered"'), 'off topic')],
      width: 4,
      height: 4,
    }),
    stat({
      title: 'Requests that failed',
      description:
        'Proxied requests that ended in an error of the run or of the agent. A client that leaves is not an error.',
      unit: 'percentunit',
      queries: [newest(share(METRIC.requests, AGENT, RANGE, NOT_A_FAILURE), 'failed')],
      width: 4,
      height: 4,
      alarmFrom: 0.05,
    }),
    stat({
      title: 'Spans lost',
      description:
        'Spans that could not be exported or were dropped because the queue was full. Scores in these spans are still in the metrics.',
      unit: 'short',
      queries: [newest(counted(METRIC.otelSpans, JOB, RANGE, 'outcome!="exported"'), 'lost')],
      width: 4,
      height: 4,
      alarmFrom: 1,
    }),
    scoresTable(),
  ],
};

function scoresTable(): RowSpec['panels'][number] {
  const n = increase(METRIC.scores, AGENT_METRIC, RANGE, BY_SCORE);
  const passes = increase(METRIC.passes, AGENT_METRIC, RANGE, BY_SCORE);
  const total = increase(METRIC.scoreSum, AGENT_METRIC, RANGE, BY_SCORE);
  const columns: readonly (readonly [title: string, expression: string])[] = [
    ['scores (n)', n],
    ['pass ratio', ratio(passes, n)],
    ['lower bound', wilson('lower', passes, n)],
    ['upper bound', wilson('upper', passes, n)],
    ['mean score', `${total} / (${n} > 0)`],
  ];
  return table({
    title: 'Scores, with the 95 % Wilson interval of the pass ratio',
    description:
      'What the shown time range says about each agent and metric, and how sure it is. Counts are extrapolated by Prometheus and need not be whole.',
    unit: 'percentunit',
    queries: columns.map(([, expression]) => ({ ...newest(expression, ''), format: 'table' as const })),
    hidden: ['Time'],
    renamed: Object.fromEntries(columns.map(([title], index) => [`Value #${'ABCDE'.charAt(index)}`, title])),
    overrides: [
      {
        matcher: { id: 'byName', options: 'scores (n)' },
        properties: [
          { id: 'unit', value: 'short' },
          { id: 'decimals', value: 0 },
          { id: 'max', value: null },
        ],
      },
    ],
    width: 24,
    height: 6,
  });
}

/** One panel an agent and metric, since Grafana fills a band only between two series it knows by name. */
const passRatio: RowSpec = {
  title: 'Pass ratio of $agent',
  repeat: 'agent',
  panels: [
    timeseries({
      title: 'Pass ratio: $metric',
      description: `Passes in scores over the last $window, with its 95 % Wilson interval as a band, drawn from ${ENOUGH_SCORES} scores on. The bars say on how many scores it rests.`,
      unit: 'percentunit',
      queries: passRatioQueries(),
      overrides: [
        { matcher: { id: 'byName', options: 'lower bound' }, properties: edge() },
        {
          matcher: { id: 'byName', options: 'upper bound' },
          properties: [
            ...edge(),
            { id: 'custom.fillBelowTo', value: 'lower bound' },
            { id: 'custom.fillOpacity', value: 20 },
          ],
        },
        {
          matcher: { id: 'byName', options: 'scores (n)' },
          properties: [
            { id: 'unit', value: 'short' },
            { id: 'max', value: null },
            { id: 'custom.axisPlacement', value: 'right' },
            { id: 'custom.axisLabel', value: 'scores (n)' },
            { id: 'custom.drawStyle', value: 'bars' },
            { id: 'custom.fillOpacity', value: 15 },
            { id: 'custom.lineWidth', value: 0 },
          ],
        },
      ],
      repeat: 'metric',
      width: 12,
      height: 9,
    }),
  ],
};

function passRatioQueries(): readonly ReturnType<typeof series>[] {
  const n = increase(METRIC.scores, AGENT_METRIC, WINDOW, []);
  const passes = increase(METRIC.passes, AGENT_METRIC, WINDOW, []);
  return [
    series(whereEnough(wilson('lower', passes, n), n, ENOUGH_SCORES), 'lower bound'),
    series(whereEnough(wilson('upper', passes, n), n, ENOUGH_SCORES), 'upper bound'),
    series(whereEnough(ratio(passes, n), n, ENOUGH_SCORES), 'pass ratio'),
    series(n, 'scores (n)'),
  ];
}

function edge(): { id: string; value: unknown }[] {
  return [
    { id: 'custom.lineWidth', value: 0 },
    { id: 'custom.hideFrom', value: { legend: true, tooltip: false, viz: false } },
  ];
}

const scores: RowSpec = {
  title: 'Scores',
  panels: [
    timeseries({
      title: 'Mean score',
      description: 'Sum of the scores over their number in the last $window; never a mean of means.',
      unit: 'percentunit',
      queries: [
        series(
          `${increase(METRIC.scoreSum, AGENT_METRIC, WINDOW, BY_SCORE)} / (${increase(METRIC.scores, AGENT_METRIC, WINDOW, BY_SCORE)} > 0)`,
          SCORE_LEGEND,
        ),
      ],
      width: 8,
    }),
    heatmap({
      title: 'Distribution of scores',
      description:
        'How many scores fell into each tenth. An exemplar leads to the trace of the run that got the score.',
      unit: 'percentunit',
      queries: [
        {
          ...series(`sum by (le) (increase(${METRIC.score}_bucket{${AGENT_METRIC}}[$__rate_interval]))`, '{{le}}'),
          format: 'heatmap',
          exemplar: true,
        },
      ],
      width: 8,
    }),
    timeseries({
      title: 'Topics answered off topic',
      description:
        'Share of the topics raised in the last $window that lie outside the reference topics and were answered. Watch this one for drift.',
      unit: 'percentunit',
      queries: [
        series(
          ratio(
            increase(METRIC.topicOutcomes, `${AGENT}, outcome="off_topic_answered"`, WINDOW, ['agent']),
            increase(METRIC.topicOutcomes, AGENT, WINDOW, ['agent']),
          ),
          '{{agent}}',
        ),
      ],
      width: 8,
    }),
    timeseries({
      title: 'Topic outcomes',
      description:
        'Topics per second by what became of them: inside or outside the reference topics, answered or refused.',
      unit: 'ops',
      queries: [series(rate(METRIC.topicOutcomes, AGENT, ['outcome']), '{{outcome}}')],
      stacked: true,
      width: 12,
    }),
    traces({
      title: 'Latest conversations that failed',
      description: 'Evaluation spans labelled “fail”. Each opens the trace of the run it judges.',
      query:
        '{ span.gen_ai.evaluation.score.label = "fail" } | select(span.gen_ai.evaluation.name, span.gen_ai.evaluation.score.value, span.gen_ai.agent.name, span.gen_ai.conversation.id)',
      width: 12,
    }),
  ],
};

const judging: RowSpec = {
  title: 'Coverage and judge',
  panels: [
    timeseries({
      title: 'Decisions',
      description: 'What became of closed conversations, per second. The decisions add up to the closings.',
      unit: 'ops',
      queries: [series(rate(METRIC.conversations, AGENT, ['decision']), '{{decision}}')],
      stacked: true,
      width: 8,
    }),
    timeseries({
      title: 'Verdicts',
      description: 'Verdicts per second by kind. A failed or inapplicable judgement is not a score.',
      unit: 'ops',
      queries: [series(rate(METRIC.verdicts, AGENT_METRIC, ['metric', 'kind']), '{{metric}} {{kind}}')],
      stacked: true,
      width: 8,
    }),
    timeseries({
      title: 'Failed judge requests',
      description: 'Judge requests per second that brought no usable answer, by type of error.',
      unit: 'ops',
      queries: [series(rate(METRIC.judgeRequests, `${AGENT_METRIC}, outcome!="success"`, ['outcome']), '{{outcome}}')],
      stacked: true,
      width: 8,
    }),
    timeseries({
      title: 'Duration of judge requests',
      description: 'Median and 95th percentile of one request to the judge.',
      unit: 's',
      queries: percentiles(METRIC.judgeDuration, `${JOB}, metric=~"$metric"`),
      width: 8,
    }),
    timeseries({
      title: 'Tokens of the judge',
      description: 'Tokens per second that the judge’s endpoint reported, by model and direction.',
      unit: 'short',
      queries: [series(rate(METRIC.judgeTokens, JOB, ['model', 'type']), '{{model}} {{type}}')],
      stacked: true,
      width: 8,
    }),
    timeseries({
      title: 'Waiting and under way',
      description:
        'Closed conversations that wait to be judged, those being judged, and how many may wait before any is shed.',
      unit: 'short',
      queries: [
        series(`sum(${METRIC.queueLength}{${JOB}})`, 'waiting'),
        series(`sum(${METRIC.inFlight}{${JOB}})`, 'under way'),
        series(`sum(${METRIC.queueCapacity}{${JOB}})`, 'capacity'),
      ],
      width: 8,
    }),
  ],
};

const proxy: RowSpec = {
  title: 'Proxy',
  panels: [
    timeseries({
      title: 'Requests',
      description: 'Proxied requests per second by how they ended.',
      unit: 'reqps',
      queries: [series(rate(METRIC.requests, AGENT, ['agent', 'outcome']), '{{agent}} {{outcome}}')],
      stacked: true,
      width: 8,
    }),
    timeseries({
      title: 'Requests that failed',
      description: 'Share of requests that ended in an error of the run or of the agent.',
      unit: 'percentunit',
      queries: [
        series(
          ratio(
            rate(METRIC.requests, `${AGENT}, ${NOT_A_FAILURE}`, ['agent']),
            rate(METRIC.requests, AGENT, ['agent']),
          ),
          '{{agent}}',
        ),
      ],
      width: 8,
    }),
    timeseries({
      title: 'Time to the first byte',
      description: 'From the request’s arrival to the first byte of the agent’s answer, median and 95th percentile.',
      unit: 's',
      queries: percentiles(METRIC.firstByte, AGENT),
      width: 8,
    }),
    timeseries({
      title: 'Open streams',
      description: 'Requests in progress.',
      unit: 'short',
      queries: [series(`sum by (agent) (${METRIC.activeStreams}{${AGENT}})`, '{{agent}}')],
      width: 8,
    }),
    timeseries({
      title: 'Time the sidecar adds',
      description: 'From the request’s arrival to the start of the request to the agent, median and 95th percentile.',
      unit: 's',
      queries: percentiles(METRIC.overhead, AGENT),
      width: 8,
    }),
    timeseries({
      title: 'Not analysed',
      description:
        'Bytes per second that were forwarded but not copied because a bound was reached: the conversations lack them, the clients do not.',
      unit: 'Bps',
      queries: [series(rate(METRIC.teeDroppedBytes, JOB, []), 'not copied')],
      width: 8,
    }),
  ],
};

const telemetry: RowSpec = {
  title: 'Telemetry of the sidecar',
  panels: [
    timeseries({
      title: 'Spans',
      description: 'Spans per second that were exported, failed to be, or were dropped because the queue was full.',
      unit: 'ops',
      queries: [series(rate(METRIC.otelSpans, JOB, ['outcome']), '{{outcome}}')],
      stacked: true,
      width: 12,
    }),
    timeseries({
      title: 'Spans waiting for export',
      description: 'Length of the export queue.',
      unit: 'short',
      queries: [series(`sum by (instance) (${METRIC.otelQueueLength}{${JOB}})`, '{{instance}}')],
      width: 12,
    }),
  ],
};

function percentiles(histogram: string, selector: string): readonly ReturnType<typeof series>[] {
  return [0.5, 0.95].map((q) => ({ ...series(quantile(q, histogram, selector, []), `p${q * 100}`), exemplar: true }));
}

/** A line wherever a series with new values of `labels` appears. */
function appearance(
  name: string,
  metric: string,
  labels: readonly string[],
  selector: string,
  text: string,
): Annotation {
  const current = `count by (${labels.join(', ')}) (${metric}{${selector}})`;
  const before = `count by (${labels.join(', ')}) (${metric}{${selector}} offset $__interval)`;
  return {
    name,
    datasource: PROMETHEUS,
    enable: true,
    iconColor: 'blue',
    expr: `${current} unless ${before}`,
    titleFormat: name,
    textFormat: text,
  };
}

/** Quality of the agents as the judge sees it, with what is needed to trust it. */
export const qualityDashboard: Dashboard = {
  uid: 'agui-quality',
  title: 'AG-UI agent quality',
  description:
    'Scores of AG-UI agents seen by agui-sidecar, how sure they are, what was judged, and the traffic behind it.',
  tags: ['agui-sidecar'],
  schemaVersion: 42,
  editable: false,
  graphTooltip: 1,
  timezone: 'browser',
  refresh: '30s',
  time: { from: 'now-6h', to: 'now' },
  links: [
    {
      title: 'agui-sidecar',
      type: 'dashboards',
      tags: ['agui-sidecar'],
      asDropdown: true,
      includeVars: true,
      keepTime: true,
    },
  ],
  annotations: {
    list: [
      appearance('Sidecar version', METRIC.buildInfo, ['version'], JOB, 'version {{version}}'),
      appearance(
        'Judge version',
        METRIC.metricInfo,
        ['agent', 'metric', 'evaluator_version', 'judge_model'],
        AGENT_METRIC,
        '{{agent}} {{metric}}: {{judge_model}} {{evaluator_version}}',
      ),
    ],
  },
  templating: {
    list: [
      dataSource('datasource', 'Data source', 'prometheus'),
      dataSource('tempo', 'Traces', 'tempo'),
      labelValues('job', 'Job', METRIC.buildInfo),
      labelValues('instance', 'Instance', `${METRIC.buildInfo}{job=~"$job"}`),
      labelValues('agent', 'Agent', `${METRIC.closings}{${JOB}}`),
      labelValues('metric', 'Metric', `${METRIC.scores}{${AGENT}}`),
      interval('window', 'Window', 'How far back each point of a ratio or mean looks.', [
        '1h',
        '15m',
        '6h',
        '1d',
        '3d',
      ]),
    ],
  },
  panels: layout([overview, passRatio, scores, judging, proxy, telemetry]),
};
