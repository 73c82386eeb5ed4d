import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readCapture } from '../../src/agui/read-capture.ts';
import { isWaiting } from '../../src/conversation/completion.ts';
import type { Conversation } from '../../src/conversation/conversation.ts';
import { mergingExchange } from '../../src/conversation/merge-runs.ts';
import { atOnce } from '../../src/lib/steps.ts';
import { hasSharedFixtures, SHARED_FIXTURES } from '../support/shared.ts';

/** The conversation that real servers' streams come to, one after the other, and what each was to it. */
async function thread(...names: readonly string[]) {
  let conversation: Conversation | undefined;
  const kinds: string[] = [];
  for (const name of names) {
    const file = (ending: string) => readFileSync(new URL(`captures/${name}.${ending}`, SHARED_FIXTURES));
    const { url, request, status, headers } = JSON.parse(file('meta.json').toString());
    const exchange = await readCapture(
      {
        agent: 'agent',
        method: 'POST',
        path: new URL(url).pathname,
        request: {
          contentType: 'application/json',
          contentEncoding: '',
          body: Buffer.from(JSON.stringify(request.body)),
        },
        response: {
          status,
          contentType: headers['content-type'],
          contentEncoding: '',
          body: [{ bytes: file('sse') }],
        },
        truncated: false,
        transport: 'complete',
        startedAt: 1,
        endedAt: 2,
        trace: { traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 },
      },
      { maxEventBytes: 2 ** 20, maxDecodedBytes: 2 ** 24 },
    );
    if (!exchange) throw new Error(`${name} is no AG-UI exchange`);
    const merge = atOnce(mergingExchange(conversation, exchange));
    conversation = merge.conversation;
    kinds.push(merge.kind);
  }
  if (!conversation) throw new Error('no capture was named');
  return { conversation, kinds, roles: conversation.messages.map(({ role }) => role) };
}

describe.skipIf(!hasSharedFixtures)('threads of real servers', () => {
  it('gives an approved call its name and arguments from the interrupt that asked', async () => {
    expect(isWaiting((await thread('mastra-interrupt-run1')).conversation)).toBe(true);

    const { conversation, roles } = await thread('mastra-interrupt-run1', 'mastra-interrupt-run2');
    expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(conversation.messages[1]).toMatchObject({
      toolCalls: [{ name: 'bookBerth', args: { ship: 'Petrel' }, state: 'answered' }],
    });
    expect(isWaiting(conversation)).toBe(false);
  });

  it('completes a front-end tool with the result in the next request', async () => {
    expect(isWaiting((await thread('mastra-frontend-tool-run1')).conversation)).toBe(true);

    const { roles, kinds } = await thread('mastra-frontend-tool-run1', 'mastra-frontend-tool-run2');
    expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(kinds).toEqual(['appended', 'appended']);
  });

  it.each([
    ['mastra-tool', 'mastra-tool-turn2'],
    ['copilot-builtin-tool', 'copilot-builtin-tool-turn2'],
  ])('appends the second turn of %s', async (first, second) => {
    const { roles, kinds } = await thread(first, second);
    expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant']);
    expect(kinds).toEqual(['appended', 'appended']);
  });

  it('does not take a replay for a turn', async () => {
    const { conversation, kinds } = await thread(
      'copilot-builtin-tool',
      'copilot-builtin-tool-turn2',
      'copilot-connect-replay',
    );
    expect(kinds.at(-1)).toBe('replayed');
    expect(conversation.runs).toHaveLength(2);
  });
});
