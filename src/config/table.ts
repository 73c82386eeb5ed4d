import { AGENT_SETTINGS, LIST_SETTINGS, SETTINGS } from './schema.ts';
import type { Setting } from './schema.ts';

interface Row {
  readonly key: string;
  readonly env: string;
  readonly fallback: string;
  readonly help: string;
}

/** The table of all settings in docs/configuration.md, as Markdown. */
export function settingsTable(): string {
  const { agents, metrics, 'agents[].reference_topics': topics, 'agents[].tools': tools } = LIST_SETTINGS;
  const rows: Row[] = [
    listRow('agents', agents),
    ...Object.entries<Setting>(AGENT_SETTINGS).map(([key, setting]) => settingRow(`agents[].${key}`, setting)),
    listRow('agents[].reference_topics', topics),
    listRow('agents[].tools', tools),
    ...Object.entries<Setting>(SETTINGS).map(([key, setting]) => settingRow(key, setting)),
    listRow('metrics', metrics),
  ];
  const lines = rows.map(({ key, env, fallback, help }) => `| \`${key}\` | \`${env}\` | ${fallback} | ${help} |`);
  return ['| Setting | Environment | Default | Meaning |', '|---|---|---|---|', ...lines].join('\n');
}

function settingRow(key: string, setting: Setting): Row {
  const { env, help, unset = 'none' } = setting;
  return { key, env, help, fallback: setting.default === undefined ? unset : `\`${setting.default}\`` };
}

function listRow(key: string, { env, unset, help }: (typeof LIST_SETTINGS)[keyof typeof LIST_SETTINGS]): Row {
  return { key, env, help, fallback: unset };
}
