import { Agent, type ClientRequestArgs } from 'node:http';
import { type OnReadOpts, Socket } from 'node:net';
import { isReset } from './errors.ts';

/** As much as Node reads at once. */
const READ_BYTES = 64 * 1024;

/**
 * Reads into memory that all connections share, and keeps a copy of just what came. On its own Node takes 64 KiB for each
 * read, however little comes, and gives most of it back: for events of some hundred bytes that is much of the work of the
 * garbage collector.
 */
const compactReads: OnReadOpts = {
  buffer: Buffer.allocUnsafeSlow(READ_BYTES),
  callback(this: Socket, length: number, buffer: Uint8Array): boolean {
    return this.push(Buffer.from(buffer.subarray(0, length)));
  },
};

/** After a minute without a byte the system asks whether the other side is still there. */
export const ASK_AFTER_SILENCE = { keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

type Written = (error?: Error | null) => void;

/**
 * A connection to an agent that a failed write does not end before what came was read. An agent that refuses an upload and
 * closes resets whoever goes on sending; its refusal, sent before that, may still wait to be read.
 */
class AgentSocket extends Socket {
  /* oxlint-disable no-underscore-dangle -- what a stream implements is called so by Node */
  override _write(chunk: unknown, encoding: BufferEncoding, written: Written): void {
    super._write(chunk, encoding, this.#onceRead(written));
  }

  override _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], written: Written): void {
    super._writev?.(chunks, this.#onceRead(written));
  }

  /* oxlint-enable no-underscore-dangle */

  /** Holds a reset back until reading has come to its end, unless that ends in an error of its own. */
  #onceRead(written: Written): Written {
    return (error) => {
      if (error && isReset(error) && !this.readableEnded) this.once('end', () => written(error));
      else written(error);
    };
  }
}

/** A pool of such connections: TCP, or the unix socket that a request names. */
export class AgentConnections extends Agent {
  override createConnection({ socketPath, host, port }: ClientRequestArgs): Socket {
    const socket = new AgentSocket({ onread: compactReads, noDelay: true, ...ASK_AFTER_SILENCE });
    return socketPath ? socket.connect(socketPath) : socket.connect({ host: host ?? undefined, port: Number(port) });
  }
}
