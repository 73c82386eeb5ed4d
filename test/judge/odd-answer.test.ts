import { describe, expect, it } from 'vitest';
import { agentThat } from '../proxy/support.ts';
import { outcomes, setUp } from './questions.ts';

/** A judge in front of an endpoint that does `answer` with the connection of each request, and the heads that came. */
async function setUpAt(answer: Parameters<typeof agentThat>[0]) {
  const heads: string[] = [];
  const endpoint = await agentThat((socket, head) => {
    heads.push(head);
    return answer(socket, head);
  });
  return { bench: await setUp({}, { baseUrl: `${endpoint.url}/v1`, retries: 0 }), heads };
}

describe('an endpoint that does not speak as one should', () => {
  it.each<[string, Parameters<typeof agentThat>[0]]>([
    [
      'switches to a protocol that nobody asked for',
      (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    ],
    ['closes without an answer', (socket) => socket.end()],
    [
      'sends interim answers without end',
      (socket) => {
        const write = (): void => {
          while (!socket.destroyed && socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n'));
        };
        socket.on('drain', write);
        write();
      },
    ],
  ])('fails its question, which does not hang: one that %s', async (_what, answer) => {
    const { bench } = await setUpAt(answer);
    await using _ = bench;

    expect(await bench.fail()).toMatchObject({ type: 'unavailable' });
    expect(outcomes(bench.calls)).toEqual(['unavailable']);
  });

  it('is asked for an answer without a coding', async () => {
    const { bench, heads } = await setUpAt((socket) => socket.end('HTTP/1.1 500 No\r\nConnection: close\r\n\r\n'));
    await using _ = bench;
    await bench.fail();

    expect(heads[0]?.toLowerCase()).toContain('\r\naccept-encoding: identity\r\n');
  });
});
