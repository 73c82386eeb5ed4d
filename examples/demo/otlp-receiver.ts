import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { listen, type RunningServer } from '../lib/listen.ts';

/** A span as it arrived, with attribute values in plain JavaScript. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[];
}

export interface OtlpReceiver extends RunningServer {
  /** The latest spans, oldest first; at most {@link MAX_SPANS}. */
  spans(): readonly ReceivedSpan[];
}

const MAX_SPANS = 20_000;

const keyValue = z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) });
const attributes = z.array(keyValue).default([]).transform(toRecord);
const exportRequest = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              name: z.string(),
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().default(''),
              attributes,
              events: z.array(z.object({ name: z.string(), attributes })).default([]),
            }),
          ),
        }),
      ),
    }),
  ),
});

/** The receiving end of OTLP/HTTP in its JSON form: takes `POST /v1/traces` and keeps the spans to be looked at. */
export async function startOtlpReceiver({ port }: { port: number }): Promise<OtlpReceiver> {
  let kept: readonly ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    receive(request, response, (spans) => {
      kept = [...kept, ...spans].slice(-MAX_SPANS);
    }).catch((error: unknown) => {
      console.error('OTLP receiver:', error);
      response.destroy();
    });
  });
  return { ...(await listen(server, port)), spans: () => kept };
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  keep: (spans: readonly ReceivedSpan[]) => void,
): Promise<void> {
  const answer = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  if (request.method !== 'POST' || request.url !== '/v1/traces') return answer(404, { message: 'POST /v1/traces' });
  if (!request.headers['content-type']?.startsWith('application/json')) {
    return answer(415, { message: 'only the JSON form of OTLP is read here' });
  }
  const body = await buffer(request);
  const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString();
  const parsed = exportRequest.safeParse(parseJson(text));
  if (!parsed.success) return answer(400, { message: z.prettifyError(parsed.error) });
  keep(parsed.data.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
  answer(200, {});
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toRecord(pairs: readonly z.output<typeof keyValue>[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, plain(value)]));
}

/** OTLP names the type of a value beside it, and writes 64-bit integers as text. Lists are left as they come. */
function plain(value: Readonly<Record<string, unknown>>): unknown {
  const [type, content] = Object.entries(value)[0] ?? [];
  return type === 'intValue' ? Number(content) : content;
}
