import { Agent as HttpAgent, type ClientRequestArgs } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import { type OnReadOpts, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { isReset } from './errors.ts';
import { copyOfRead } from './read-blocks.ts';
import { BLOCK_BYTES } from './spare-blocks.ts';

/**
 * Reads into memory that all connections share, and keeps a copy of just what came; of a large read, in a block. On its own
 * Node takes 64 KiB for each read, however little comes, and gives most of it back: for events of some hundred bytes that is
 * much of the work of the garbage collector.
 */
const compactReads: OnReadOpts = {
  buffer: Buffer.allocUnsafeSlow(BLOCK_BYTES),
  callback(this: AgentSocket, length: number, buffer: Uint8Array): boolean {
    const bytes = copyOfRead(buffer.subarray(0, length));
    const { takeRead } = this;
    if (!takeRead || !this.readableFlowing) return this.push(bytes);
    takeRead(bytes);
    return true;
  },
};

/** After a minute without a byte the system asks whether the other side is still there. */
export const ASK_AFTER_SILENCE = { keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

/** A connection to an agent without TLS. */
export class AgentSocket extends Socket {
  /**
   * Takes each read while the stream flows, instead of 'data': a readable stream costs more than all that is done with a small
   * event, and a tick in which it looks for more. Pausing the socket stops these reads, too. What the stream still holds when it
   * begins to flow has left it by the next read.
   */
  takeRead: ((bytes: Buffer) => void) | undefined;

  constructor() {
    super({ onread: compactReads, noDelay: true, ...ASK_AFTER_SILENCE });
  }
}

type Written = (error?: Error | null) => void;

/* oxlint-disable no-underscore-dangle -- what a stream implements is called so by Node */

/**
 * Keeps a failed write from ending a connection before what came was read. An agent that refuses an upload and closes resets
 * whoever goes on sending; its refusal, sent before that, may still wait to be read.
 */
function readBeforeFailing<Connection extends Duplex>(socket: Connection): Connection {
  /** Holds a reset back until reading has come to its end, unless that ends in an error of its own. */
  const onceRead =
    (written: Written): Written =>
    (error) => {
      if (error && isReset(error) && !socket.readableEnded) socket.once('end', () => written(error));
      else written(error);
    };
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, written) => write(chunk, encoding, onceRead(written));
  if (writev) socket._writev = (chunks, written) => writev(chunks, onceRead(written));
  return socket;
}

/* oxlint-enable no-underscore-dangle */

/** A pool of connections to an agent: TCP, or the unix socket that a request names. */
export class AgentConnections extends HttpAgent {
  override createConnection({ socketPath, host, port }: ClientRequestArgs): Socket {
    const socket = readBeforeFailing(new AgentSocket());
    return socketPath ? socket.connect(socketPath) : socket.connect({ host: host ?? undefined, port: Number(port) });
  }
}

/** The same by TLS. */
export class SecureAgentConnections extends HttpsAgent {
  override createConnection(options: RequestOptions): Duplex | null | undefined {
    const socket = super.createConnection(options);
    return socket && readBeforeFailing(socket);
  }
}
