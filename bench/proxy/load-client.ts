import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  Agent,
  type ClientRequest as ClientHttpRequest,
  get,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventTimes } from './event-times.ts';
import {
  type BoundedLoad,
  type ClientReply,
  type ClientRequest,
  type Endpoint,
  hostClockUs,
  type LeaveWhen,
  type Load,
  type Outcomes,
  type RunPlan,
  type SilenceDelays,
  type SilencePlan,
} from './plan.ts';
import { silenceSeen } from './silence.ts';

/** The load client as a process of its own: `PORT ACKNOWLEDGEMENT_PORT` of the agent. The runner asks it over IPC. */
const [agentPort = 0, acknowledgementPort = 0] = process.argv.slice(2).map(Number);

const acknowledgements = connect(acknowledgementPort, '127.0.0.1').setNoDelay();
/** By target, kept from load to load. */
const connections = new Map<string, Agent>();
const openStreams = new Set<IncomingMessage>();

/** What one target has had of a load since the last slice. */
interface Tally {
  runs: number;
  events: number;
  bytes: number;
  latenciesUs: number[];
  /** Of the whole load, by run id. */
  readonly hashes: Map<string, string>;
}

/** A load under way. */
interface UnderWay {
  readonly tallies: ReadonlyMap<Endpoint, Tally>;
  readonly lanes: Promise<unknown>;
}

function start(load: Load, mayGoOn: (run: number) => boolean): UnderWay {
  const tallies = new Map<Endpoint, Tally>(
    load.targets.map((target) => [target, { runs: 0, events: 0, bytes: 0, latenciesUs: [], hashes: new Map() }]),
  );
  const countedFromUs = hostClockUs() + (load.leadInMs ?? 0) * 1000;
  const lanes: Promise<void>[] = [];
  // Lane by lane and not target by target, so that no target's streams are always the first to be served.
  for (let lane = 0; lane < load.lanes; lane += 1) {
    for (const [target, tally] of tallies) lanes.push(runLane(target, load, tally, { mayGoOn, countedFromUs }));
  }
  return { tallies, lanes: Promise.all(lanes) };
}

async function end({ tallies, lanes }: UnderWay): Promise<void> {
  await lanes;
  const sent = await hashesOfAgent();
  for (const [{ name }, { hashes }] of tallies) {
    for (const [runId, hash] of hashes) {
      if (sent.get(runId) !== hash) throw new Error(`A body that went through ${name} is not what the agent sent.`);
    }
  }
}

/** What came since this was last asked. */
function takeOutcomes(tallies: ReadonlyMap<Endpoint, Tally>): Outcomes {
  return Object.fromEntries(
    [...tallies].map(([{ name }, tally]) => {
      const { runs, events, bytes, latenciesUs } = tally;
      Object.assign(tally, { runs: 0, events: 0, bytes: 0, latenciesUs: [] });
      return [name, { runs, events, bytes, latenciesUs }];
    }),
  );
}

async function send({ runsPerLane, ...load }: BoundedLoad): Promise<Outcomes> {
  const sent = start(load, (run) => run < runsPerLane);
  await end(sent);
  return takeOutcomes(sent.tallies);
}

/** A load that goes on until it is to finish. */
interface Steady extends UnderWay {
  readonly state: { isFinishing: boolean; failure?: unknown };
}

let steady: Steady | undefined;

function begin(load: Load): void {
  const state: Steady['state'] = { isFinishing: false };
  steady = { ...start(load, () => !state.isFinishing), state };
  steady.lanes.catch((failure: unknown) => {
    state.isFinishing = true;
    state.failure = failure;
  });
}

const NO_LOAD = 'No load was begun.';

/** @throws when there is none, or a run of it has failed. */
function underWay(): Steady {
  if (!steady) throw new Error(NO_LOAD);
  if (steady.state.failure !== undefined) throw steady.state.failure;
  return steady;
}

async function finish(): Promise<void> {
  const ending = steady;
  steady = undefined;
  if (!ending) throw new Error(NO_LOAD);
  ending.state.isFinishing = true;
  await end(ending);
}

async function runLane(
  target: Endpoint,
  { run, leadInMs = 0 }: Load,
  tally: Tally,
  { mayGoOn, countedFromUs }: { readonly mayGoOn: (run: number) => boolean; readonly countedFromUs: number },
): Promise<void> {
  if (leadInMs > 0) await sleep(Math.random() * leadInMs);
  for (let at = 0; mayGoOn(at); at += 1) {
    const runId = randomUUID();
    const response = await post(target, runId, run);
    const sha256 = createHash('sha256');
    const times = eventTimes();
    response.on('data', (chunk: Buffer) => {
      const arrivedAtUs = hostClockUs();
      const emittedAtUs = times(chunk);
      for (const each of emittedAtUs) {
        if (each >= countedFromUs) tally.latenciesUs.push(arrivedAtUs - each);
      }
      if (run.kind === 'lock_step' && emittedAtUs.length > 0) acknowledgements.write(`${runId}\n`);
      tally.events += emittedAtUs.length;
      tally.bytes += chunk.length;
      sha256.update(chunk);
    });
    await once(response, 'end');
    tally.runs += 1;
    tally.hashes.set(runId, sha256.digest('hex'));
  }
}

async function post({ name, port }: Endpoint, runId: string, plan: RunPlan): Promise<IncomingMessage> {
  const request = beginRun({ name, port }, runId, plan);
  const [response] = (await once(request, 'response').catch((cause: unknown) => {
    throw new Error(`${name} failed a run: ${String(cause)}`, { cause });
  })) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`${name} answered a run with ${response.statusCode}.`);
  return response;
}

function beginRun({ name, port }: Endpoint, runId: string, plan: RunPlan): ClientHttpRequest {
  const agent = connections.get(name) ?? new Agent({ keepAlive: true, maxFreeSockets: Infinity });
  connections.set(name, agent);
  const body = JSON.stringify({
    threadId: `thread-${runId}`,
    runId,
    state: {},
    messages: [
      { id: `question-${runId}`, role: 'user', content: 'When is high water at Oban, and what does it mean for us?' },
    ],
    tools: [],
    context: [],
    forwardedProps: plan,
  });
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream', 'content-length': body.length };
  const request = httpRequest({ host: '127.0.0.1', port, path: '/', method: 'POST', agent, headers });
  request.end(body);
  return request;
}

async function leaveSilence(target: Endpoint, plan: SilencePlan, leaveWhen: LeaveWhen): Promise<SilenceDelays> {
  const runId = randomUUID();
  const request = beginRun(target, runId, plan);
  // It is cut on purpose.
  request.on('error', () => {});
  const arrived = new Promise<number>((resolve) => request.once('response', () => resolve(hostClockUs())));
  await silenceSeen(agentPort, runId, 'begun');
  const headArrivedAtUs = leaveWhen === 'head' ? await arrived : NaN;
  // Whatever the request has set off is done by then.
  await sleep(SETTLE_MS);
  const leftAtUs = hostClockUs();
  request.destroy();
  const { headAtUs = NaN, closedAtUs = NaN } = await silenceSeen(agentPort, runId, 'closed');
  return { headUs: headArrivedAtUs - headAtUs, closeUs: closedAtUs - leftAtUs };
}

const SETTLE_MS = 10;

async function hashesOfAgent(): Promise<ReadonlyMap<string, string>> {
  const [response] = (await once(get({ host: '127.0.0.1', port: agentPort, path: '/hashes' }), 'response')) as [
    IncomingMessage,
  ];
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += chunk;
  return new Map(Object.entries(JSON.parse(body)));
}

/** Streams that are being opened with one target at once. */
const OPENING = 50;

async function open(target: Endpoint, streams: number, everyMs: number): Promise<void> {
  let left = streams;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const response = await post(target, randomUUID(), { kind: 'open', everyMs });
      response.on('error', () => {});
      openStreams.add(response.resume());
    }
  };
  await Promise.all(Array.from({ length: OPENING }, lane));
}

async function leave(): Promise<void> {
  const closed = [...openStreams].map((response) => once(response.destroy(), 'close'));
  openStreams.clear();
  await Promise.all(closed);
}

async function reply(request: ClientRequest): Promise<ClientReply> {
  switch (request.kind) {
    case 'load':
      return { kind: 'outcomes', outcomes: await send(request.load) };
    case 'begin':
      begin(request.load);
      return { kind: 'done' };
    case 'slice':
      return { kind: 'outcomes', outcomes: takeOutcomes(underWay().tallies) };
    case 'finish':
      await finish();
      return { kind: 'done' };
    case 'open':
      await Promise.all(request.targets.map((target) => open(target, request.streams, request.everyMs)));
      return { kind: 'done' };
    case 'leave':
      await leave();
      return { kind: 'done' };
    case 'silence':
      return { kind: 'silence', delays: await leaveSilence(request.target, request.plan, request.leave) };
  }
}

process.on('disconnect', () => process.exit());
process.on('message', (request: ClientRequest) => {
  void reply(request)
    .catch((error: unknown): ClientReply => ({ kind: 'failed', message: String(error) }))
    .then((answer) => process.send?.(answer));
});
await once(acknowledgements, 'connect');
process.send?.({});
