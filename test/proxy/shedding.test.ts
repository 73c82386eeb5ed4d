import { expect, it } from 'vitest';
import { copiedBody } from '../support/captured.ts';
import { ask, bodyOf, httpAgent, POST_JSON, RUN_REQUEST, startProxy } from './support.ts';

const STREAM = 'data: {"type":"RUN_STARTED"}\n\n'.repeat(3);

/** A sidecar that runs late whenever `late` says so. */
async function startLate(late: () => boolean) {
  const agent = await httpAgent(async (request, response) => {
    await bodyOf(request);
    const type = request.url === '/page' ? 'text/html' : 'text/event-stream';
    response.writeHead(200, { 'content-type': type }).end(STREAM);
  });
  let shed = 0;
  const sidecar = await startProxy(agent.url, { isOverloaded: late, onTapShed: () => (shed += 1) });
  return { ...sidecar, shed: () => shed };
}

it('an exchange that begins while the process runs late passes whole; of it only the beginning of the request is kept', async () => {
  const sidecar = await startLate(() => true);
  const { body } = await ask(sidecar.url, POST_JSON, RUN_REQUEST);
  const { capture } = await sidecar.ended();

  expect(body.toString()).toBe(STREAM);
  expect(capture).toMatchObject({ truncated: true, request: { head: new Uint8Array(Buffer.from(RUN_REQUEST)) } });
  expect(capture?.request.body).toBeUndefined();
  expect(copiedBody(capture)).toHaveLength(0);
  expect(sidecar.droppedBytes()).toBe(RUN_REQUEST.length + STREAM.length);
  expect(sidecar.shed()).toBe(1);
});

it('what would not have been copied is not counted as shed', async () => {
  const sidecar = await startLate(() => true);
  await ask(`${sidecar.url}/page`);
  await sidecar.ended();

  expect([sidecar.shed(), sidecar.droppedBytes()]).toEqual([0, 0]);
});

it('an exchange that began in time is copied to its end, and so is the next once the process keeps up again', async () => {
  const answers = [false, true, false];
  const sidecar = await startLate(() => answers.shift() ?? false);
  for (const index of [0, 1, 2]) {
    await ask(sidecar.url, POST_JSON, RUN_REQUEST);
    await sidecar.ended(index);
  }

  const truncated = await Promise.all([0, 1, 2].map(async (index) => (await sidecar.ended(index)).capture?.truncated));
  expect(truncated).toEqual([false, true, false]);
  expect(sidecar.shed()).toBe(1);
});
