import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HttpAgent, type BaseEvent, type Message } from '@ag-ui/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { hasSharedFixtures, SHARED_FIXTURES } from '../support/shared.ts';
import { ask, bodyOf, httpAgent, POST_JSON, RUN_REQUEST, startProxy } from './support.ts';

interface Scenario {
  readonly name: string;
  readonly client?: { readonly maxProtocolVersion?: string };
  readonly input?: {
    messages?: Message[];
    tools?: never[];
    context?: never[];
    forwardedProps?: Record<string, unknown>;
  };
  readonly stream: readonly Record<string, unknown>[];
}

const CUTS = {
  'one frame per write': (frames: readonly string[]) => frames.map((frame) => Buffer.from(frame)),
  'all in one write': (frames: readonly string[]) => [Buffer.from(frames.join(''))],
  'eleven bytes per write': (frames: readonly string[]) => {
    const bytes = Buffer.from(frames.join(''));
    return Array.from({ length: Math.ceil(bytes.length / 11) }, (_, index) =>
      bytes.subarray(index * 11, index * 11 + 11),
    );
  },
} as const;

type Cut = keyof typeof CUTS;

/**
 * How far a client has read. Where a client refuses a stream, what it has delivered by then depends on how the bytes fell
 * into reads; so the agent writes a piece only when the one before has been read, and chance is out of it.
 */
function createPace() {
  const state = { readBytes: 0, writtenBytes: 0, reading: true };
  let wake = Promise.withResolvers<void>();
  const notify = () => {
    wake.resolve();
    wake = Promise.withResolvers();
  };
  return {
    start() {
      Object.assign(state, { readBytes: 0, writtenBytes: 0, reading: true });
    },
    /** The client reads no more; whatever is left may be written as it comes. */
    stop() {
      state.reading = false;
      notify();
    },
    read(bytes: number) {
      state.readBytes += bytes;
      notify();
    },
    async written(bytes: number) {
      state.writtenBytes += bytes;
      while (state.reading && state.readBytes < state.writtenBytes) await wake.promise;
      // The application's turn: what was read is delivered before more comes.
      await nextTurn();
    },
  };
}

type Pace = ReturnType<typeof createPace>;

/** `fetch` as it is, with its reads reported. */
function pacedFetch(pace: Pace): HttpAgent['fetch'] {
  return async (input, init) => {
    const response = await fetch(input, init);
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk);
        pace.read(chunk.length);
      },
    });
    return new Response(response.body?.pipeThrough(counted), response);
  };
}

/** An agent that sends the scenario's events as they are, cut as told, and keeps the bodies it was sent. */
async function scenarioAgent({ stream }: Scenario, cut: Cut, pace: Pace) {
  const bodies: string[] = [];
  const answers: Promise<unknown>[] = [];
  const agent = await httpAgent(async (request, response) => {
    answers.push(once(response, 'close'));
    bodies.push(await bodyOf(request));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of CUTS[cut](stream.map((event) => `data: ${JSON.stringify(event)}\n\n`))) {
      if (response.destroyed) return;
      response.write(piece);
      await pace.written(piece.length);
    }
    response.end();
  });
  return { url: agent.url, bodies, answered: () => Promise.all(answers) };
}

/** Everything that an application sees of one run. */
async function seenBy(url: string, scenario: Scenario, pace: Pace) {
  pace.start();
  const { client, input = {}, stream } = scenario;
  const started = stream.find(({ type }) => type === 'RUN_STARTED');
  const threadId = typeof started?.threadId === 'string' ? started.threadId : 'thread-of-the-test';
  const agent = new HttpAgent({ url, fetch: pacedFetch(pace), threadId, initialMessages: input.messages ?? [] });
  if (client?.maxProtocolVersion !== undefined) {
    Object.defineProperty(agent, 'maxProtocolVersion', { get: () => client.maxProtocolVersion });
  }
  const warnings: unknown[][] = [];
  vi.mocked(console.warn).mockImplementation((...words: unknown[]) => {
    warnings.push(words);
  });
  const events: BaseEvent[] = [];
  const { tools = [], context = [], forwardedProps = {} } = input;
  const outcome = await agent
    .runAgent(
      { runId: 'run-of-the-test', tools, context, forwardedProps },
      {
        onEvent: ({ event }) => {
          events.push(event);
        },
      },
    )
    .then(
      (result) => ({ completed: result }),
      (error: unknown) => ({ failed: String(error) }),
    );
  pace.stop();
  return withoutChance({ outcome, events, warnings, messages: agent.messages, state: agent.state });
}

/** Ids that the client draws for itself are numbered in the order they appear in. */
function withoutChance(seen: object): unknown {
  const drawn: string[] = [];
  const text = JSON.stringify(seen).replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
    if (!drawn.includes(id)) drawn.push(id);
    return `drawn-${drawn.indexOf(id)}`;
  });
  return JSON.parse(text);
}

/** The same run without the sidecar and through it: what the application, the agent and the wire saw of it. */
async function bothWays(scenario: Scenario, cut: Cut) {
  const pace = createPace();
  const agent = await scenarioAgent(scenario, cut, pace);
  const sidecar = await startProxy(agent.url);

  const seen = [];
  for (const { url } of [agent, sidecar]) {
    const application = await seenBy(url, scenario, pace);
    const wire = await ask(url, POST_JSON, RUN_REQUEST);
    seen.push({ application, requestBody: agent.bodies.at(-2), responseBody: wire.body.toString('latin1') });
  }
  await Promise.all([agent.answered(), sidecar.ended(1)]);
  const [direct, through] = seen;
  return { direct, through, faults: sidecar.faults };
}

const OWN: readonly Scenario[] = [
  {
    name: 'a text answer with characters of two, three and four bytes',
    input: { messages: [{ id: 'u1', role: 'user', content: 'Größe?' }] },
    stream: [
      { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
      { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'größer 海 🚢' },
      { type: 'TEXT_MESSAGE_END', messageId: 'm' },
      { type: 'RUN_FINISHED', threadId: 't', runId: 'r' },
    ],
  },
  {
    name: 'a run that fails',
    stream: [
      { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
      { type: 'RUN_ERROR', message: 'out of berths', code: 'full' },
    ],
  },
  {
    name: 'a stream that the client refuses',
    stream: [{ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'no start' }],
  },
  { name: 'a stream that stops without an end', stream: [{ type: 'RUN_STARTED', threadId: 't', runId: 'r' }] },
];

const SHARED_FOLDERS = ['streams', 'streams-1.0', 'streams-draft'];

const CONFORMANCE: readonly Scenario[] = hasSharedFixtures
  ? SHARED_FOLDERS.flatMap((folder) => {
      const path = new URL(`agui-conformance/${folder}/`, SHARED_FIXTURES);
      return readdirSync(path)
        .filter((file) => file.endsWith('.json'))
        .map((file) => JSON.parse(readFileSync(new URL(file, path), 'utf8')) as Scenario)
        .map((scenario) => ({ ...scenario, name: `${folder}/${scenario.name}` }));
    })
  : [];

beforeEach(() => {
  vi.spyOn(console, 'warn');
  for (const method of ['error', 'log', 'debug'] as const) vi.spyOn(console, method).mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('HttpAgent sees no difference', () => {
  describe.each(Object.keys(CUTS) as Cut[])('%s', (cut) => {
    it.each([...OWN, ...CONFORMANCE])('$name', async (scenario) => {
      const { direct, through, faults } = await bothWays(scenario, cut);

      expect(through).toEqual(direct);
      expect(faults).toEqual([]);
    });
  });
});
