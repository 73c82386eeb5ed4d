import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { EventType } from '@ag-ui/core';
import { EventEncoder } from '@ag-ui/encoder';

/** An agent that answers each run with one message; it waits for `hold` first when the user asks it to. */
export async function startTideAgent(hold: Promise<void> = Promise.resolve()) {
  const holding = Promise.withResolvers<void>();
  const seen: { readonly traceparent: string | undefined }[] = [];
  const server = createServer((request, response: ServerResponse) => {
    void (async () => {
      seen.push({ traceparent: request.headers['traceparent'] as string | undefined });
      const { threadId, runId, messages } = (await json(request)) as {
        threadId: string;
        runId: string;
        messages: { content: string }[];
      };
      const encoder = new EventEncoder();
      response.writeHead(200, { 'content-type': encoder.getContentType() });
      const send = (event: Parameters<typeof encoder.encode>[0]) => response.write(encoder.encode(event));
      send({ type: EventType.RUN_STARTED, threadId, runId });
      send({ type: EventType.TEXT_MESSAGE_START, messageId: `${runId}-m`, role: 'assistant' });
      if (messages.at(-1)?.content === 'take your time') {
        holding.resolve();
        await hold;
      }
      send({ type: EventType.TEXT_MESSAGE_CONTENT, messageId: `${runId}-m`, delta: 'High water is at 14:20.' });
      send({ type: EventType.TEXT_MESSAGE_END, messageId: `${runId}-m` });
      send({ type: EventType.RUN_FINISHED, threadId, runId });
      response.end();
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    seen,
    /** Resolves when a run waits for `hold`. */
    holding: holding.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
