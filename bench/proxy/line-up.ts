import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from '../options.ts';
import type { Comparison } from './report.ts';
import { nginxTarget } from './targets/nginx.ts';
import { nodeTarget } from './targets/node.ts';
import { sidecarTarget } from './targets/sidecar.ts';
import type { TargetKind } from './targets/target.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const NGINX = 'nginx';
const PIPE = 'pipe';
const SHARES = ['0', '0.1', '1'] as const;
/** Named for its `tap.share`. */
const sidecar = (share: string): string => `share ${share}`;
const other = (share: string): string => `other share ${share}`;

interface LineUpOptions extends Pick<BenchOptions, 'other'> {
  /** Where nginx is, if it is. */
  readonly nginx: string | undefined;
  /** Most streams that a target will hold at once. */
  readonly streams: number;
}

/** Everything that is measured side by side. */
export function lineUp({ nginx, streams, other: second }: LineUpOptions): readonly TargetKind[] {
  const pipe = new URL('targets/pipe.ts', import.meta.url);
  return [
    ...(nginx === undefined ? [] : [nginxTarget(NGINX, nginx, streams)]),
    nodeTarget(PIPE, pipe),
    // How far two processes of the same code come out apart is what no other ratio can be finer than.
    nodeTarget('pipe again', pipe),
    nodeTarget('http-proxy-middleware', new URL('targets/middleware.ts', import.meta.url)),
    ...SHARES.map((share) => sidecarTarget(sidecar(share), ROOT, { TAP_SHARE: share })),
    ...(second ? ['0', '1'] : []).map((share) =>
      sidecarTarget(other(share), resolve(second?.checkout ?? ROOT), { ...second?.settings, TAP_SHARE: share }),
    ),
  ];
}

/** Every target by the pipe, the sidecar by nginx, and the tap by the same proxy without it. */
export function comparisonsOf(names: readonly string[]): readonly Comparison[] {
  const all: readonly Comparison[] = [
    ...names.filter((name) => name !== PIPE).map((name): Comparison => [name, PIPE]),
    ...SHARES.map((share): Comparison => [sidecar(share), NGINX]),
    [sidecar('0.1'), sidecar('0')],
    [sidecar('1'), sidecar('0')],
    [other('1'), other('0')],
    [sidecar('0'), other('0')],
    [sidecar('1'), other('1')],
  ];
  return all.filter(([one, base]) => names.includes(one) && names.includes(base));
}
