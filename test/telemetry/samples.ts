import type { SpanLink } from '../../src/agui/capture.ts';
import type { Exchange } from '../../src/agui/exchange.ts';
import type { JudgeCall } from '../../src/judge/judge.ts';
import type { ProxiedRequest, RequestEnd } from '../../src/proxy/observer.ts';
import type { MetricResult, Scorecard, ScoringJob } from '../../src/scoring/scorecard.ts';

/** A moment in the past, so that no time of a sample can be mistaken for the time of the test. */
export const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

export function sampleRequest(changes: Partial<ProxiedRequest> = {}): ProxiedRequest {
  return {
    agent: 'harbour',
    match: '/harbour',
    method: 'POST',
    path: '/harbour/run',
    agentPath: '/run',
    scheme: 'http',
    httpVersion: '1.1',
    headers: { host: 'sidecar.example:8080', 'user-agent': 'test-client/1' },
    clientAddress: '192.0.2.7',
    localPort: 8080,
    upstream: { host: 'agent.internal', port: 8000 },
    startedAt: NOW,
    ...changes,
  };
}

export function sampleEnd(changes: Partial<RequestEnd> = {}): RequestEnd {
  return {
    transport: 'complete',
    status: 200,
    headAt: NOW + 20,
    firstByteAt: NOW + 30,
    endedAt: NOW + 2_000,
    overheadMs: 0.4,
    requestBytes: 100,
    responseBytes: 900,
    ...changes,
  };
}

export function sampleExchange(changes: Partial<Exchange> = {}): Exchange {
  return {
    kind: 'run',
    agent: 'harbour',
    threadId: 'thread-1',
    runId: 'run-1',
    runs: [{ threadId: 'thread-1', runId: 'run-1', ending: 'success', usage: null }],
    input: [],
    output: [],
    messages: [],
    ending: 'success',
    status: 200,
    interrupts: [],
    resumes: false,
    findings: [],
    eventCounts: { RUN_STARTED: 1, TEXT_MESSAGE_CONTENT: 5, RUN_FINISHED: 1 },
    toolCalls: [],
    timing: {
      startedAt: NOW,
      firstEventAt: NOW + 40,
      firstContentAt: NOW + 250,
      endedAt: NOW + 2_000,
    },
    trace: sampleLink(),
    ...changes,
  };
}

export function sampleLink(changes: Partial<SpanLink> = {}): SpanLink {
  return { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1, ...changes };
}

export function sampleJob(changes: Partial<ScoringJob> = {}): ScoringJob {
  return {
    id: 'job-1',
    agent: 'harbour',
    threadId: 'thread-1',
    revision: 1,
    messages: [
      { id: 'm1', role: 'user', text: 'When is high tide?' },
      { id: 'm2', role: 'assistant', text: 'At ten.', toolCalls: [] },
      { id: 'm3', role: 'user', text: 'And low tide?' },
      { id: 'm4', role: 'assistant', text: 'At four.', toolCalls: [] },
    ],
    ending: 'success',
    runs: [{ runId: 'run-1', endedAt: NOW, trace: sampleLink() }],
    probability: 0.25,
    stratum: 'default',
    cause: 'idle',
    closedAt: NOW + 60_000,
    ...changes,
  };
}

export function sampleCall(changes: Partial<JudgeCall> = {}): JudgeCall {
  return {
    schemaName: 'user_goal_outcome',
    outcome: 'success',
    model: 'judge-model',
    responseModel: 'judge-model-2026-01-01',
    responseId: 'response-1',
    inputTokens: 120,
    outputTokens: 30,
    startedAt: NOW + 60_100,
    endedAt: NOW + 60_900,
    ...changes,
  };
}

export function sampleResult(changes: Partial<MetricResult> = {}): MetricResult {
  return {
    metric: 'agent_goal_accuracy',
    evaluator: 'llm',
    evaluatorVersion: 'v-123',
    threshold: 0.8,
    verdict: { kind: 'scored', value: 0.75, label: 'fail', reason: 'It gave no date.' },
    calls: [sampleCall()],
    startedAt: NOW + 60_000,
    endedAt: NOW + 61_000,
    ...changes,
  };
}

export function sampleScorecard(changes: Partial<Scorecard> = {}): Scorecard {
  return { job: sampleJob(), decision: 'scored', results: [sampleResult()], ...changes };
}
