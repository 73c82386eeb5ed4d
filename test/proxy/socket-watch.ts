import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { FakeAgent, TestProxy } from './support.ts';

export interface SidecarSockets {
  /** The sidecar's end of each connection that a client opened. */
  toClients(sidecar: TestProxy): Socket[];
  /** The sidecar's end of each connection to an agent. */
  toAgent(agent: Pick<FakeAgent, 'port'>): Socket[];
}

/**
 * Notes every socket of this process from now to the end of the test. Node reports them to whoever asks; what the sidecar
 * keeps to itself can so be looked at without an option for tests in it.
 */
export function watchSockets(): SidecarSockets {
  const accepted = new Set<Socket>();
  const opened = new Set<Socket>();
  watch('net.server.socket', (message) => accepted.add((message as { socket: Socket }).socket));
  watch('net.client.socket', (message) => opened.add((message as { socket: Socket }).socket));
  return {
    toClients: ({ port }) => [...accepted].filter((socket) => socket.localPort === port),
    toAgent: ({ port }) => [...opened].filter((socket) => socket.remotePort === port),
  };
}

/** The sidecar's HTTP server, once it has been asked for something. */
export function watchServer(sidecar: () => TestProxy): () => Server {
  const servers = new Set<Server>();
  watch('http.server.request.start', (message) => servers.add((message as { server: Server }).server));
  return () => {
    const { port } = sidecar();
    const found = [...servers].find((server) => (server.address() as { port: number }).port === port);
    if (!found) throw new Error('The sidecar was asked for nothing yet.');
    return found;
  };
}

function watch(channel: string, onMessage: (message: unknown) => void): void {
  subscribe(channel, onMessage);
  onTestFinished(() => {
    unsubscribe(channel, onMessage);
  });
}
