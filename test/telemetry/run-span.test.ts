import { propagation, trace } from '@opentelemetry/api';
import { describe, expect, it, vi } from 'vitest';
import type { Exchange, ObservedToolCall } from '../../src/agui/exchange.ts';
import type { RequestEnd } from '../../src/proxy/observer.ts';
import { createRunSpans } from '../../src/telemetry/run-span.ts';
import { fromSpanLink } from '../../src/telemetry/span-context.ts';
import { NOW, sampleEnd, sampleExchange, sampleRequest } from './samples.ts';
import { spanNamed, startTraced } from './traced.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CLIENT_SPAN_ID = 'b7ad6b7169203331';

function withHeaders(headers: Record<string, string>) {
  return sampleRequest({ headers: { host: 'sidecar.example:8080', ...headers } });
}

async function spansOf(end: Partial<RequestEnd>, exchange?: Exchange) {
  await using traced = await startTraced();
  traced.runSpans().start(sampleRequest()).end(sampleEnd(end), exchange);
  const spans = await traced.exported();
  return { server: spanNamed(spans, 'POST'), agent: spanNamed(spans, 'invoke_agent'), spans };
}

describe('the spans of a run', () => {
  it('are a SERVER span by the HTTP conventions and below it a CLIENT span invoke_agent', async () => {
    const { server, agent, spans } = await spansOf({}, sampleExchange());
    expect(spans).toHaveLength(2);
    expect(server).toMatchObject({
      name: 'POST /harbour',
      kind: 'server',
      parentSpanId: '',
      status: { code: 'unset' },
    });
    expect(server.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/harbour',
      'http.response.status_code': 200,
      'url.path': '/harbour/run',
      'url.scheme': 'http',
      'server.address': 'sidecar.example',
      'server.port': 8080,
      'client.address': '192.0.2.7',
      'network.protocol.version': '1.1',
      'user_agent.original': 'test-client/1',
    });
    expect(agent).toMatchObject({
      name: 'invoke_agent harbour',
      kind: 'client',
      parentSpanId: server.spanId,
      traceId: server.traceId,
      status: { code: 'unset' },
    });
    expect(agent.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'ag-ui',
      'gen_ai.agent.name': 'harbour',
      'gen_ai.conversation.id': 'thread-1',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.time_to_first_chunk': 0.25,
      'http.response.status_code': 200,
      'session.id': 'thread-1',
      'server.address': 'agent.internal',
      'server.port': 8000,
      'ag_ui.run.id': 'run-1',
      'ag_ui.run.ending': 'success',
      'ag_ui.exchange.kind': 'run',
      'ag_ui.events.count': 7,
      'ag_ui.tool_calls.count': 0,
      'ag_ui.tool_calls.without_span': 0,
    });
  });

  it('begin when the request came and end when its last byte went, whenever that is recorded', async () => {
    const { server, agent } = await spansOf({ endedAt: NOW + 1234.5 }, sampleExchange());
    for (const span of [server, agent]) {
      expect({ startedAt: span.startedAt, endedAt: span.endedAt }).toEqual({ startedAt: NOW, endedAt: NOW + 1234.5 });
    }
  });

  it('end once, whatever is called', async () => {
    await using traced = await startTraced();
    const run = traced.runSpans().start(sampleRequest());
    run.end(sampleEnd());
    run.end(sampleEnd({ status: 502 }));
    const spans = await traced.exported();
    expect(spanNamed(spans, 'POST').attributes['http.response.status_code']).toBe(200);
  });

  it('carry usage only when the stream did', async () => {
    const usage = {
      inputTokens: 10,
      outputTokens: 0,
      cachedInputTokens: 3,
      cacheWriteInputTokens: 2,
      reasoningTokens: 1,
    };
    const { agent } = await spansOf({}, sampleExchange({ usage }));
    expect(agent.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 0,
      'gen_ai.usage.cache_read.input_tokens': 3,
      'gen_ai.usage.cache_write.input_tokens': 2,
      'gen_ai.usage.reasoning.output_tokens': 1,
    });
  });

  it('name the parent run and one finish reason for each run that ended', async () => {
    const run = { threadId: 'thread-1', usage: null };
    const runs: Exchange['runs'] = [
      { ...run, runId: 'run-1', ending: 'success', parentRunId: 'run-0' },
      { ...run, runId: 'run-2', ending: 'interrupt' },
      { ...run, runId: 'run-3', ending: 'truncated' },
    ];
    const { agent } = await spansOf({}, sampleExchange({ runs }));
    expect(agent.attributes).toMatchObject({
      'ag_ui.parent_run.id': 'run-0',
      'gen_ai.response.finish_reasons': ['stop', 'interrupt'],
    });
  });

  it('have no content of the conversation in them', async () => {
    const secret = 'the-secret-word';
    const { spans } = await spansOf(
      {},
      sampleExchange({
        messages: [{ id: 'm', role: 'user', text: secret }],
        input: [{ id: 'm', role: 'user', text: secret }],
        ending: 'run_error',
        runs: [{ threadId: 't', runId: 'r', ending: 'run_error', usage: null, error: { message: secret } }],
      }),
    );
    expect(JSON.stringify(spans)).not.toContain(secret);
  });

  it('have neither conversation nor run when a POST brought no run that could be read', async () => {
    const { agent } = await spansOf({ status: 200 });
    expect(Object.keys(agent.attributes).filter((name) => /conversation|ag_ui/.test(name))).toEqual([]);
  });

  it('are only the SERVER span for a request that is no POST, and its context goes to the agent', async () => {
    await using traced = await startTraced();
    const run = traced.runSpans().start(sampleRequest({ method: 'GET', path: '/harbour/info' }));
    run.end(sampleEnd());
    const spans = await traced.exported();
    expect(spans.map(({ name }) => name)).toEqual(['GET /harbour']);
    expect(run.trace).toEqual({ traceId: spans[0]?.traceId, spanId: spans[0]?.spanId, traceFlags: 1 });
    expect(run.traceHeaders?.['traceparent']).toBe(`00-${run.trace.traceId}-${run.trace.spanId}-01`);
  });

  it('keep a method of the client’s own making out of the name', async () => {
    await using traced = await startTraced();
    traced
      .runSpans()
      .start(sampleRequest({ method: 'BREW' }))
      .end(sampleEnd());
    const span = spanNamed(await traced.exported(), 'HTTP /harbour');
    expect(span.attributes).toMatchObject({
      'http.request.method': '_OTHER',
      'http.request.method_original': 'BREW',
    });
  });
});

describe('failures of a run', () => {
  const failed = (code?: string) =>
    sampleExchange({
      ending: 'run_error',
      runs: [
        { threadId: 't', runId: 'r', ending: 'run_error', usage: null, error: { message: 'm', ...(code && { code }) } },
      ],
    });

  it.each<[string, Partial<RequestEnd>, Exchange | undefined, string]>([
    ['the code of RUN_ERROR', {}, failed('QUOTA'), 'QUOTA'],
    ['a RUN_ERROR without code', {}, failed(), '_OTHER'],
    ['a RUN_ERROR whose code has no visible character', {}, failed('\n '), '_OTHER'],
    ['a code of several lines', {}, failed('QUOTA\nat line 1'), 'QUOTA at line 1'],
    ['a stream without terminal event', {}, sampleExchange({ ending: 'truncated', runs: [] }), 'stream_truncated'],
    ['an error status', { status: 429 }, sampleExchange({ ending: 'http_error', runs: [], status: 429 }), '429'],
    ['a timeout', { status: 504, errorCode: 'upstream_timeout' }, undefined, 'upstream_timeout'],
    ['an agent that is down', { status: 502, errorCode: 'upstream_unreachable' }, undefined, 'upstream_unreachable'],
    [
      'a broken stream',
      { transport: 'upstream_error' },
      sampleExchange({ ending: 'upstream_error' }),
      'upstream_reset',
    ],
  ])('%s is error.type of invoke_agent, with status ERROR', async (_what, end, exchange, type) => {
    const { agent } = await spansOf(end, exchange);
    expect(agent.attributes['error.type']).toBe(type);
    expect(agent.status.code).toBe('error');
    expect(agent.status.message).not.toBe('');
  });

  it('of the tap to read a stream to its end are none of the agent', async () => {
    const findings = [{ code: 'truncated_tap', at: 9, id: '' }] as const;
    const { agent } = await spansOf({}, sampleExchange({ ending: 'truncated', runs: [], findings }));
    expect(agent.attributes).not.toHaveProperty('error.type');
    expect(agent.status.code).toBe('unset');
  });

  it('of the client are none of the agent: error.type is set, the status is not', async () => {
    const exchange = sampleExchange({ ending: 'client_aborted' });
    const { agent, server } = await spansOf({ transport: 'client_aborted', status: 200 }, exchange);
    for (const span of [agent, server]) {
      expect(span.attributes['error.type']).toBe('client_disconnect');
      expect(span.status.code).toBe('unset');
    }
  });

  it('of the sidecar, when it stops, are none of the agent either', async () => {
    const { agent } = await spansOf({ transport: 'client_aborted', errorCode: 'shutting_down' });
    expect(agent.attributes['error.type']).toBe('shutting_down');
    expect(agent.status.code).toBe('unset');
  });

  it.each([
    [404, 'unset', undefined],
    [500, 'error', '500'],
  ])('a status of %i leaves the SERVER span %s', async (status, code, type) => {
    const { server } = await spansOf({ status });
    expect(server.status.code).toBe(code);
    expect(server.attributes['error.type']).toBe(type);
  });

  it.each(['interrupt', 'cancelled'] as const)('do not include %s', async (ending) => {
    const { agent } = await spansOf({}, sampleExchange({ ending }));
    expect(agent.status.code).toBe('unset');
    expect(agent.attributes).not.toHaveProperty('error.type');
  });
});

describe('observed tool calls', () => {
  const call = (changes: Partial<ObservedToolCall>): ObservedToolCall => ({
    id: 'call-1',
    name: 'tide_table',
    startedAt: NOW + 100,
    endedAt: NOW + 300,
    state: 'answered',
    ...changes,
  });

  it('are execute_tool spans from the start of the call to its result', async () => {
    const { agent, spans } = await spansOf({}, sampleExchange({ toolCalls: [call({})] }));
    expect(spanNamed(spans, 'execute_tool')).toMatchObject({
      name: 'execute_tool tide_table',
      kind: 'internal',
      parentSpanId: agent.spanId,
      startedAt: NOW + 100,
      endedAt: NOW + 300,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'tide_table',
        'gen_ai.tool.call.id': 'call-1',
        'gen_ai.tool.type': 'function',
        'ag_ui.observed': true,
        'ag_ui.tool_call.state': 'answered',
      },
    });
  });

  it('end with the run when they were left open', async () => {
    const open: ObservedToolCall = { id: 'call-1', name: 'tide_table', startedAt: NOW + 100, state: 'open' };
    const { spans } = await spansOf({}, sampleExchange({ toolCalls: [open] }));
    const span = spanNamed(spans, 'execute_tool');
    expect(span.endedAt).toBe(NOW + 2_000);
    expect(span.attributes['ag_ui.tool_call.state']).toBe('open');
  });

  it('are named on one line, however the stream named the tool', async () => {
    const name = ` tide\n\ttable\u0000\u2028\u202e${'x'.repeat(10_000)}`;
    const { spans } = await spansOf({}, sampleExchange({ toolCalls: [call({ name })] }));
    const span = spanNamed(spans, 'execute_tool');
    expect(span.name).toMatch(/^execute_tool tide table x{100,}…$/);
    expect(span.name.length).toBeLessThan(160);
    expect(`execute_tool ${String(span.attributes['gen_ai.tool.name'])}`).toBe(span.name);
  });

  it('have at most 64 spans a run, and the rest are counted', async () => {
    const toolCalls = Array.from({ length: 70 }, (_, index) => call({ id: `call-${index}` }));
    const { agent, spans } = await spansOf({}, sampleExchange({ toolCalls }));
    expect(spans.filter(({ name }) => name.startsWith('execute_tool'))).toHaveLength(64);
    expect(agent.attributes).toMatchObject({ 'ag_ui.tool_calls.count': 70, 'ag_ui.tool_calls.without_span': 6 });
  });

  it('have no spans when the agent emits its own, nor in a replay, whose usage is not repeated either', async () => {
    await using traced = await startTraced();
    const exchange = sampleExchange({ toolCalls: [call({})], usage: { inputTokens: 5 } });
    traced.runSpans({ toolSpans: false }).start(sampleRequest()).end(sampleEnd(), exchange);
    traced
      .runSpans()
      .start(sampleRequest({ agent: 'replayed' }))
      .end(sampleEnd(), { ...exchange, kind: 'replay' });
    const spans = await traced.exported();
    expect(spans.filter(({ name }) => name.startsWith('execute_tool'))).toEqual([]);
    expect(spanNamed(spans, 'invoke_agent replayed').attributes).not.toHaveProperty('gen_ai.usage.input_tokens');
  });
});

describe('trace context', () => {
  it('comes from the client and goes on to the agent under a new parent', async () => {
    await using traced = await startTraced();
    const run = traced.runSpans().start(
      withHeaders({
        traceparent: `00-${TRACE_ID}-${CLIENT_SPAN_ID}-01`,
        tracestate: 'vendor=value',
      }),
    );
    run.end(sampleEnd(), sampleExchange());
    const spans = await traced.exported();
    expect(spanNamed(spans, 'POST')).toMatchObject({ traceId: TRACE_ID, parentSpanId: CLIENT_SPAN_ID });
    const agent = spanNamed(spans, 'invoke_agent');
    expect(run.trace).toEqual({ traceId: TRACE_ID, spanId: agent.spanId, traceFlags: 1, traceState: 'vendor=value' });
    expect(run.traceHeaders).toEqual({
      traceparent: `00-${TRACE_ID}-${agent.spanId}-01`,
      tracestate: 'vendor=value',
    });
  });

  it('that says "not sampled" stays so: no spans, flag 00 on, and still a usable link', async () => {
    await using traced = await startTraced();
    const run = traced.runSpans().start(withHeaders({ traceparent: `00-${TRACE_ID}-${CLIENT_SPAN_ID}-00` }));
    run.end(sampleEnd(), sampleExchange({ toolCalls: [{ id: 'c', name: 't', startedAt: NOW, state: 'open' }] }));
    expect(await traced.exported()).toEqual([]);
    expect(run.trace).toMatchObject({ traceId: TRACE_ID, traceFlags: 0 });
    expect(run.traceHeaders?.['traceparent']).toBe(`00-${TRACE_ID}-${run.trace.spanId}-00`);
  });

  it.each([
    ['always_off', `00-${TRACE_ID}-${CLIENT_SPAN_ID}-01`],
    ['always_off', undefined],
    ['always_on', `00-${TRACE_ID}-${CLIENT_SPAN_ID}-00`],
    ['always_on', undefined],
  ])('keeps a usable link under sampler %s with traceparent %s', async (sampler, traceparent) => {
    await using traced = await startTraced({ OTEL_TRACES_SAMPLER: sampler });
    const run = traced.runSpans().start(withHeaders(traceparent === undefined ? {} : { traceparent }));
    expect(fromSpanLink(run.trace)).toBeDefined();
    expect(run.trace.traceFlags).toBe(sampler === 'always_on' ? 1 : 0);
    if (traceparent !== undefined) expect(run.trace.traceId).toBe(TRACE_ID);
    expect(run.traceHeaders?.['traceparent']).toContain(run.trace.spanId);
  });

  it('that is malformed starts a new trace, and the tracestate beside it is gone', async () => {
    await using traced = await startTraced();
    const run = traced
      .runSpans()
      .start(withHeaders({ traceparent: `00-${'0'.repeat(32)}-${CLIENT_SPAN_ID}-01`, tracestate: 'vendor=value' }));
    expect(run.trace.traceId).not.toBe('0'.repeat(32));
    expect(run.traceHeaders).toEqual({ traceparent: `00-${run.trace.traceId}-${run.trace.spanId}-01` });
  });

  it('from a client that is not trusted is linked to, not joined', async () => {
    await using traced = await startTraced();
    const run = traced
      .runSpans({ trustIncomingTrace: false })
      .start(withHeaders({ traceparent: `00-${TRACE_ID}-${CLIENT_SPAN_ID}-01` }));
    run.end(sampleEnd());
    const server = spanNamed(await traced.exported(), 'POST');
    expect(server.parentSpanId).toBe('');
    expect(server.traceId).not.toBe(TRACE_ID);
    expect(server.links).toMatchObject([{ traceId: TRACE_ID, spanId: CLIENT_SPAN_ID }]);
    expect(run.traceHeaders?.['traceparent']).not.toContain(TRACE_ID);
  });

  it('leaves baggage as the client wrote it and out of every span', async () => {
    await using traced = await startTraced();
    const baggage = 'secret=1;property,  odd spacing = kept, =malformed';
    const run = traced.runSpans().start(withHeaders({ baggage }));
    run.end(sampleEnd(), sampleExchange());
    expect(run.traceHeaders?.['baggage']).toBe(baggage);
    expect(JSON.stringify(await traced.exported())).not.toContain('secret');
  });

  it('leaves headers alone that the configured propagators do not speak', async () => {
    await using traced = await startTraced({ OTEL_PROPAGATORS: 'b3' });
    const traceparent = `00-${TRACE_ID}-${CLIENT_SPAN_ID}-01`;
    const run = traced.runSpans().start(withHeaders({ traceparent }));
    expect(run.traceHeaders).toEqual({ traceparent, b3: `${run.trace.traceId}-${run.trace.spanId}-1` });
  });

  it.each([{ OTEL_PROPAGATORS: 'none' }, { OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }])(
    'passes the client’s headers unchanged under %j',
    async (environment) => {
      await using traced = await startTraced(environment);
      const run = traced.runSpans().start(withHeaders({ traceparent: `00-${TRACE_ID}-${CLIENT_SPAN_ID}-01` }));
      run.end(sampleEnd(), sampleExchange());
      expect(run.traceHeaders).toBeUndefined();
    },
  );
});

describe('before the SDK is ready', () => {
  it('not even void spans are made', () => {
    const tracer = trace.getTracer('none');
    const startSpan = vi.spyOn(tracer, 'startSpan');
    const options = { tracer, propagation, providerName: 'ag-ui', trustIncomingTrace: true, toolSpans: true };
    createRunSpans({ ...options, isTracing: () => false }).start(sampleRequest());
    expect(startSpan).not.toHaveBeenCalled();
    createRunSpans({ ...options, isTracing: () => true }).start(sampleRequest());
    expect(startSpan).toHaveBeenCalled();
  });

  it('spans are void and headers pass; requests that come after it are traced by the same factory', async () => {
    let isTracing = false;
    const runSpans = createRunSpans({
      tracer: trace.getTracer('early'),
      propagation,
      providerName: 'ag-ui',
      trustIncomingTrace: true,
      toolSpans: true,
      isTracing: () => isTracing,
    });
    const early = runSpans.start(sampleRequest());
    expect(early.traceHeaders).toBeUndefined();
    expect(fromSpanLink(early.trace)).toBeUndefined();
    await using traced = await startTraced();
    isTracing = true;
    early.end(sampleEnd(), sampleExchange());
    runSpans.start(sampleRequest({ agent: 'later' })).end(sampleEnd(), sampleExchange());
    expect((await traced.exported()).map(({ name }) => name)).toEqual(['invoke_agent later', 'POST /harbour']);
  });
});
