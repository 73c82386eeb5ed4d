import { describe, expect, it } from 'vitest';
import { config } from './read.ts';

const AGENTS = `agents:
  - { name: travel, url: http://h:1, match: /travel, reference_topics: [flights, hotels] }
  - { name: helper, url: http://h:2, match: /helper }
`;

function metricsOf(agent: string, metrics: string) {
  return config({ env: {}, file: `${AGENTS}${metrics}` }).agents.find(({ name }) => name === agent)?.metrics;
}

describe('what an agent is judged by', () => {
  it('is goal accuracy, and topic adherence where it has topics', () => {
    expect(metricsOf('travel', '')?.map(({ name }) => name)).toEqual(['agent_goal_accuracy', 'topic_adherence']);
    expect(metricsOf('helper', '')?.map(({ name }) => name)).toEqual(['agent_goal_accuracy']);
  });

  it('has the defaults of each metric filled in', () => {
    expect(metricsOf('helper', '')).toEqual([{ name: 'agent_goal_accuracy', params: { threshold: 1 } }]);
    expect(metricsOf('travel', '')?.[1]?.params).toMatchObject({
      mode: 'f1',
      threshold: 0.8,
      reference_topics: ['flights', 'hotels'],
    });
  });

  it('tells goal accuracy the topics of the agent, so that a right refusal can be known', () => {
    expect(metricsOf('travel', '')?.[0]?.params).toMatchObject({ reference_topics: ['flights', 'hotels'] });
  });

  it('is what was asked for, nothing else', () => {
    expect(metricsOf('travel', 'metrics: [topic_adherence]')?.map(({ name }) => name)).toEqual(['topic_adherence']);
    expect(metricsOf('helper', 'metrics: [topic_adherence]')).toEqual([]);
  });

  it('goes by the topics of an entry before those of the agent', () => {
    const metrics = 'metrics: [{ name: topic_adherence, mode: precision, threshold: 0.9, reference_topics: [visas] }]';
    const params = { mode: 'precision', threshold: 0.9, reference_topics: ['visas'] };
    expect(metricsOf('travel', metrics)).toEqual([{ name: 'topic_adherence', params }]);
    expect(metricsOf('helper', metrics)).toEqual([{ name: 'topic_adherence', params }]);
  });

  it('takes compat', () => {
    const metrics = 'metrics: [{ name: agent_goal_accuracy, compat: ragas }]';
    expect(metricsOf('helper', metrics)?.[0]?.params).toMatchObject({ compat: 'ragas' });
  });

  it('takes parameters as text from --set and from variables', () => {
    const file = 'metrics: [{ name: agent_goal_accuracy, threshold: ${T} }]';
    const env = { AGENT_URL: 'http://h', T: '0.5' };
    expect(config({ file, env }).agents[0]?.metrics[0]?.params).toMatchObject({ threshold: 0.5 });
    const set = ['metrics.0.threshold=0.25'];
    expect(config({ file, env, set }).agents[0]?.metrics[0]?.params).toMatchObject({ threshold: 0.25 });
  });
});

describe('the judge', () => {
  const judge = (env: Readonly<Record<string, string>>) => config({ env: { AGENT_URL: 'http://h', ...env } }).judge;

  it('is off without a key and without an endpoint', () => {
    expect(judge({ JUDGE_MODEL: 'm' })).toEqual({ kind: 'off' });
  });

  it('is on with a key, at the endpoint of OpenAI', () => {
    expect(judge({ OPENAI_API_KEY: 'k' })).toMatchObject({
      kind: 'on',
      baseUrl: 'https://api.openai.com/v1',
      apiKey: 'k',
    });
  });

  it('is on with an endpoint, without a key', () => {
    const on = judge({ OPENAI_BASE_URL: 'http://localhost:11434/v1' });
    expect(on).toMatchObject({ kind: 'on', baseUrl: 'http://localhost:11434/v1' });
    expect(on).not.toHaveProperty('apiKey');
  });
});
