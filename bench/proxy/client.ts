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
  Outcomes,
  SilenceDelays,
  SilencePlan,
} from './plan.ts';

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
  /** What came of it since the last slice. Throws when a run has failed. */
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
    send: async (load) => (await ask(child, { kind: 'load', load: plain(load) }, 'outcomes')).outcomes,
    begin: async (load) => {
      await ask(child, { kind: 'begin', load: plain(load) }, 'done');
    },
    slice: async () => (await ask(child, { kind: 'slice' }, 'outcomes')).outcomes,
    finish: async () => {
      await ask(child, { kind: 'finish' }, 'done');
    },
    open: async (targets, streams, everyMs) => {
      await ask(child, { kind: 'open', targets: targets.map(endpoint), streams, everyMs }, 'done');
    },
    leave: async () => {
      await ask(child, { kind: 'leave' }, 'done');
    },
    leaveSilence: async (target, plan, leave) =>
      (await ask(child, { kind: 'silence', target: endpoint(target), plan, leave }, 'silence')).delays,
    stop: () => stop(child),
  };
}

/** A target is more than what can be sent to another process. */
const endpoint = ({ name, port }: Endpoint): Endpoint => ({ name, port });

const plain = <Sent extends Load>(load: Sent): Sent => ({ ...load, targets: load.targets.map(endpoint) });

type Answer<Kind extends ClientReply['kind']> = Extract<ClientReply, { readonly kind: Kind }>;

/** @throws when the load client fails, or answers with something else than `kind`. */
async function ask<Kind extends ClientReply['kind']>(
  client: ChildProcess,
  request: ClientRequest,
  kind: Kind,
): Promise<Answer<Kind>> {
  const reply = once(client, 'message');
  client.send(request);
  const [answer] = (await reply) as [ClientReply];
  if (answer.kind === 'failed') throw new Error(answer.message);
  if (!isOf(kind, answer)) throw new Error(`The load client answered "${answer.kind}", not "${kind}".`);
  return answer;
}

const isOf = <Kind extends ClientReply['kind']>(kind: Kind, answer: ClientReply): answer is Answer<Kind> =>
  answer.kind === kind;
