import type { Circuit } from './circuit.ts';
import type { Completion } from './completion.ts';
import { classify, type Failure } from './failure.ts';
import { strictJsonSchema } from './json-schema.ts';
import { JudgeError } from './judge.ts';
import type { AskOptions, JudgeCall, JudgeMessage, JudgeRequest, ReplyProblem } from './judge.ts';
import type { Negotiation } from './negotiate.ts';
import type { Chat } from './openai.ts';
import { CUT_OFF, readText } from './reading.ts';
import { repairTurns } from './repair.ts';
import { formatQuestion, type ReplyFormat } from './reply-format.ts';
import { retryDelayMs } from './retry.ts';

/** What it takes to put a question. */
export interface Means {
  readonly model: string;
  readonly baseUrl: string;
  readonly retries: number;
  readonly chat: Chat;
  readonly negotiation: Negotiation;
  readonly circuit: Circuit;
  readonly now: () => number;
  readonly random: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** What became of one request. */
type Sent<T> = Received<T> | { readonly kind: 'failed'; readonly failure: Failure; readonly format: ReplyFormat };

/** A reply read: the value, or its text and why it cannot be used. */
type Received<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'problem'; readonly problem: ReplyProblem; readonly text: string };

/**
 * Puts one question to the endpoint until it is answered: again after a failure that may pass, in the next format when
 * one is refused, and once more when the reply cannot be used.
 *
 * @throws {JudgeError} when no answer came of it.
 */
export async function putQuestion<T>(
  request: JudgeRequest<T>,
  means: Means,
  { signal, onCall }: AskOptions,
): Promise<T> {
  const { schemaName } = request;
  const { model, baseUrl, negotiation, circuit, retries, now, random, sleep } = means;
  const schema = strictJsonSchema(request.schema);
  let retried = 0;

  const first = await receive(request.messages);
  if (first.kind === 'value') return first.value;
  if (request.repair === false) throw unusable(first.problem);
  const repaired = await receive([...request.messages, ...repairTurns(first.text, first.problem, schema)]);
  if (repaired.kind === 'value') return repaired.value;
  throw unusable(repaired.problem);

  /** Sends until a reply comes. */
  async function receive(messages: readonly JudgeMessage[]): Promise<Received<T>> {
    for (;;) {
      const sent = await send(messages);
      if (sent.kind !== 'failed') return sent;
      const { failure, format } = sent;
      if (failure.next === 'step_down' && negotiation.rejected(format)) continue;
      if (failure.next === 'pause') circuit.open(failure);
      const retriesLeft = request.repair === false ? 0 : retries - retried;
      if (failure.next !== 'retry' || retriesLeft <= 0) throw toError(failure);
      const delayMs = retryDelayMs(retried, failure.retryAfterMs, random);
      if (delayMs === undefined) throw toError(failure);
      retried += 1;
      await sleep(delayMs, signal);
    }
  }

  /** Makes one HTTP request and reports it. */
  async function send(messages: readonly JudgeMessage[]): Promise<Sent<T>> {
    const format = negotiation.format();
    const question = formatQuestion(format, schemaName, schema, messages);
    const startedAt = now();
    const reply = await means.chat({ model, ...question }, signal);
    const endedAt = now();
    const report = (outcome: JudgeCall['outcome'], source?: Completion): void =>
      onCall?.({ schemaName, outcome, model, ...provenance(source), format, startedAt, endedAt });

    if (reply.kind !== 'completion') {
      const failure = classify(reply, {
        baseUrl,
        format,
        messages: question.messages,
        once: request.repair === false,
      });
      report(failure.type);
      return { kind: 'failed', failure, format };
    }
    negotiation.accepted(format);
    circuit.close();
    if (reply.end === 'refused') {
      report('refused', reply);
      return { kind: 'failed', failure: REFUSED, format };
    }
    const received = readReply(reply, request);
    report(received.kind === 'value' ? 'success' : received.problem.type, reply);
    return received;
  }

  function toError({ type, message }: Failure): JudgeError {
    return new JudgeError(type, `${schemaName}: ${message}`);
  }

  function unusable({ type, message }: ReplyProblem): JudgeError {
    return new JudgeError(type, `${schemaName}: the reply cannot be used: ${message}`);
  }
}

const REFUSED: Failure = { type: 'refused', next: 'fail', message: 'the judge refused to answer' };

function readReply<T>({ end, text }: Completion, request: JudgeRequest<T>): Received<T> {
  if (end === 'cut') return { kind: 'problem', problem: CUT_OFF, text };
  const reading = readText(text, request);
  return reading.kind === 'value' ? reading : { ...reading, text };
}

function provenance(completion: Completion | undefined): Partial<JudgeCall> {
  if (completion === undefined) return {};
  const { model, id, inputTokens, outputTokens } = completion;
  return {
    ...(model === undefined ? {} : { responseModel: model }),
    ...(id === undefined ? {} : { responseId: id }),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
  };
}
