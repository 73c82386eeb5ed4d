import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configJsonSchema } from '../../src/config/json-schema.ts';
import { loadConfig } from '../../src/config/load.ts';
import { METRICS } from '../../src/metrics/registry.ts';
import { config } from './read.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/agui-sidecar.yaml', import.meta.url));

describe('the example configuration', () => {
  it('is valid with nothing in the environment', async () => {
    const result = await loadConfig({ config: EXAMPLE }, {});
    expect(result).toMatchObject({
      ok: true,
      config: {
        agents: [
          {
            name: 'travel-concierge',
            match: '/travel',
            tools: ['search_flights', 'book_hotel'],
            metrics: [
              { name: 'agent_goal_accuracy' },
              { name: 'topic_adherence', params: { mode: 'precision', threshold: 0.9 } },
            ],
          },
          { name: 'harbour-desk', url: 'http://localhost:8001', metrics: [{ name: 'agent_goal_accuracy' }] },
        ],
        judge: { kind: 'off' },
      },
    });
  });

  it('takes its secrets from the environment', async () => {
    const result = await loadConfig({ config: EXAMPLE }, { OPENAI_API_KEY: 'k' });
    expect(result).toMatchObject({ ok: true, config: { judge: { kind: 'on', apiKey: 'k' } } });
  });

  it('writes out defaults as they are', () => {
    const result = config({ env: { OPENAI_API_KEY: 'k' }, file: readFileSync(EXAMPLE, 'utf8') });
    const { agents: _, ...defaults } = config({ env: { OPENAI_API_KEY: 'k', AGENT_URL: 'http://h' } });
    expect(result).toMatchObject(defaults);
  });
});

describe('the JSON Schema', () => {
  const schema = z.fromJSONSchema(JSON.parse(JSON.stringify(configJsonSchema(METRICS))));
  const accepts = (yaml: string) => schema.safeParse(parse(yaml)).success;

  it('accepts the example', () => {
    expect(accepts(readFileSync(EXAMPLE, 'utf8'))).toBe(true);
  });

  it.each([
    'listen: { prt: 1 }',
    'listen: { port: 70000 }',
    'foo: 1',
    'closing: { idle: 15 }',
    'agents: [{ name: a }]',
    'metrics: [foo]',
  ])('refuses %s', (yaml) => {
    expect(accepts(yaml)).toBe(false);
  });
});

describe('a file as the documentation first shows it', () => {
  it('may write the default store without quotes, though YAML would take it for the start of a section', () => {
    const file = `agents:
  - name: travel            # label
    url: http://localhost:8000
store: memory:              # sqlite:./agui.db
log: { level: warn }
`;
    expect(config({ env: {}, file })).toMatchObject({ store: { kind: 'memory' }, log: { level: 'warn' } });
  });

  it('may begin with a byte order mark and use CRLF', () => {
    expect(config({ file: '\uFEFFlisten:\r\n  port: 81\r\n' }).listen.port).toBe(81);
  });
});
