import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findMetric, METRICS } from '../../src/metrics/registry.ts';

/** The least each metric is content with. */
const LEAST: Readonly<Record<string, object>> = { topic_adherence: { reference_topics: ['knots'] } };

const paramsOf = (name: string) => findMetric(name)?.params.parse(LEAST[name] ?? {}) ?? { threshold: NaN };

describe('the registry', () => {
  it('knows each metric by one name', () => {
    expect(METRICS.map(({ name }) => name)).toEqual([...new Set(METRICS.map(({ name }) => name))]);
    for (const metric of METRICS) expect(findMetric(metric.name)).toBe(metric);
    expect(findMetric('no_such_metric')).toBeUndefined();
  });
});

describe.each([...METRICS])('$name', (metric) => {
  it('has names that fit a label, a title and a range', () => {
    expect(metric.name).toMatch(/^[a-z][a-z\d_]*$/);
    expect(metric.title).not.toBe('');
    expect(metric.range[0]).toBeLessThan(metric.range[1]);
  });

  it('fills in a threshold inside its range', () => {
    const { threshold } = paramsOf(metric.name);
    expect(threshold >= metric.range[0] && threshold <= metric.range[1]).toBe(true);
  });

  it('refuses parameters it does not know', () => {
    expect(metric.params.safeParse({ ...LEAST[metric.name], thresold: 0.5 }).success).toBe(false);
  });

  it('can describe its parameters as JSON Schema', () => {
    expect(z.toJSONSchema(metric.params, { io: 'input' })).toHaveProperty('properties.threshold');
  });

  it('has a version that stays while nothing changes, and changes with parameters and judge', () => {
    const params = paramsOf(metric.name);
    const version = metric.version(params, 'judge-a');
    expect(version).toMatch(/^[\da-f]{16}$/);
    expect(metric.version(paramsOf(metric.name), 'judge-a')).toBe(version);
    expect(metric.version(params, 'judge-b')).not.toBe(version);
    expect(metric.version({ ...params, threshold: 0.123 }, 'judge-a')).not.toBe(version);
  });
});
