import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/lib/json.ts';

/** A chat-completions request as it reached the server. */
interface JudgeServerRequest {
  /** The schema asked for, in whichever format. */
  readonly schemaName: string | undefined;
  readonly format: 'json_schema' | 'tool' | 'json' | 'none';
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly body: JsonObject;
  readonly headers: IncomingHttpHeaders;
  /** Aborts when the client goes away before it was answered. */
  readonly gone: AbortSignal;
}

/** How the server answers one request. */
export type JudgeServerReply =
  /** A completion that carries `value` in the format asked for. */
  | { readonly value: JsonValue }
  /** A completion with this text as the answer, fit or not. */
  | { readonly text: string; readonly finish?: string; readonly message?: JsonObject; readonly usage?: JsonObject }
  | { readonly refusal: string }
  /** Any status with a JSON body. */
  | { readonly status: number; readonly error?: JsonValue; readonly headers?: Readonly<Record<string, string>> }
  /** A body as it stands. */
  | { readonly raw: string; readonly contentType: string; readonly status?: number }
  /** No answer at all: until the client goes away, or (`after: 'head'`) after half a body. */
  | { readonly hang: true; readonly after?: 'head'; readonly status?: number }
  /** The connection is cut. */
  | { readonly reset: true };

/** The answers to one schema: a value for every request, one reply per request in order, or a function of the request. */
type JudgeScript =
  | JsonObject
  | readonly JudgeServerReply[]
  | ((request: JudgeServerRequest) => JudgeServerReply | Promise<JudgeServerReply>);

export interface JudgeServerOptions {
  /** By schema name; `*` stands for all that are not named. A schema without a script is answered with 500. */
  readonly scripts?: Readonly<Record<string, JudgeScript>>;
  /** Formats refused with status 400, in the words of servers that do not have them. */
  readonly refuses?: readonly ('json_schema' | 'tool' | 'json')[];
  /** When set, requests without this bearer token get 401. */
  readonly apiKey?: string;
}

export interface JudgeServer extends AsyncDisposable {
  /** Base URL for a client, ending in `/v1`. */
  readonly baseUrl: string;
  /** Every request so far, refused ones included. */
  readonly requests: readonly JudgeServerRequest[];
  /** Resolves once `count` requests have come in. */
  received(count: number): Promise<void>;
}

const REFUSALS = {
  json_schema: "This response_format type is unavailable: 'json_schema' is not supported",
  tool: 'this model does not support tools',
  json: "response_format.type 'json_object' is not supported",
} as const;

/** A scripted chat-completions endpoint on a free port of 127.0.0.1. */
export async function startJudgeServer(options: JudgeServerOptions = {}): Promise<JudgeServer> {
  const requests: JudgeServerRequest[] = [];
  const used = new Map<string, number>();
  const waiting = new Set<{ count: number; resolve: () => void }>();

  async function decide(request: JudgeServerRequest): Promise<JudgeServerReply> {
    if (options.apiKey !== undefined && request.headers.authorization !== `Bearer ${options.apiKey}`) {
      return {
        status: 401,
        error: { message: `Incorrect API key: ${request.headers.authorization}`, code: 'invalid_api_key' },
      };
    }
    if (request.format !== 'none' && options.refuses?.includes(request.format) === true) {
      return { status: 400, error: { message: REFUSALS[request.format], type: 'invalid_request_error' } };
    }
    const name = request.schemaName ?? '';
    const script = options.scripts?.[name] ?? options.scripts?.['*'];
    if (script === undefined) return { status: 500, error: { message: `no script for ${name}` } };
    if (typeof script === 'function') return script(request);
    if (!isReplyList(script)) return { value: script };
    const position = used.get(name) ?? 0;
    used.set(name, position + 1);
    return script[position] ?? { status: 500, error: { message: `the script for ${name} has ended` } };
  }

  const server = createServer((incoming, response) => {
    void (async () => {
      const request = await readRequest(incoming, response);
      requests.push(request);
      for (const waiter of waiting) {
        if (requests.length >= waiter.count) waiter.resolve();
      }
      send(await decide(request), request, response, requests.length);
    })().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server has no port');

  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    requests,
    received(count) {
      if (requests.length >= count) return Promise.resolve();
      return new Promise((resolve) => {
        const waiter = { count, resolve: () => (waiting.delete(waiter), resolve()) };
        waiting.add(waiter);
      });
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

function isReplyList(script: JsonObject | readonly JudgeServerReply[]): script is readonly JudgeServerReply[] {
  return Array.isArray(script);
}

async function readRequest(incoming: IncomingMessage, response: ServerResponse): Promise<JudgeServerRequest> {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  const body: JsonValue = JSON.parse(await text(incoming));
  if (!isJsonObject(body)) throw new TypeError('a request body that is no object');
  const messages = (Array.isArray(body['messages']) ? body['messages'] : []) as JudgeServerRequest['messages'];
  return { ...formatOf(body, messages), messages, body, headers: incoming.headers, gone: gone.signal };
}

function formatOf(
  body: JsonObject,
  messages: JudgeServerRequest['messages'],
): Pick<JudgeServerRequest, 'format' | 'schemaName'> {
  const wanted = at(body, 'response_format');
  if (at(wanted, 'type') === 'json_schema') {
    return { format: 'json_schema', schemaName: asText(at(at(wanted, 'json_schema'), 'name')) };
  }
  if (Array.isArray(body['tools'])) {
    return { format: 'tool', schemaName: asText(at(at(body['tools'][0], 'function'), 'name')) };
  }
  const named = /^Schema: (\S+)$/m.exec(messages.map(({ content }) => content).join('\n'))?.[1];
  return { format: at(wanted, 'type') === 'json_object' ? 'json' : 'none', schemaName: named };
}

function at(value: JsonValue | undefined, key: string): JsonValue | undefined {
  return value !== undefined && isJsonObject(value) ? value[key] : undefined;
}

function asText(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function send(reply: JudgeServerReply, request: JudgeServerRequest, response: ServerResponse, serial: number): void {
  const json = (status: number, body: JsonValue, headers: Readonly<Record<string, string>> = {}): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
  const complete = (
    message: JsonObject,
    finish: string,
    usage: JsonObject = { prompt_tokens: 120, completion_tokens: 9 },
  ) =>
    json(200, {
      id: `chatcmpl-${serial}`,
      object: 'chat.completion',
      created: 0,
      model: 'scripted-judge-1',
      choices: [{ index: 0, finish_reason: finish, message: { role: 'assistant', ...message } }],
      usage,
    });
  const answer = (content: string): JsonObject =>
    request.format === 'tool'
      ? {
          content: null,
          tool_calls: [
            {
              id: `call-${serial}`,
              type: 'function',
              function: { name: request.schemaName ?? '', arguments: content },
            },
          ],
        }
      : { content };

  if ('value' in reply)
    complete(answer(JSON.stringify(reply.value)), request.format === 'tool' ? 'tool_calls' : 'stop');
  else if ('text' in reply) complete({ ...answer(reply.text), ...reply.message }, reply.finish ?? 'stop', reply.usage);
  else if ('refusal' in reply) complete({ content: null, refusal: reply.refusal }, 'stop');
  else if ('raw' in reply)
    response.writeHead(reply.status ?? 200, { 'content-type': reply.contentType }).end(reply.raw);
  else if ('reset' in reply) response.destroy();
  else if ('hang' in reply) {
    if (reply.after === 'head')
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json' }).write('{');
  } else {
    json(reply.status, reply.error === undefined ? {} : { error: reply.error }, reply.headers);
  }
}
