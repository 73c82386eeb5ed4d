import type { JudgeErrorType } from './judge.ts';
import type { ReplyFormat } from './reply-format.ts';

/** A request that brought no completion, as it went over the wire. */
export type FailedRequest =
  | {
      readonly kind: 'status';
      readonly status: number;
      /** The error's own code or type, when it is a plain identifier. */
      readonly code?: string;
      /** All the endpoint said. Only looked at, never shown: endpoints quote keys and prompts in their errors. */
      readonly text: string;
      readonly retryAfterMs?: number;
    }
  /** No answer, or one that broke off. */
  | { readonly kind: 'network'; readonly code?: string }
  /** The deadline passed. */
  | { readonly kind: 'timeout' }
  /** A success that is no chat completion. */
  | { readonly kind: 'unreadable' };

/** What a failed request is counted as, and what to do next. */
export interface Failure {
  readonly type: JudgeErrorType;
  /**
   * `retry`: the same again, after a while. `step_down`: again in the next format. `pause`: the endpoint refuses
   * everybody, so others need not ask. `fail`: this question only.
   */
  readonly next: 'retry' | 'step_down' | 'pause' | 'fail';
  /** What happened and what to do about it, with no word of the endpoint's own beside an identifier. */
  readonly message: string;
  readonly retryAfterMs?: number;
}

/** Statuses with which endpoints refuse what a request asks for, rather than who asks. */
const REFUSES_REQUEST = new Set([400, 404, 413, 422]);

const TOO_LONG =
  /context[ _-]?(?:length|window|size)|prompt is too long|input is too long|too many (?:input )?tokens|maximum (?:number of )?tokens|token count/i;
const FILTERED = /content[ _-]?(?:filter|policy|management)|invalid_prompt|flagged|moderation/i;

/** How endpoints name the part of a request that they do not support. */
const ABOUT_FORMAT: Readonly<Record<ReplyFormat, RegExp>> = {
  json_schema: /response_?format|json_?schema|structured[ _-]?output|schema|grammar|guided/i,
  tool: /tool|function/i,
  json: /response_?format|json/i,
};

export function classify(failed: FailedRequest, format: ReplyFormat): Failure {
  switch (failed.kind) {
    case 'status':
      return classifyStatus(failed, format);
    case 'network':
      return {
        type: 'unavailable',
        next: 'retry',
        message: `the judge could not be reached${named(failed.code)}; check judge.base_url and the network`,
      };
    case 'timeout':
      // Not tried again: a judge that was too slow once would be paid again to be too slow.
      return {
        type: 'timeout',
        next: 'fail',
        message: 'the judge did not answer in time; judge.timeout sets how long it has',
      };
    case 'unreadable':
      return {
        type: 'malformed',
        next: 'fail',
        message:
          'the judge endpoint answered with something other than a chat completion; check judge.base_url (it often ends in /v1)',
      };
  }
}

function classifyStatus(failed: FailedRequest & { kind: 'status' }, format: ReplyFormat): Failure {
  const { status, code } = failed;
  const said = `the judge endpoint answered ${status}${named(code)}`;
  const evidence = `${code ?? ''} ${failed.text}`;

  // In this order: what is too long or filtered is often told in words that name the format, too.
  if (status === 413 || (REFUSES_REQUEST.has(status) && TOO_LONG.test(evidence))) {
    return { type: 'context_too_long', next: 'fail', message: `${said}: the conversation is too long for this model` };
  }
  if ((status === 403 || REFUSES_REQUEST.has(status)) && FILTERED.test(evidence)) {
    return { type: 'refused', next: 'fail', message: `${said}: its content filter refused the conversation` };
  }
  if (REFUSES_REQUEST.has(status) && ABOUT_FORMAT[format].test(evidence)) {
    return { type: 'unavailable', next: 'step_down', message: `${said}: it does not take the reply format ${format}` };
  }
  switch (status) {
    case 401:
    case 403:
      return { type: 'unauthorized', next: 'pause', message: `${said}: check judge.api_key and what it may use` };
    case 402:
      return { type: 'unavailable', next: 'pause', message: `${said}: the account has no credit` };
    case 404:
      return { type: 'unavailable', next: 'pause', message: `${said}: check judge.model and judge.base_url` };
    case 408:
      return { type: 'timeout', next: 'retry', message: said };
    case 429:
      // A spent quota does not come back within a question's patience.
      if (code === 'insufficient_quota') {
        return { type: 'rate_limited', next: 'pause', message: `${said}: the account's quota is spent` };
      }
      return { type: 'rate_limited', next: 'retry', message: said, ...patience(failed.retryAfterMs) };
    case 409:
    case 425:
      return { type: 'unavailable', next: 'retry', message: said, ...patience(failed.retryAfterMs) };
    default:
      if (status >= 500) {
        return { type: 'unavailable', next: 'retry', message: said, ...patience(failed.retryAfterMs) };
      }
      return {
        type: 'unavailable',
        next: 'fail',
        message: `${said}: it does not take this request; check judge.model`,
      };
  }
}

function named(code: string | undefined): string {
  return code === undefined ? '' : ` (${code})`;
}

function patience(retryAfterMs: number | undefined): Pick<Failure, 'retryAfterMs'> {
  return retryAfterMs === undefined ? {} : { retryAfterMs };
}
