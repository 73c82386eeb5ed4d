import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs, styleText } from 'node:util';
import { proportion } from '../src/statistics/wilson.ts';
import { startHarbourAgent } from './agent/server.ts';
import { CONVERSATIONS, REFERENCE_TOPICS } from './conversations.ts';
import { startOtlpReceiver } from './demo/otlp-receiver.ts';
import { readSamples, sumOf, type Sample } from './demo/prometheus-text.ts';
import { readResults } from './demo/results.ts';
import { startSidecar, type Sidecar } from './demo/sidecar.ts';
import { renderTable } from './demo/table.ts';
import { findMissing, METRICS, type Evidence } from './demo/verify.ts';
import { startScriptedJudge } from './judge/server.ts';
import { playRound } from './traffic.ts';

const USAGE = `npm run demo              the example agent, a scripted judge, the sidecar and traffic, until Ctrl-C
npm run demo -- --once    one round; exits with 0 when every score reached Prometheus and OTLP, else with 1`;

/** For one round, from the start of the first process to the last score. */
const ROUND_DEADLINE_MS = 90_000;
const POLL_MS = 250;
const PAUSE_BETWEEN_ROUNDS_MS = 5_000;
/** Exit status of a program that Ctrl-C has ended before it was done. */
const INTERRUPTED = 130;

async function main({ once }: { once: boolean }, stop: AbortSignal): Promise<number> {
  const deadline = AbortSignal.any([stop, AbortSignal.timeout(ROUND_DEADLINE_MS)]);
  await using agent = await startHarbourAgent({ port: 0 });
  await using judge = await startScriptedJudge({ port: 0 });
  await using receiver = await startOtlpReceiver({ port: 0 });
  await using sidecar = await startSidecar(
    {
      AGENT_URL: agent.url,
      AGENT_NAME: 'harbour',
      REFERENCE_TOPICS: REFERENCE_TOPICS.join(','),
      OPENAI_BASE_URL: `${judge.url}/v1`,
      JUDGE_MODEL: 'scripted-judge',
      SAMPLE_RATE: '1',
      CLOSING_IDLE: '2s',
      // On a machine that is busy a conversation may be left out; here each is to be shown.
      TAP_MAX_LOOP_DELAY: '0s',
      TAP_READ_DELAY: '0s',
      CLOSING_WAITING: '5s',
      SHUTDOWN_GRACE: '3s',
      LOG_LEVEL: 'warn',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_BSP_SCHEDULE_DELAY: '500',
    },
    deadline,
  );
  console.log(`AG-UI client → sidecar ${sidecar.url} → harbour agent ${agent.url}`);
  console.log(`judged by scripted-judge, rules in place of a model: examples/judge/rules.ts`);
  console.log(
    `${CONVERSATIONS.length} conversations are being held; each is judged when it has been silent for 2 s …\n`,
  );

  await playRound(sidecar.url, 1, deadline);
  const conversations = CONVERSATIONS.map((conversation) => ({ conversation, threadId: `${conversation.name}-1` }));
  const look = async (): Promise<Evidence> => ({
    conversations,
    samples: await scrape(sidecar),
    spans: receiver.spans(),
  });
  const { missing, evidence } = await waitUntilComplete(sidecar, look, deadline);
  if (stop.aborted) return INTERRUPTED;
  console.log(`${renderTable(conversations, readResults(evidence.spans))}\n`);
  console.log(summary(evidence.samples));
  if (once || missing.length > 0) return verdict(missing);

  console.log(whatToTryNext(sidecar));
  await goOn(sidecar, stop);
  console.log('\nStopping …');
  return 0;
}

/** Polls until nothing is missing any more, or the deadline has passed. */
async function waitUntilComplete(
  sidecar: Sidecar,
  look: () => Promise<Evidence>,
  deadline: AbortSignal,
): Promise<{ missing: readonly string[]; evidence: Evidence }> {
  for (;;) {
    sidecar.assertRunning();
    const evidence = await look();
    const missing = findMissing(evidence);
    if (missing.length === 0 || deadline.aborted) return { missing, evidence };
    await pause(POLL_MS);
  }
}

async function goOn(sidecar: Sidecar, stop: AbortSignal): Promise<void> {
  for (let round = 2; !stop.aborted; round++) {
    await pause(PAUSE_BETWEEN_ROUNDS_MS, undefined, { signal: stop }).catch(() => undefined);
    if (stop.aborted) return;
    sidecar.assertRunning();
    await playRound(sidecar.url, round, stop);
    console.log(`round ${round}\n${summary(await scrape(sidecar))}`);
  }
}

async function scrape({ adminUrl }: Sidecar): Promise<Sample[]> {
  const response = await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(5_000) });
  return readSamples(await response.text());
}

/** What the sidecar's own counters say, and how sure that is. */
function summary(samples: readonly Sample[]): string {
  const lines = Object.keys(METRICS).map((metric) => {
    const n = sumOf(samples, 'agui_eval_scores_total', { metric }) ?? 0;
    const { hits, share, interval } = proportion(sumOf(samples, 'agui_eval_passes_total', { metric }) ?? 0, n);
    const sure = interval && `95 % interval ${interval[0].toFixed(2)} to ${interval[1].toFixed(2)}`;
    return `  ${metric.padEnd(20)} ${share === null ? 'no score yet' : `${hits} of ${n} pass: ${share.toFixed(2)}, ${sure}`}`;
  });
  return `${lines.join('\n')}\n`;
}

function verdict(missing: readonly string[]): number {
  if (missing.length === 0) {
    console.log(styleText('green', 'Every score reached Prometheus and the OTLP receiver.'));
    return 0;
  }
  console.error(
    `What was missing after ${ROUND_DEADLINE_MS / 1000} s:\n${missing.map((line) => `  ${line}`).join('\n')}`,
  );
  return 1;
}

function whatToTryNext({ url, adminUrl }: Sidecar): string {
  return `${styleText('bold', 'What to try next')}
  curl -s ${adminUrl}/metrics | grep agui_eval_      the scores, for Prometheus
  curl -N ${url} -H 'content-type: application/json' -H 'accept: text/event-stream' \\
    -d '{"threadId":"mine","runId":"1","messages":[{"id":"1","role":"user","content":"When is high tide?"}],"tools":[],"context":[]}'
                                                     a conversation of your own
  examples/agent/assistant.ts                        what the agent says; make it better or worse and start again
  AGENT_URL=http://localhost:8000 OPENAI_API_KEY=… npm start
                                                     the sidecar in front of your agent, with a real judge
The traffic goes on until Ctrl-C.
`;
}

function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(INTERRUPTED);
      controller.abort(new Error(`${name} received`));
    });
  }
  return controller.signal;
}

try {
  const { values } = parseArgs({ options: { once: { type: 'boolean', default: false }, help: { type: 'boolean' } } });
  if (values.help) console.log(USAGE);
  else process.exitCode = await main(values, interruption());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
