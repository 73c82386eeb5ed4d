import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { endLingering } from './linger.ts';
import { headText, responseHeaders, upgradeHeaders } from './headers.ts';

/** A client that asked to leave HTTP on its connection. */
export interface ClientUpgrade {
  readonly request: IncomingMessage;
  /** What the client named in `Upgrade`. */
  readonly protocol: string;
  readonly socket: Duplex;
  /** What the client sent behind its head. */
  readonly firstBytes: Buffer;
}

/** A client waits for its answer before it sends (RFC 6455 §4.1); one that sends more than this is cut. */
const MAX_EARLY_BYTES = 64 * 1024;

/**
 * Reads a client that waits for the agent to switch: only so is it noticed when it leaves. Returns what it sent in that time,
 * and reads no more.
 */
export function readWhileWaiting({ socket, firstBytes }: ClientUpgrade): () => Buffer {
  const early = [firstBytes];
  let bytesEarly = firstBytes.length;
  const onData = (bytes: Buffer) => {
    early.push(bytes);
    bytesEarly += bytes.length;
    if (bytesEarly >= MAX_EARLY_BYTES) socket.destroy();
  };
  const onEnd = () => socket.destroy();
  socket.on('data', onData);
  socket.on('end', onEnd);
  return () => {
    socket.off('data', onData);
    socket.off('end', onEnd);
    return Buffer.concat(early);
  };
}

export interface AgentUpgrade {
  readonly head: IncomingMessage;
  readonly socket: Socket;
  readonly firstBytes: Buffer;
}

/**
 * Only WebSocket is taken, which opens with a GET (RFC 6455 §4.1); `Upgrade: h2c` on a POST is no reason to treat it as
 * anything but a POST.
 */
export function isUpgrade({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.trim().toLowerCase() === 'websocket';
}

/**
 * Gives a connection that Node has taken off HTTP back to its server, to be read again from the head of `request` on and
 * without the field that was the reason. For Node before 22.21, which asks nobody whether a request is an upgrade.
 */
export function readAsOrdinary(server: Server, { request, socket, firstBytes }: ClientUpgrade): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const fields = rawHeaders.filter((_, index) => rawHeaders[index - (index % 2)]?.toLowerCase() !== 'upgrade');
  const head = headText(`${method} ${url} HTTP/${httpVersion}`, fields);
  socket.unshift(Buffer.concat([Buffer.from(head, 'latin1'), firstBytes]));
  server.emit('connection', socket);
}

/**
 * The agent switched: passes its head on and then bytes both ways, until either side is gone. `earlyBytes`: what the client
 * sent behind its request.
 */
export function joinUpgraded(client: ClientUpgrade, earlyBytes: Buffer, agent: AgentUpgrade): void {
  const { head } = agent;
  const fields = upgradeHeaders(responseHeaders(head, client.request), head.headers.upgrade ?? client.protocol);
  client.socket.write(headText(`HTTP/1.1 101 ${head.statusMessage ?? ''}`, fields), 'latin1');
  client.socket.write(agent.firstBytes);
  agent.socket.write(earlyBytes);
  pump(client.socket, agent.socket);
  pump(agent.socket, client.socket);
  // It has left, or is about to; an agent that does not care is not waited for.
  client.socket.once('end', () => endLingering(agent.socket));
}

function pump(from: Duplex, to: Duplex): void {
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
  from.pipe(to);
}
