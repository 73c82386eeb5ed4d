import { AG_UI_STREAM_TYPES, mediaType } from '../lib/media-type.ts';
import { parsingJson } from '../lib/parse-json.ts';
import { paced, type Steps } from '../lib/steps.ts';
import type { Arrival, Capture } from './capture.ts';
import { type ContentEnd, decodeContent, piecesOf, SLICE_BYTES } from './decode-content.ts';
import type { Ending, Exchange, Run, Timing } from './exchange.ts';
import { type Fold, type Folded, holdsEvents, openFold } from './fold.ts';
import { exchangeKind, readingRunRequest, readThreadId, type RunRequest, unreadRequest } from './input.ts';
import { pacedInput } from './paced-input.ts';
import { openStreamReader, type StreamFormat } from './read-stream.ts';
import { sumUsage } from './usage.ts';

/** Bounds of what is read of one exchange. Past one, reading stops and a finding says so. */
export interface ReadBounds {
  /** Largest event. */
  readonly maxEventBytes: number;
  /** Most bytes of one body after its Content-Encoding was undone. */
  readonly maxDecodedBytes: number;
}

/**
 * Reads what the tap copied. Other work gets its turn in between, so a large capture does not hold up the streams that
 * are being forwarded. Never rejects over what the bytes say.
 *
 * @returns undefined when the exchange is none of AG-UI.
 */
export async function readCapture(capture: Capture, bounds: ReadBounds): Promise<Exchange | undefined> {
  const { request, end: requestEnd } = await readRequest(capture, bounds);
  const format = AG_UI_STREAM_TYPES.get(mediaType(capture.response?.contentType));
  if (!format && !(request?.isExplicit && hasFailed(capture))) return undefined;

  const isReplay = exchangeKind(capture.path, request, true) === 'replay';
  const opening = openFold({
    threadId: request?.threadId ?? '',
    // A replay brings the runs it replays, under their own ids.
    runId: isReplay ? '' : (request?.runId ?? ''),
    messages: request?.messages ?? [],
    interrupts: request?.interrupts ?? [],
  });
  const fold = await paced(opening);
  const reading = format && (await readResponse(capture, format, fold, bounds));
  if (capture.truncated || reading === 'stopped') fold.note('truncated_tap', '');
  if (reading === 'undecodable') fold.note('undecodable', capture.response?.contentEncoding ?? '');
  if (requestEnd === 'stopped') fold.note('truncated_tap', REQUEST);
  if (requestEnd === 'undecodable') fold.note('undecodable', REQUEST);

  // A refusal is not expected to hold a run, and what was not read is not missing.
  const isWhole = reading === 'complete' && !capture.truncated && !isErrorStatus(capture);
  const end = capture.transport === 'complete' && !isWhole ? 'unread' : capture.transport;
  const folded = await paced(fold.finishing(end));
  if (!request?.isExplicit && !holdsEvents(folded)) return undefined;
  return toExchange(capture, request, folded);
}

/** Names the request in a finding that is about neither an event nor a message. */
const REQUEST = 'request';

const isErrorStatus = (capture: Capture): boolean => (capture.response?.status ?? 0) >= 400;

const hasFailed = (capture: Capture): boolean =>
  capture.response === undefined || capture.transport !== 'complete' || isErrorStatus(capture);

interface ReadRequest {
  readonly request?: RunRequest;
  readonly end: ContentEnd;
}

async function readRequest(capture: Capture, bounds: ReadBounds): Promise<ReadRequest> {
  const { body, head, contentEncoding } = capture.request;
  if (body === undefined) {
    const threadId = head && readThreadId(Buffer.from(head).toString('utf8'));
    return threadId === undefined ? { end: 'complete' } : { request: unreadRequest(threadId), end: 'complete' };
  }
  const pieces: Uint8Array[] = [];
  let room = bounds.maxDecodedBytes;
  const end = await decodeContent(contentEncoding, [{ bytes: body }], ({ bytes }) => {
    room -= bytes.length;
    pieces.push(bytes);
    return room >= 0;
  });
  if (end !== 'complete') return { end };
  const request = await paced(readingRequestText(Buffer.concat(pieces).toString('utf8')));
  return request ? { request, end } : { end };
}

function* readingRequestText(text: string): Steps<RunRequest | undefined> {
  return yield* readingRunRequest(yield* parsingJson(text));
}

async function readResponse(
  capture: Capture,
  format: StreamFormat,
  fold: Fold,
  bounds: ReadBounds,
): Promise<ContentEnd> {
  if (!capture.response) return 'complete';
  const { body, contentEncoding } = capture.response;
  const reader = await openBodyReader(format, fold, bounds);
  const end = await decodeContent(contentEncoding, slicesOf(body), reader.take);
  // What a bound or the end of a connection cut off is not the stream's last event.
  await reader.finish(end === 'complete' && !capture.truncated && capture.transport === 'complete');
  return reader.hasStopped() ? 'stopped' : end;
}

/** Reads a decoded body into a fold. */
interface BodyReader {
  /** False: a bound was reached, and nothing more is read. */
  readonly take: (slice: Arrival) => boolean | Promise<boolean>;
  /** @param isWhole false: what is still unfinished is no event. */
  finish(isWhole: boolean): Promise<void>;
  readonly hasStopped: () => boolean;
}

async function openBodyReader(format: StreamFormat, fold: Fold, bounds: ReadBounds): Promise<BodyReader> {
  const input = pacedInput(fold);
  const reader = await openStreamReader(format, input, bounds);
  let room = bounds.maxDecodedBytes;
  let unsettledBytes = 0;
  const wantsMore = () => room >= 0 && !reader.hasStopped();
  return {
    take({ bytes, at }) {
      reader.push(room < bytes.length ? bytes.subarray(0, room) : bytes, at);
      room -= bytes.length;
      unsettledBytes += bytes.length;
      // Not after every event that came by itself: that would be a good part of the work.
      if (unsettledBytes < SLICE_BYTES) return wantsMore();
      unsettledBytes = 0;
      const settled = input.settle();
      return settled ? settled.then(wantsMore) : wantsMore();
    },
    async finish(isWhole) {
      if (isWhole) reader.end();
      await input.settle();
    },
    hasStopped: reader.hasStopped,
  };
}

/**
 * One reader that reads nothing, for as long as the process lives. Reader, decoder, parser and fold are made of functions that
 * are made anew for each copy, and V8 holds the optimised code of such a function only as long as one made at the same place
 * lives, used or not. Without this a full collection between two readings would lose all of it.
 */
const held: unknown[] = [];

async function holdReader(): Promise<void> {
  held.push(await openBodyReader('sse', await paced(openFold()), { maxEventBytes: 0, maxDecodedBytes: 0 }));
}
void holdReader();

/** The body in slices that are worth a turn of the event loop at most. */
function* slicesOf(body: Iterable<Arrival>): Generator<Arrival> {
  for (const arrival of body) {
    const { bytes } = arrival;
    if (bytes.length <= SLICE_BYTES) yield arrival;
    else for (const slice of piecesOf(bytes)) yield { ...arrival, bytes: slice };
  }
}

function toExchange(capture: Capture, request: RunRequest | undefined, folded: Folded): Exchange {
  const { agent, tenant, path, response, trace } = capture;
  const kind = exchangeKind(path, request, folded.output.length > 0);
  const usage = sumUsage(folded.runs.map((run) => run.usage));
  return {
    kind,
    agent,
    ...(tenant === undefined ? {} : { tenant }),
    threadId: request?.threadId || (folded.runs[0]?.threadId ?? ''),
    runId: request?.runId || (folded.runs[0]?.runId ?? ''),
    runs: withParent(folded.runs, request?.parentRunId),
    input: folded.input,
    output: folded.output,
    messages: folded.messages,
    ending: endingOf(capture, folded),
    ...(response === undefined ? {} : { status: response.status }),
    // A replay raises interrupts that may long have been answered.
    interrupts: kind === 'replay' ? [] : folded.interrupts,
    resumes: request?.resumes ?? false,
    findings: folded.findings,
    ...(folded.findingsDropped.length > 0 ? { findingsDropped: folded.findingsDropped } : {}),
    eventCounts: folded.eventCounts,
    toolCalls: folded.toolCalls,
    timing: timingOf(capture, folded),
    ...(usage ? { usage } : {}),
    trace,
  };
}

/** Most agents do not repeat what the request says of the run's parent. */
function withParent([first, ...others]: readonly Run[], parentRunId: string | undefined): readonly Run[] {
  if (first === undefined) return [];
  return parentRunId === undefined ? [first, ...others] : [{ parentRunId, ...first }, ...others];
}

function endingOf(capture: Capture, folded: Folded): Ending {
  if (capture.transport === 'client_aborted') return 'client_aborted';
  if (!capture.response) return 'upstream_error';
  return isErrorStatus(capture) ? 'http_error' : folded.ending;
}

function timingOf(capture: Capture, { firstEventAt, firstContentAt }: Folded): Timing {
  return {
    startedAt: capture.startedAt,
    ...(firstEventAt === undefined ? {} : { firstEventAt }),
    ...(firstContentAt === undefined ? {} : { firstContentAt }),
    endedAt: capture.endedAt,
  };
}
