import { writeFileSync } from 'node:fs';
import type { Dashboard } from './model.ts';
import { qualityDashboard } from './quality.ts';

/** Every dashboard of the project. Its file is `dashboards/<uid>.json`. */
export const DASHBOARDS: readonly Dashboard[] = [qualityDashboard];

export const fileOf = ({ uid }: Dashboard): URL => new URL(`../${uid}.json`, import.meta.url);

export const toFileText = (dashboard: Dashboard): string => `${JSON.stringify(dashboard, null, 2)}\n`;

// node dashboards/src/generate.ts        writes the files anew
if (import.meta.main) {
  for (const dashboard of DASHBOARDS) writeFileSync(fileOf(dashboard), toFileText(dashboard));
}
