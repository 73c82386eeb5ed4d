import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { AgentSocket } from './agent-socket.ts';
import { ChunkScanner } from './chunk-scanner.ts';
import { UpstreamInvalid } from './errors.ts';
import { giveBack, isLargeRead } from './read-blocks.ts';

/** Where the chunks of a body go that pass around Node's parser. */
interface BypassEvents {
  /**
   * A read, or the part of one that belongs to plain chunks: size lines, data and all. `written`, where there is one, is to
   * be called in a later tick, once the bytes have left or will never leave: they may be overwritten then.
   */
  readonly chunks: (bytes: Buffer, written?: (error?: Error | null) => void) => void;
  /**
   * The data of those chunks, after they were given to `chunks`: the first `found` entries of `ranges` are start and end of each
   * piece of `bytes` in turn. Lent for the time of the call.
   */
  readonly data: (bytes: Buffer, ranges: readonly number[], found: number) => void;
  /** What is left of the body, from the beginning of a chunk on, comes through the parser. */
  readonly handedBack: () => void;
}

/** A way around Node's parser for the plain chunks of one response. */
export interface Bypass {
  /**
   * To be called in the 'response' event of a chunked response. False: nothing passes around, all of the body comes through
   * the parser.
   */
  readonly take: (events: BypassEvents) => boolean;
  /** Stops reading from the agent while the bypass is taken. */
  readonly pause: () => void;
  readonly resume: () => void;
}

type Parse = (bytes: Buffer) => void;

const HEAD_END = Buffer.from('\r\n\r\n');

/** The one spelling that every parser takes for chunks. */
const PLAINLY_CHUNKED = /\r\ntransfer-encoding: *chunked *\r\n/i;

/**
 * Stands in front of the parser that Node has put on an agent's connection. Heads, trailers, the end of a body and whatever
 * is unusual go through that parser, so it is Node that says what they mean; the data chunks in between can go around it,
 * as they are on the wire. That saves taking each one apart and framing it again.
 *
 * Node's client reads its socket by one listener to 'data', whose place this takes. Where that is not so, nothing is done
 * and the parser reads everything.
 *
 * @param client where the chunks go in the end.
 * @param onDefect told when this, or whoever is given the chunks, threw. The agent's connection is destroyed then.
 */
export function openBypass(
  request: ClientRequest,
  socket: Socket,
  client: Socket,
  onDefect: (defect: unknown) => void,
): Bypass {
  const readers = readersOf(socket);
  const [parse] = readers;
  if (!parse || readers.length > 1) return NO_BYPASS;
  const scanner = new ChunkScanner();
  let events: BypassEvents | undefined;
  let mayTake = false;
  /** The beginning of a line that goes on in the next read. */
  let begun: Buffer | undefined;

  function stepIn(): void {
    socket.on('data', onBytes);
    socket.off('data', parse!);
    if (events && socket instanceof AgentSocket) socket.takeRead = onBytes;
  }

  function stepAside(): void {
    socket.on('data', parse!);
    socket.off('data', onBytes);
    if (socket instanceof AgentSocket) socket.takeRead = undefined;
  }

  /** Thrown on into the socket, a defect of one stream would end the process and all the others with it. */
  function onBytes(bytes: Buffer): void {
    try {
      read(bytes);
    } catch (defect) {
      onDefect(defect);
      socket.destroy();
    }
  }

  function read(bytes: Buffer): void {
    // One head after the other, for an agent may send any number of interim ones at once.
    for (let rest: Buffer | undefined = bytes; rest;) {
      if (events) return pass(begun ? Buffer.concat([begun, rest]) : rest, events);
      rest = readHead(rest);
    }
  }

  /**
   * Lets the parser read one head, interim or final. One that does not end in the read it began in leaves no choice. Returns
   * what came behind it, unless that is not for here.
   */
  function readHead(bytes: Buffer): Buffer | undefined {
    const endAt = bytes.indexOf(HEAD_END);
    const bodyAt = endAt === -1 ? bytes.length : endAt + HEAD_END.length;
    let isFinal = endAt === -1;
    const onResponse = () => {
      isFinal = true;
    };
    stepAside();
    mayTake = !isFinal && PLAINLY_CHUNKED.test(bytes.toString('latin1', 0, bodyAt));
    request.prependOnceListener('response', onResponse);
    parse!.call(socket, bytes.subarray(0, bodyAt));
    request.off('response', onResponse);
    mayTake = false;
    if (socket.destroyed) return undefined;
    const rest = bodyAt < bytes.length ? bytes.subarray(bodyAt) : undefined;
    if (events || !isFinal) {
      stepIn();
      return rest;
    }
    if (rest) parseOn(rest);
    return undefined;
  }

  /** Gives the parser what came behind a head in one read. */
  function parseOn(bytes: Buffer): void {
    if (readersOf(socket).includes(parse!)) parse!.call(socket, bytes);
    // The parser is done with a response that has no body: these bytes belong to nothing, and nothing may follow them.
    else socket.destroy();
  }

  function pass(bytes: Buffer, { chunks, data, handedBack }: BypassEvents): void {
    begun = undefined;
    const { end, passed, ranges, found } = scanner.scan(bytes);
    if (end === 'other') corkThroughTurn(client);
    if (passed === bytes.length) chunks(bytes, isLargeRead(bytes) ? writtenOf(bytes) : undefined);
    else if (passed > 0) chunks(bytes.subarray(0, passed));
    if (found > 0) data(bytes, ranges, found);
    if (end === 'incomplete') begun = Buffer.from(bytes.subarray(passed));
    if (end === 'broken') socket.destroy(new UpstreamInvalid('a chunk goes on behind its end'));
    if (end !== 'other') return;
    stepAside();
    handedBack();
    // From here on the parser holds the socket back by itself.
    socket.resume();
    parse!.call(socket, bytes.subarray(passed));
  }

  stepIn();
  return {
    take(given) {
      if (!mayTake) return false;
      events = given;
      return true;
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  };
}

function readersOf(socket: Socket): Parse[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what listens to 'data' of a socket takes its bytes
  return socket.listeners('data') as Parse[];
}

/** What failed to be written may still be held by whoever was to write it. */
const writtenOf =
  (bytes: Buffer) =>
  (error?: Error | null): void => {
    if (!error) giveBack(bytes);
  };

/** Lets the last chunks and the end of the body, which Node announces in a tick of its own, leave in one write. */
function corkThroughTurn(socket: Socket): void {
  socket.cork();
  // Microtasks run when no tick is left.
  queueMicrotask(() => socket.uncork());
}

const NO_BYPASS: Bypass = { take: () => false, pause: () => {}, resume: () => {} };
