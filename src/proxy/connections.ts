import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The clients' connections, and how far each is with its requests. */
export interface Connections {
  /** Connections accepted since the start. */
  readonly accepted: () => number;
  /** Counts a connection; one that is known already is no second one. */
  add(socket: Socket): void;
  /**
   * A request is to be answered by `response`. Calls `answer` when its turn comes: at once, or when the one before it on its
   * connection is answered, so that no client has more than one request of a connection under way. Never, when an answer
   * before it has said that it is the last (RFC 9112 §9.6): the connection closes behind that one. Nor when more wait
   * than may: the connection is cut.
   */
  ask(request: IncomingMessage, response: ServerResponse, answer: () => void): void;
  /** To the last request that was read from a connection and is answered: answers go out in the order of the requests. */
  latestResponse(socket: Duplex): ServerResponse | undefined;
  /**
   * Closes the connections that are idle, and were so when this was called before: whatever was asked is answered to the
   * last byte, and nothing has come since. (The like of http.Server destroys an answer whose end still waits for its
   * client to read.)
   */
  closeIdle(): void;
  /** Cuts all, and from now on each that is added. */
  cut(): void;
}

interface Connection {
  readonly socket: Socket;
  unanswered: number;
  latest: ServerResponse | undefined;
  /** Bytes that had come when nothing was left to answer: more of them are the beginning of a request. */
  bytesAtRest: number;
  wasIdle: boolean;
}

/** Requests of one connection that may wait for their turn: far more than a client that means to read the answers sends. */
const MAX_WAITING = 1000;

/** @param onOverrun told when a connection is cut because too many of its requests wait. */
export function createConnections(onOverrun: () => void): Connections {
  const connections = new Map<Duplex, Connection>();
  let accepted = 0;
  let isCut = false;

  return {
    accepted: () => accepted,
    add(socket) {
      if (isCut) socket.destroy();
      if (connections.has(socket)) return;
      accepted += 1;
      connections.set(socket, { socket, unanswered: 0, latest: undefined, bytesAtRest: 0, wasIdle: false });
      socket.once('close', () => connections.delete(socket));
    },
    ask(request, response, answer) {
      const { socket } = request;
      const connection = connections.get(socket);
      if (!connection) return answer();
      const { latest: before } = connection;
      // What came in one read is parsed to its end, whatever became of the connection meanwhile.
      if (socket.destroyed || (before && isLast(before))) return void request.resume();
      if (connection.unanswered > MAX_WAITING) {
        onOverrun();
        return void socket.destroy();
      }
      connection.latest = response;
      connection.unanswered += 1;
      const rest = () => {
        connection.bytesAtRest = socket.bytesRead;
      };
      response.once('close', () => {
        connection.unanswered -= 1;
        rest();
        // Answered early, it still sends what nobody waits for.
        if (!request.complete) request.once('close', rest);
      });
      if (!before || connection.unanswered === 1) return answer();
      before.once('close', () => {
        if (socket.destroyed || isLast(before)) request.resume();
        else answer();
      });
    },
    latestResponse: (socket) => connections.get(socket)?.latest,
    closeIdle() {
      for (const connection of connections.values()) {
        const { socket } = connection;
        const isIdle = connection.unanswered === 0 && socket.bytesRead === connection.bytesAtRest;
        if (isIdle && connection.wasIdle) socket.destroy();
        connection.wasIdle = isIdle;
      }
    },
    cut() {
      isCut = true;
      for (const socket of connections.keys()) socket.destroy();
    },
  };
}

/** The answer has said that none follows it on its connection. */
const isLast = (response: ServerResponse): boolean => response.headersSent && !response.shouldKeepAlive;
