import type { JudgeErrorType, JudgeMessage } from './judge.ts';
import type { ReplyFormat } from './reply-format.ts';

/** A request that brought no completion, as it went over the wire. */
export type FailedRequest =
  | {
      readonly kind: 'status';
      readonly status: number;
      /** The error's own code or type, when it is a plain identifier. */
      readonly code?: string;
      /** The part of the request that the error is about, where the endpoint names one. Only looked at, like `text`. */
      readonly param?: string;
      /** All the endpoint said. Only looked at, never shown: endpoints quote keys and prompts in their errors. */
      readonly text: string;
      readonly retryAfterMs?: number;
    }
  /** No answer, or one that broke off. */
  | { readonly kind: 'network'; readonly code?: string }
  /** The deadline passed. */
  | { readonly kind: 'timeout' }
  /** A success that is no chat completion. */
  | { readonly kind: 'unreadable' }
  /** A success with more than any judge has to say. */
  | { readonly kind: 'too_large' };

/** What a failed request is counted as, and what to do next. */
export interface Failure {
  readonly type: JudgeErrorType;
  /**
   * `retry`: the same again, after a while. `step_down`: again in the next format. `pause`: the endpoint has an
   * answer for nobody, so others need not ask. `fail`: this question only.
   */
  readonly next: 'retry' | 'step_down' | 'pause' | 'fail';
  /** What happened and what to do about it, with no word of the endpoint's own beside an identifier. */
  readonly message: string;
  readonly retryAfterMs?: number;
}

/** Statuses with which endpoints refuse what a request asks for, rather than who asks. */
const REFUSES_REQUEST = new Set([400, 404, 413, 415, 422, 500, 501]);

/** Those among them with which a format may be refused without a word about it. */
const MAY_REFUSE_FORMAT = new Set([400, 415, 422, 501]);

const TOO_LONG =
  /context[ _-]?(?:length|window|size)|prompt is too long|input is too long|too many (?:input )?tokens|maximum (?:number of )?tokens|token count/i;
const FILTERED = /content[ _-]?(?:filter|policy|management)|invalid_prompt|flagged|moderation/i;

/** How endpoints name the part of a request that they do not support. */
const ABOUT_FORMAT: Readonly<Record<ReplyFormat, RegExp>> = {
  json_schema: /response_?format|json_?schema|structured[ _-]?output|schema|grammar|guided/i,
  tool: /tool|function/i,
  json: /response_?format|json/i,
};

/** What was asked, as far as its failure is read by it. */
interface Asked {
  /** Where the endpoint is, as configured. */
  readonly baseUrl: string;
  readonly format: ReplyFormat;
  readonly messages: readonly JudgeMessage[];
  /** One request decides: it is sent again for a plain refusal of its format and for nothing else. */
  readonly once: boolean;
}

export function classify(failed: FailedRequest, asked: Asked): Failure {
  switch (failed.kind) {
    case 'status':
      return classifyStatus(failed, asked);
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
        message: `the judge endpoint answered with something other than a chat completion; check judge.base_url${versionHint(asked)}`,
      };
    case 'too_large':
      // Nor is it this conversation's doing, as a status 400 may be: no model says a mebibyte before its limit of output
      // or the deadline ends it, whatever it was given to read. So whoever asks next would only be sent as much again.
      return {
        type: 'malformed',
        next: 'pause',
        message: `the judge endpoint sent more than any judge has to say; check judge.base_url${versionHint(asked)}`,
      };
  }
}

function classifyStatus(failed: FailedRequest & { kind: 'status' }, asked: Asked): Failure {
  const { status, code } = failed;
  const said = `the judge endpoint answered ${status}${named(code)}`;

  switch (REFUSES_REQUEST.has(status) || status === 403 ? whatIsRefused(failed, asked) : undefined) {
    case 'length':
      return {
        type: 'context_too_long',
        next: 'fail',
        message: `${said}: the conversation is too long for this model`,
      };
    case 'content':
      return { type: 'refused', next: 'fail', message: `${said}: its content filter refused the conversation` };
    case 'format':
      return {
        type: 'unavailable',
        next: 'step_down',
        message: `${said}: it seems not to take the reply format ${asked.format}`,
      };
    case undefined:
      break;
  }
  if (MAY_REFUSE_FORMAT.has(status) && failed.param === undefined && !asked.once) {
    // Once a format was accepted this is no reason to leave it: then the question fails.
    const message = `${said}: it does not take this request; check judge.model`;
    return { type: 'unavailable', next: 'step_down', message };
  }
  switch (status) {
    case 401:
    case 403:
      return { type: 'unauthorized', next: 'pause', message: `${said}: check judge.api_key and what it may use` };
    case 402:
      return { type: 'unavailable', next: 'pause', message: `${said}: the account has no credit` };
    case 404:
      return {
        type: 'unavailable',
        next: 'pause',
        message: `${said}: check judge.model and judge.base_url${versionHint(asked)}`,
      };
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
      if (status < 400) {
        return {
          type: 'unavailable',
          next: 'pause',
          message: `${said}: it redirects; set judge.base_url to its new address`,
        };
      }
      return {
        type: 'unavailable',
        next: 'fail',
        message: `${said}: it does not take this request; check judge.model`,
      };
  }
}

/**
 * Which side of a request an error is about. Its own fields tell best. What it says in words comes last, since it may
 * quote the conversation, and in this order: what is too long or filtered is often told in words that name the format.
 */
function whatIsRefused(
  { status, code = '', param, text }: FailedRequest & { kind: 'status' },
  { format, messages }: Asked,
): 'length' | 'content' | 'format' | undefined {
  const aboutFormat = ABOUT_FORMAT[format];
  const mayBeLength = REFUSES_REQUEST.has(status);
  // Status 403 is about who asks, or what was said; never about how.
  const mayBeFormat = mayBeLength && (param === undefined || aboutFormat.test(param));

  if (status === 413) return 'length';
  if (mayBeFormat && param !== undefined) return 'format';
  if (mayBeLength && TOO_LONG.test(code)) return 'length';
  if (FILTERED.test(code)) return 'content';
  if (mayBeFormat && aboutFormat.test(code)) return 'format';
  const says = (pattern: RegExp): boolean => saysItself(text, pattern, messages);
  if (mayBeLength && says(TOO_LONG)) return 'length';
  if (says(FILTERED)) return 'content';
  return mayBeFormat && says(aboutFormat) ? 'format' : undefined;
}

/** Characters before or after a word by which a quotation is known. */
const CONTEXT = 12;

/** Whether the endpoint's own words match: one that stands among others as it stood in the messages sent is a quotation. */
function saysItself(text: string, pattern: RegExp, messages: readonly JudgeMessage[]): boolean {
  const said = withoutLayout(text);
  const matches = [...said.matchAll(new RegExp(pattern, 'gi'))];
  if (matches.length === 0) return false;
  const sent = messages.map(({ content }) => withoutLayout(content)).join('\n');
  return matches.some(({ 0: word, index }) => {
    const end = index + word.length;
    const sides = [
      index < CONTEXT ? undefined : said.slice(index - CONTEXT, end),
      end + CONTEXT > said.length ? undefined : said.slice(index, end + CONTEXT),
    ];
    return !sides.some((side) => side !== undefined && sent.includes(side));
  });
}

/** A quotation may be escaped, wrapped or in quotes. */
const withoutLayout = (text: string): string => text.replaceAll(/(?:\\[nrt"'\\]|[\s"'`])+/g, ' ');

/** What to say of an address without the version that the paths of most endpoints have; the classic slip. */
function versionHint({ baseUrl }: Asked): string {
  return /\/v\d/.test(new URL(baseUrl).pathname) ? '' : ', which usually ends in /v1 and here does not';
}

function named(code: string | undefined): string {
  return code === undefined ? '' : ` (${code})`;
}

function patience(retryAfterMs: number | undefined): Pick<Failure, 'retryAfterMs'> {
  return retryAfterMs === undefined ? {} : { retryAfterMs };
}
