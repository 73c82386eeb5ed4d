import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startOtlpReceiver, type OtlpReceiver } from '../../examples/demo/otlp-receiver.ts';

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await startOtlpReceiver({ port: 0 });
});
afterEach(() => receiver[Symbol.asyncDispose]());

const BODY = JSON.stringify({
  resourceSpans: [
    {
      resource: { attributes: [] },
      scopeSpans: [
        {
          spans: [
            {
              name: 'evaluation topic_adherence',
              traceId: 'aa',
              spanId: 'bb',
              parentSpanId: 'cc',
              attributes: [
                { key: 'gen_ai.evaluation.score.value', value: { doubleValue: 0.5 } },
                { key: 'ag_ui.evaluation.revision', value: { intValue: '2' } },
                { key: 'gen_ai.agent.name', value: { stringValue: 'harbour' } },
              ],
              events: [{ name: 'gen_ai.evaluation.result', attributes: [] }],
            },
          ],
        },
      ],
    },
  ],
});

function send(body: string | Buffer, headers: Record<string, string>): Promise<Response> {
  return fetch(`${receiver.url}/v1/traces`, { method: 'POST', headers, body: new Uint8Array(Buffer.from(body)) });
}

describe('the OTLP receiver', () => {
  it.each([
    ['plain', BODY, {}],
    ['gzipped', gzipSync(BODY), { 'content-encoding': 'gzip' }],
  ])('keeps spans that come %s, with values in plain form', async (_, body, encoding) => {
    const response = await send(body, { 'content-type': 'application/json', ...encoding });
    expect(response.status).toBe(200);
    expect(receiver.spans()).toEqual([
      {
        name: 'evaluation topic_adherence',
        traceId: 'aa',
        spanId: 'bb',
        parentSpanId: 'cc',
        attributes: {
          'gen_ai.evaluation.score.value': 0.5,
          'ag_ui.evaluation.revision': 2,
          'gen_ai.agent.name': 'harbour',
        },
        events: [{ name: 'gen_ai.evaluation.result', attributes: {} }],
      },
    ]);
  });

  it('says what it does not take', async () => {
    expect((await send(BODY, { 'content-type': 'application/x-protobuf' })).status).toBe(415);
    expect((await send('{', { 'content-type': 'application/json' })).status).toBe(400);
    expect((await fetch(`${receiver.url}/v1/logs`, { method: 'POST' })).status).toBe(404);
    expect(receiver.spans()).toEqual([]);
  });
});
