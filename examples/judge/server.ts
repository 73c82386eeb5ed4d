import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { listen, type RunningServer } from '../lib/listen.ts';
import { readRecord } from './record.ts';
import { ANSWERS, JUDGE_NAME } from './rules.ts';

/** The part of a chat completion request that is read. */
const chatRequest = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
  response_format: z.object({ type: z.literal('json_schema'), json_schema: z.object({ name: z.string() }) }),
});

/**
 * An OpenAI-compatible endpoint with a script in place of a model. It answers `POST …/chat/completions` for the schemas
 * in rules.ts, always as `scripted-judge`, whatever model is asked for.
 */
export function startScriptedJudge({ port, host }: { port: number; host?: string }): Promise<RunningServer> {
  let answered = 0;
  const server = createServer((request, response) => {
    respond(request, response, () => ++answered).catch((error: unknown) => {
      console.error(`${JUDGE_NAME}:`, error);
      response.destroy();
    });
  });
  return listen(server, port, host);
}

async function respond(request: IncomingMessage, response: ServerResponse, next: () => number): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://judge').pathname;
  if (request.method === 'GET') {
    send(response, 200, { object: 'list', data: [{ id: JUDGE_NAME, object: 'model', owned_by: 'agui-sidecar demo' }] });
    return;
  }
  if (request.method !== 'POST' || !path.endsWith('/chat/completions')) {
    refuse(response, 404, `${request.method} ${path} is not served; POST …/chat/completions is.`);
    return;
  }
  const asked = chatRequest.safeParse(await json(request).catch(() => undefined));
  if (!asked.success) {
    refuse(
      response,
      400,
      `Expected messages of text and a json_schema response_format: ${z.prettifyError(asked.error)}`,
    );
    return;
  }
  const { messages, response_format: format } = asked.data;
  const prompt = messages.map(({ content }) => content).join('\n');
  const answer = ANSWERS[format.json_schema.name];
  if (answer === undefined) {
    refuse(
      response,
      400,
      `No script for schema "${format.json_schema.name}"; there is one for ${Object.keys(ANSWERS).join(', ')}.`,
    );
    return;
  }
  const record = readRecord(prompt);
  if (record === undefined) {
    refuse(response, 400, 'The prompt holds no record of a conversation in the form the sidecar writes.');
    return;
  }
  const content = JSON.stringify(answer(record));
  const usage = { prompt_tokens: roughTokens(prompt), completion_tokens: roughTokens(content) };
  send(response, 200, {
    id: `chatcmpl-scripted-${next()}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: JUDGE_NAME,
    choices: [{ index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop' }],
    usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens },
  });
}

/** Four characters a token: a script has no tokens, and the demo's numbers should be of a likely size. */
const roughTokens = (text: string): number => Math.ceil(text.length / 4);

function refuse(response: ServerResponse, status: number, message: string): void {
  send(response, status, {
    error: { message: `${JUDGE_NAME}: ${message}`, type: 'invalid_request_error', param: null, code: null },
  });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
