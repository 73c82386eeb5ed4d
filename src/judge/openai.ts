import type { OpenAI } from 'openai';
import { errorCode } from '../lib/error-code.ts';
import { followAbort } from '../lib/follow-abort.ts';
import { isJsonObject } from '../lib/json.ts';
import { AnswerTooLarge, boundedFetch } from './bounded-fetch.ts';
import { readCompletion, type Completion } from './completion.ts';
import type { FailedRequest } from './failure.ts';
import { readRetryAfterMs } from './retry.ts';

/** Makes one request to a chat-completions endpoint. Rejects only when `signal` aborts, with its reason. */
export type Chat = (body: object, signal: AbortSignal) => Promise<Completion | FailedRequest>;

export interface ChatOptions {
  readonly baseUrl: string;
  readonly apiKey?: string;
  /** How long one request may take, its body included, in milliseconds. */
  readonly timeoutMs: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The one user of the `openai` package, which is loaded by the first request: most commands never make one. */
export function openChat(options: ChatOptions): Chat {
  let loading: ReturnType<typeof loadClient> | undefined;

  return async (body, signal) => {
    loading ??= loadClient(options);
    const { client, APIError } = await loading;
    // The package's own timeout leaves out the body of an error response; a signal covers the whole exchange.
    const exchange = followAbort(signal);
    const timer = setTimeout(() => exchange.abort(), options.timeoutMs);
    try {
      const answer = await client.post<unknown>('/chat/completions', {
        body,
        signal: exchange.signal,
      });
      return readCompletion(answer) ?? readErrorInBody(answer) ?? { kind: 'unreadable' };
    } catch (error) {
      signal.throwIfAborted();
      if (exchange.signal.aborted) return { kind: 'timeout' };
      if (error instanceof APIError && error.status !== undefined) return readStatus(error, options.now());
      if (error instanceof SyntaxError) return { kind: 'unreadable' };
      if (chainOf(error).some((link) => link instanceof AnswerTooLarge)) return { kind: 'too_large' };
      return { kind: 'network', ...optionalCode(systemCode(error)) };
    } finally {
      clearTimeout(timer);
      exchange.unfollow();
    }
  };
}

async function loadClient({ baseUrl, apiKey, timeoutMs }: ChatOptions) {
  const { OpenAI, APIError } = await import('openai');

  class Client extends OpenAI {
    /** Keeps error bodies that are not wrapped in `error`, as older servers send them; the package drops them. */
    protected override makeStatusError(status: number, error: object, message: string | undefined, headers: Headers) {
      return super.makeStatusError(
        status,
        isJsonObject(error) && !('error' in error) ? { error } : error,
        message,
        headers,
      );
    }
  }

  const client = new Client({
    baseURL: baseUrl,
    // The package insists on a key; where local servers need none, this one is not sent.
    apiKey: apiKey ?? 'none',
    ...(apiKey === undefined ? { defaultHeaders: { Authorization: null } } : {}),
    adminAPIKey: null,
    maxRetries: 0,
    // After the deadline above, so that this one never decides what a slow answer is counted as.
    timeout: timeoutMs + 1_000,
    fetch: boundedFetch,
    // At its debug level the package logs prompts.
    logLevel: 'off',
  });
  return { client, APIError };
}

function readStatus(error: InstanceType<typeof OpenAI.APIError>, nowMs: number): FailedRequest {
  const retryAfterMs = error.headers === undefined ? undefined : readRetryAfterMs(error.headers, nowMs);
  return {
    kind: 'status',
    status: Number(error.status),
    text: error.message,
    ...optionalCode(identifier(error.code) ?? identifier(error.type)),
    ...optionalParam(error.param),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Gateways that have sent their head before they knew better put the status into the body of a 200. */
function readErrorInBody(body: unknown): FailedRequest | undefined {
  const error = isJsonObject(body) ? body['error'] : undefined;
  if (!isJsonObject(error)) return undefined;
  const status = error['code'];
  if (typeof status !== 'number' || status < 400 || status > 599) return undefined;
  return { kind: 'status', status, text: JSON.stringify(error), ...optionalParam(error['param']) };
}

/** The code that the operating system or the HTTP client gave the failure, somewhere in its chain of causes. */
function systemCode(error: unknown): string | undefined {
  return chainOf(error)
    .map((link) => identifier(errorCode(link)))
    .find((code) => code !== undefined);
}

/** An error, its cause, and so on: what a request failed with reaches us wrapped. */
function chainOf(error: unknown): readonly Error[] {
  const chain: Error[] = [];
  let link = error;
  while (chain.length < 5 && link instanceof Error) {
    chain.push(link);
    link = link.cause;
  }
  return chain;
}

/** A name that can be shown. Keys and sentences are not: they hold dashes or blanks. */
function identifier(value: unknown): string | undefined {
  return typeof value === 'string' && /^[a-z][a-z\d_.]{0,63}$/i.test(value) ? value : undefined;
}

function optionalParam(param: unknown): { param?: string } {
  return typeof param === 'string' && param !== '' ? { param } : {};
}

function optionalCode(code: string | undefined): { code?: string } {
  return code === undefined ? {} : { code };
}
