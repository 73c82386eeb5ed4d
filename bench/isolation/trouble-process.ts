import { once } from 'node:events';
import { startModule, stop } from '../proxy/processes.ts';
import type { Disturbance, TroubleReply, TroubleRequest, TroubleServers } from './plan.ts';

/** The process that makes trouble, as the runner sees it. Each method throws when a body is not what was sent. */
export interface Trouble {
  readonly servers: TroubleServers;
  /** Sends so many conversations through the proxy on this port. */
  readonly fill: (port: number, count: number) => Promise<void>;
  readonly begin: (disturbance: Disturbance, port: number) => Promise<void>;
  /** @returns how many bytes of answers went through since `begin`. */
  readonly end: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

export async function startTrouble(cores: string | undefined): Promise<Trouble> {
  const module = new URL('trouble.ts', import.meta.url);
  const { child, announcement: servers } = await startModule<TroubleServers>(module, [], cores);

  async function ask(request: TroubleRequest): Promise<number> {
    const reply = once(child, 'message');
    child.send(request);
    const [answer] = (await reply) as [TroubleReply];
    if (answer.kind === 'failed') throw new Error(answer.message);
    return answer.bytes;
  }
  return {
    servers,
    fill: async (port, count) => void (await ask({ kind: 'fill', port, count })),
    begin: async (disturbance, port) => void (await ask({ kind: 'begin', disturbance, port })),
    end: () => ask({ kind: 'end' }),
    stop: () => stop(child),
  };
}
