import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { startModule, stop } from './processes.ts';
import type {
  BoundedLoad,
  ClientReply,
  ClientRequest,
  Endpoint,
  Load,
  LeaveWhen,
  Outcome,
  SilenceDelays,
  SilencePlan,
} from './plan.ts';

/** By name of the target. */
type Outcomes = Readonly<Record<string, Outcome>>;

/** The load client, as the runner sees it. */
export interface Client {
  /**
   * Sends a load to all its targets at the same time.
   *
   * @throws when a body differs from what the agent sent.
   */
  readonly send: (load: BoundedLoad) => Promise<Outcomes>;
  /** Begins a load that goes on until `finish`, which throws as `send` does. */
  readonly begin: (load: Load) => Promise<void>;
  /** What came of it since the last slice. */
  readonly slice: () => Promise<Outcomes>;
  readonly finish: () => Promise<void>;
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
    send: async ({ targets, ...load }) =>
      outcomesOf(await ask(child, { kind: 'load', load: { ...load, targets: targets.map(endpoint) } })),
    begin: async ({ targets, ...load }) => {
      await ask(child, { kind: 'begin', load: { ...load, targets: targets.map(endpoint) } });
    },
    slice: async () => outcomesOf(await ask(child, { kind: 'slice' })),
    finish: async () => {
      await ask(child, { kind: 'finish' });
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

type Answer = Exclude<ClientReply, { readonly kind: 'failed' }>;

const outcomesOf = (answer: Answer): Outcomes => (answer.kind === 'done' ? answer.outcomes : {});

async function ask(client: ChildProcess, request: ClientRequest): Promise<Answer> {
  const reply = once(client, 'message');
  client.send(request);
  const [answer] = (await reply) as [ClientReply];
  if (answer.kind === 'failed') throw new Error(answer.message);
  return answer;
}
