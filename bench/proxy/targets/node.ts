import { startModule, stop } from '../processes.ts';
import type { TargetKind } from './target.ts';

/** A proxy that is a module of the bench. */
export function nodeTarget(name: string, module: URL): TargetKind {
  return {
    name,
    async start({ agentPort, cores }) {
      const { child, announcement } = await startModule<{ port: number }>(module, [agentPort], cores.targets);
      return { name, port: announcement.port, pid: child.pid ?? 0, stop: () => stop(child) };
    },
  };
}
