import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { startModule, stop } from './processes.ts';
import type {
  ClientReply,
  ClientRequest,
  Endpoint,
  Load,
  LeaveWhen,
  Outcome,
  SilenceDelays,
  SilencePlan,
} from './plan.ts';

/** The load client, as the runner sees it. */
export interface Client {
  /**
   * Sends a load to all its targets at the same time; the outcomes are by name of the target.
   *
   * @throws when a body differs from what the agent sent.
   */
  readonly send: (load: Load) => Promise<Readonly<Record<string, Outcome>>>;
  /** Opens so many streams with each target and holds them; `leave` ends them all. */
  readonly open: (targets: readonly Endpoint[], streams: number, everyMs: number) => Promise<void>;
  readonly leave: () => Promise<void>;
  /** Posts a run of silence and leaves it. */
  readonly leaveSilence: (target: Endpoint, plan: SilencePlan, leave: LeaveWhen) => Promise<SilenceDelays>;
  readonly stop: () => Promise<void>;
}

export async function startClient(
  agent: { readonly port: number; readonly acknowledgementPort: number },
  cores: string | undefined,
): Promise<Client> {
  const module = new URL('load-client.ts', import.meta.url);
  const { child } = await startModule(module, [agent.port, agent.acknowledgementPort], cores);
  return {
    send: async ({ targets, ...load }) => {
      const reply = await ask(child, { kind: 'load', load: { ...load, targets: targets.map(endpoint) } });
      return reply.kind === 'done' ? reply.outcomes : {};
    },
    open: async (targets, streams, everyMs) => {
      await ask(child, { kind: 'open', targets: targets.map(endpoint), streams, everyMs });
    },
    leave: async () => {
      await ask(child, { kind: 'leave' });
    },
    leaveSilence: async (target, plan, leave) => {
      const reply = await ask(child, { kind: 'silence', target: endpoint(target), plan, leave });
      return reply.kind === 'silence' ? reply.delays : { headUs: NaN, closeUs: NaN };
    },
    stop: () => stop(child),
  };
}

/** A target is more than what can be sent to another process. */
const endpoint = ({ name, port }: Endpoint): Endpoint => ({ name, port });

async function ask(
  client: ChildProcess,
  request: ClientRequest,
): Promise<Exclude<ClientReply, { readonly kind: 'failed' }>> {
  const reply = once(client, 'message');
  client.send(request);
  const [answer] = (await reply) as [ClientReply];
  if (answer.kind === 'failed') throw new Error(answer.message);
  return answer;
}
