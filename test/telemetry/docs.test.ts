import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createPrometheus } from '../../src/telemetry/prometheus.ts';
import { ATTRIBUTE, EVALUATION_RESULT_EVENT, METRIC, OPERATION } from '../../src/telemetry/semconv.ts';

describe('docs/telemetry.md', () => {
  const text = readFileSync(new URL('../../docs/telemetry.md', import.meta.url), 'utf8');

  it('describes every series that is registered, and no other', async () => {
    const prometheus = createPrometheus({
      agents: [],
      eventTypes: [],
      queue: () => ({ queued: 0, capacity: 0, inFlight: 0 }),
      spanQueueLength: () => 0,
      logLinesLost: () => 0,
      build: { version: '', revision: '' },
      onRefused: () => {},
    });
    const { body } = await prometheus.exposition('');
    const registered = [...body.matchAll(/^# TYPE (agui_\S+)/gm)].map(([, name = '']) => name);
    expect(registered.toSorted()).toEqual(Object.values(METRIC).toSorted());
    const described = [...text.matchAll(/^\| `(agui_[a-z_]+)`/gm)].map(([, name = '']) => name);
    expect(described.toSorted()).toEqual(registered.toSorted());
  });

  it.each([...Object.values(ATTRIBUTE), ...Object.values(OPERATION), EVALUATION_RESULT_EVENT])(
    'explains %s',
    (name) => {
      expect(text).toMatch(new RegExp(`\`${name.replaceAll('.', '\\.')}[\` ]`));
    },
  );
});
