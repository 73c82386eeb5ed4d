import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { config } from '../../src/commands/config.ts';
import { UsageError } from '../../src/lib/usage-error.ts';
import { runCommand } from '../support/run-command.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/agui-sidecar.yaml', import.meta.url));

describe('config print', () => {
  const print = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runCommand(config, ['print', ...args], { env });

  it('shows every setting in force and where it came from', async () => {
    const { status, stdout } = await print(['--config', EXAMPLE, '--set', 'log.level=warn'], {
      SAMPLE_RATE: '0.5',
      HARBOUR_URL: 'http://harbour:1',
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ {4}url: http:\/\/harbour:1 # .*agui-sidecar\.yaml:\d+$/m);
    expect(stdout).toMatch(/^ {2}rate: 0\.5 # SAMPLE_RATE$/m);
    expect(stdout).toMatch(/^ {2}level: warn # --set log\.level$/m);
    expect(stdout).toMatch(/^ {2}connect_timeout: 10s # default$/m);
    expect(stdout).toMatch(/^ {2}token: null # not set$/m);
  });

  it('prints YAML that is the same configuration when read again', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'agui-sidecar-'));
    try {
      const { stdout } = await print(['--config', EXAMPLE]);
      const copy = join(directory, 'copy.yaml');
      await writeFile(copy, stdout);
      expect(parse((await print(['--config', copy])).stdout)).toEqual(parse(stdout));
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('masks secrets', async () => {
    const { stdout } = await print([], { AGENT_URL: 'http://h', OPENAI_API_KEY: 'sk-hunter2', ADMIN_TOKEN: 'hunter3' });
    expect(stdout).not.toMatch(/hunter/);
    expect(parse(stdout)).toMatchObject({ judge: { api_key: '****' }, admin: { token: '****' } });
  });

  it('says by what each agent is judged, and why nothing is', async () => {
    const on = await print(['--config', EXAMPLE], { OPENAI_API_KEY: 'k' });
    expect(on.stdout).toContain('# travel-concierge is judged by agent_goal_accuracy, topic_adherence.');
    expect(on.stdout).toContain('# harbour-desk is judged by agent_goal_accuracy.');
    const off = await print(['--config', EXAMPLE]);
    expect(off.stdout).toContain('# Nothing is judged');
  });

  it('ends with 2 and tells every problem on standard error when the configuration is not valid', async () => {
    const { status, stdout, stderr } = await print([], { PORT: 'x', LOG_LEVEL: 'y' });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^The configuration has 3 problems:\n {2}PORT: .*\n {2}LOG_LEVEL: .*\n {2}agents: .*\n$/);
  });
});

describe('config schema', () => {
  it('prints a JSON Schema', async () => {
    const { status, stdout } = await runCommand(config, ['schema']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      properties: { listen: { properties: { port: { default: 8080 } } } },
    });
  });
});

describe('config docs', () => {
  it('prints the table of settings', async () => {
    const { stdout } = await runCommand(config, ['docs']);
    expect(stdout).toContain('| `sampling.rate` | `SAMPLE_RATE` | `0.1` |');
  });
});

it.each([[[]], [['prnt']], [['print', '--nope']], [['schema', '--config', 'x']]])(
  'config %j is bad usage',
  async (args) => {
    await expect(runCommand(config, args)).rejects.toBeInstanceOf(UsageError);
  },
);
