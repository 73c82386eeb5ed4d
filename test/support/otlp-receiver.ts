import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';

/** `hang` takes requests and says nothing, `unavailable` answers 503, which senders retry, `reject` 400, which they do not. */
type ReceiverMood = 'accept' | 'hang' | 'unavailable' | 'reject';

type AttributeRecord = Readonly<Record<string, unknown>>;

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'other';
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly traceState: string;
  /** Epoch milliseconds, as are all times here. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: AttributeRecord;
  readonly events: readonly { readonly name: string; readonly at: number; readonly attributes: AttributeRecord }[];
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes: AttributeRecord;
  }[];
  readonly status: { readonly code: 'unset' | 'ok' | 'error'; readonly message: string };
  readonly scope: string;
  readonly resource: AttributeRecord;
}

export interface OtlpReceiver extends AsyncDisposable {
  /** What OTEL_EXPORTER_OTLP_ENDPOINT is set to. */
  readonly url: string;
  /** All spans received so far, in order of arrival. */
  readonly spans: readonly ReceivedSpan[];
  /** Export requests that came in, answered or not. */
  requestCount(): number;
  /** How requests are answered from now on, those that hang included. */
  behave(mood: ReceiverMood): void;
  /** Resolves as soon as `condition` holds; it is asked after every request. */
  until(condition: () => boolean): Promise<void>;
  /** Closes the port: from then on connections are refused. */
  stop(): Promise<void>;
}

/** A small OTLP/HTTP receiver on a free port, which reads the JSON form of traces. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  let mood: ReceiverMood = 'accept';
  let requests = 0;
  let watchers: { condition: () => boolean; resolve: () => void }[] = [];
  let hanging: (() => void)[] = [];

  function answer(request: IncomingMessage, response: ServerResponse, raw: Buffer): void {
    if (mood === 'hang') hanging.push(() => answer(request, response, raw));
    else if (mood === 'unavailable') response.writeHead(503).end();
    else if (mood === 'reject') response.writeHead(400).end();
    else if (request.url !== '/v1/traces') response.writeHead(404).end();
    else {
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
      spans.push(...readSpans(JSON.parse(body.toString('utf8'))));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests += 1;
      answer(request, response, Buffer.concat(chunks));
      for (const { condition, resolve } of watchers) if (condition()) resolve();
      watchers = watchers.filter(({ condition }) => !condition());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a port');

  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${address.port}`,
    spans,
    requestCount: () => requests,
    behave: (next) => {
      mood = next;
      const waiting = hanging;
      hanging = [];
      for (const answerNow of waiting) answerNow();
    },
    until: (condition) =>
      new Promise((resolve) => {
        if (condition()) resolve();
        else watchers.push({ condition, resolve });
      }),
    async stop() {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
    [Symbol.asyncDispose]: () => receiver.stop(),
  };
  return receiver;
}

const anyValue: z.ZodType = z.lazy(() =>
  z
    .object({
      stringValue: z.string(),
      boolValue: z.boolean(),
      intValue: z.coerce.number(),
      doubleValue: z.number(),
      arrayValue: z.object({ values: z.array(anyValue) }).transform(({ values }) => values),
    })
    .partial()
    .transform((value) => Object.values(value)[0]),
);
const attributes = z
  .array(z.object({ key: z.string(), value: anyValue }))
  .default([])
  .transform((pairs): AttributeRecord => Object.fromEntries(pairs.map(({ key, value }) => [key, value])));
const time = z.coerce.bigint().transform((nanoseconds) => Number(nanoseconds / 1000n) / 1000);
const exportRequest = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scopeSpans: z.array(
        z.object({
          scope: z.object({ name: z.string() }),
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().default(''),
              traceState: z.string().default(''),
              name: z.string(),
              kind: z.number(),
              startTimeUnixNano: time,
              endTimeUnixNano: time,
              attributes,
              events: z.array(z.object({ name: z.string(), timeUnixNano: time, attributes })).default([]),
              links: z.array(z.object({ traceId: z.string(), spanId: z.string(), attributes })).default([]),
              status: z.object({ code: z.number().default(0), message: z.string().default('') }),
            }),
          ),
        }),
      ),
    }),
  ),
});

const KINDS = ['other', 'internal', 'server', 'client'] as const;
const STATUSES = ['unset', 'ok', 'error'] as const;

function readSpans(body: unknown): ReceivedSpan[] {
  return exportRequest.parse(body).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) =>
      spans.map(({ startTimeUnixNano, endTimeUnixNano, kind, status, events, ...span }) => ({
        ...span,
        kind: KINDS[kind] ?? 'other',
        startedAt: startTimeUnixNano,
        endedAt: endTimeUnixNano,
        events: events.map(({ timeUnixNano, ...event }) => ({ ...event, at: timeUnixNano })),
        status: { code: STATUSES[status.code] ?? 'unset', message: status.message },
        scope: scope.name,
        resource: resource.attributes,
      })),
    ),
  );
}
