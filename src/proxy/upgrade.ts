import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { responseHeaders, upgradeHeaders } from './headers.ts';

/** A client that asked to leave HTTP on its connection. */
export interface ClientUpgrade {
  readonly request: IncomingMessage;
  /** What the client named in `Upgrade`. */
  readonly protocol: string;
  readonly socket: Duplex;
  /** What the client sent behind its head. */
  readonly firstBytes: Buffer;
}

interface AgentUpgrade {
  readonly head: IncomingMessage;
  readonly socket: Socket;
  readonly firstBytes: Buffer;
}

/** Only WebSocket is taken; `Upgrade: h2c` on a POST is no reason to treat it as anything but a POST. */
export function isUpgrade(request: IncomingMessage): boolean {
  return request.headers.upgrade?.trim().toLowerCase() === 'websocket';
}

/** The agent switched: passes its head on and then bytes both ways, until either side is gone. */
export function joinUpgraded(client: ClientUpgrade, agent: AgentUpgrade): void {
  const { head } = agent;
  const fields = upgradeHeaders(responseHeaders(head, client.request), head.headers.upgrade ?? client.protocol);
  const lines = [`HTTP/1.1 101 ${head.statusMessage ?? ''}`];
  for (let index = 0; index + 1 < fields.length; index += 2) lines.push(`${fields[index]}: ${fields[index + 1]}`);
  client.socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  client.socket.write(agent.firstBytes);
  agent.socket.write(client.firstBytes);
  pump(client.socket, agent.socket);
  pump(agent.socket, client.socket);
}

function pump(from: Duplex, to: Duplex): void {
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
  from.pipe(to);
}
