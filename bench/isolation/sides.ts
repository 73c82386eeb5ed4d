import { fileURLToPath } from 'node:url';
import { startModule, stop } from '../proxy/processes.ts';
import { sidecarTarget } from '../proxy/targets/sidecar.ts';
import type { Target, TargetPlace } from '../proxy/targets/target.ts';
import type { Side } from './comparisons.ts';
import type { TroubleServers } from './plan.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The process of a side, with the services that it is to have. */
export function startSide(name: string, side: Side, place: TargetPlace, servers: TroubleServers): Promise<Target> {
  return side.proxy === 'pipe' ? startPipe(name, place, servers) : startSidecar(name, side, place, servers);
}

async function startPipe(name: string, { agentPort, cores }: TargetPlace, servers: TroubleServers): Promise<Target> {
  const troublePort = Number(new URL(servers.agent).port);
  const module = new URL('pipe.ts', import.meta.url);
  const { child, announcement } = await startModule<{ port: number }>(module, [agentPort, troublePort], cores.targets);
  return { name, port: announcement.port, pid: child.pid ?? 0, stop: () => stop(child) };
}

function startSidecar(name: string, side: Side, place: TargetPlace, servers: TroubleServers): Promise<Target> {
  const agents = [
    { name: 'measured', url: `http://127.0.0.1:${place.agentPort}`, match: '/' },
    { name: 'trouble', url: servers.agent, match: '/trouble' },
  ];
  const settings = {
    AGENT_URL: '',
    AGENTS: JSON.stringify(agents),
    METRICS: 'agent_goal_accuracy',
    SAMPLE_RATE: '1',
    CLOSING_IDLE: '10ms',
    TAP_MAX_LOOP_DELAY: '20ms',
    OPENAI_BASE_URL: servers.judges[side.judge ?? 'well'],
    JUDGE_TIMEOUT: '1s',
    JUDGE_RETRIES: '0',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: servers.collectors[side.collector ?? 'well'],
    OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
    OTEL_BSP_SCHEDULE_DELAY: '500',
    ...(side.isTapBroken && { NODE_OPTIONS: `--import ${new URL('broken-tap.ts', import.meta.url).href}` }),
  };
  return sidecarTarget(name, ROOT, settings, side.logFile).start(place);
}
