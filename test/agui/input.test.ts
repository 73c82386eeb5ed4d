import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exchangeKind, readLeadingThreadId, readRunHead, readRunRequest, readThreadId } from '../../src/agui/input.ts';

describe('readRunRequest', () => {
  it('reads camelCase and snake_case alike', () => {
    const camel = readRunRequest({
      threadId: 't',
      runId: 'r',
      messages: [{ id: 'x', role: 'tool', toolCallId: 'c1', content: 'ok' }],
      forwardedProps: { command: { resume: true } },
    });
    const snake = readRunRequest({
      thread_id: 't',
      run_id: 'r',
      messages: [{ id: 'x', role: 'tool', tool_call_id: 'c1', content: 'ok' }],
      forwarded_props: { command: { resume: true } },
    });
    expect(camel).toMatchObject({ threadId: 't', runId: 'r', resumes: true, messages: [{ toolCallId: 'c1' }] });
    expect(snake).toEqual(camel);
  });

  it('takes RunAgentInput out of the single-route envelope', () => {
    const body = { method: 'agent/run', params: { agentId: 'a' }, body: { threadId: 't', messages: [] } };
    expect(readRunRequest(body)).toMatchObject({ threadId: 't', method: 'agent/run' });
  });

  it('leaves ids that are not said empty', () => {
    expect(readRunRequest({ messages: [{ role: 'user', content: 'hi' }] })).toMatchObject({ threadId: '', runId: '' });
    expect(readRunRequest({ threadId: 't', runId: null, messages: null })).toMatchObject({ threadId: 't', runId: '' });
  });

  it('derives ids of messages from what they say, so that the same history has the same ids', () => {
    const first = readRunRequest({ messages: [{ role: 'user', content: 'hi' }] });
    const second = readRunRequest({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'ho' },
      ],
    });
    expect(second?.messages[0]?.id).toBe(first?.messages[0]?.id);
    expect(second?.messages[1]?.id).not.toBe(first?.messages[0]?.id);
  });

  it.each([
    [
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      'ab',
      [],
    ],
    [
      [{ type: 'image', source: { type: 'data', value: 'AAAAAA==', mimeType: 'image/png' } }],
      '',
      [{ type: 'image', mimeType: 'image/png', bytes: 4 }],
    ],
    [
      [{ type: 'document', source: { type: 'url', value: 'https://a.test/b.pdf', mimeType: 'application/pdf' } }],
      '',
      [{ type: 'document', mimeType: 'application/pdf' }],
    ],
    [
      [{ type: 'binary', mimeType: 'audio/wav', data: 'AAAA' }],
      '',
      [{ type: 'binary', mimeType: 'audio/wav', bytes: 3 }],
    ],
    [['a', { type: 'text', text: 'b' }], 'ab', []],
    [{ note: 'x' }, '{"note":"x"}', []],
    [null, '', []],
  ])('reads the content %j', (content, text, attachments) => {
    const request = readRunRequest({ messages: [{ id: 'u1', role: 'user', content }] });
    expect(request?.messages).toMatchObject([{ text, attachments }]);
  });

  it('reads calls whose name and arguments stand beside the id', () => {
    const toolCalls = [{ id: 'c1', name: 'tides', args: { port: 'Oban' } }];
    expect(readRunRequest({ messages: [{ id: 'm', role: 'assistant', toolCalls }] })?.messages).toMatchObject([
      { calls: [{ id: 'c1', name: 'tides', arguments: '{"port":"Oban"}' }] },
    ]);
  });

  it.each([
    [{ resume: [{ interruptId: 'i', status: 'resolved' }] }, true],
    [{ resume: [] }, false],
    [{ forwardedProps: { command: { resume: 'yes' } } }, true],
    [{ forwardedProps: { command: {} } }, false],
    [{}, false],
  ])('sees whether %j answers an interrupt', (more, resumes) => {
    expect(readRunRequest({ threadId: 't', messages: [], ...more })?.resumes).toBe(resumes);
  });

  it('learns the name of the interrupted call from a legacy resume', () => {
    const interruptEvent = JSON.stringify({ toolCallId: 'c1', toolName: 'book', args: { berth: 7 } });
    const request = readRunRequest({ threadId: 't', forwardedProps: { command: { resume: 'ok', interruptEvent } } });
    expect(request?.interrupts).toEqual([{ id: 'c1', toolCallId: 'c1', toolName: 'book', args: { berth: 7 } }]);
  });

  it('is explicit about AG-UI when it names a thread', () => {
    expect(readRunRequest({ threadId: 't', messages: [] })?.isExplicit).toBe(true);
    expect(readRunRequest({ model: 'x', messages: [] })?.isExplicit).toBe(false);
    expect(readRunRequest([])).toBeUndefined();
    expect(readRunRequest(undefined)).toBeUndefined();
  });
});

describe('readRunHead', () => {
  it.each([
    { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'hi' }], resume: [{ interruptId: 'i' }] },
    { thread_id: 't', run_id: 'r', messages: [], forwarded_props: { command: { resume: true } } },
    { method: 'agent/connect', body: { threadId: 't', messages: [] } },
    { threadId: 't', messages: [], forwardedProps: { __proxiedMCPRequest: {} } },
    { threadId: null, messages: null },
    {},
  ])('says of %j what the whole reading says', (body) => {
    expect(readRunRequest(body)).toMatchObject({ ...readRunHead(body) });
  });

  it('is undefined for what is no JSON object', () => {
    expect([undefined, null, [], 'x'].map((body) => readRunHead(body))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('does not look into the messages', () => {
    const untouchable = new Proxy({}, { get: () => expect.unreachable(), ownKeys: () => expect.unreachable() });

    expect(readRunHead({ threadId: 't', messages: [untouchable] })).toMatchObject({ threadId: 't', hasMessages: true });
  });
});

describe('a thread that is named before anything else', () => {
  it('is told by the beginning, whatever its name and whatever follows', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 60, unit: 'binary' }), fc.nat(2), (threadId, indent) => {
        const text = JSON.stringify({ threadId, runId: 'r', messages: [] }, null, indent);
        const beginning = text.slice(0, text.lastIndexOf('"r"'));
        expect(readLeadingThreadId(beginning)).toBe(threadId);
      }),
    );
  });

  it.each([
    ['another member is first', '{"runId":"r","threadId":"t"}'],
    ['it is inside another object', '{"state":{"threadId":"t","runId":"r"}}'],
    ['it is cut', '{"threadId":"t'],
    ['what is behind it is not there', '{"threadId":"t"}'],
    ['it stands in front of an envelope', '{"threadId":"t","method":"agent/run","body":{"threadId":"u","runId":"r"}}'],
    ['it is empty', '{"threadId":"","runId":"r"}'],
    ['it is no text', '{"threadId":7,"runId":"r"}'],
    ['the name may be a second one', '{"thread_id":"t","runId":"r","threadId":"u"}'],
  ])('is not told when %s', (_, text) => {
    expect(readLeadingThreadId(text)).toBeUndefined();
  });
});

describe('what an exchange is to its conversation', () => {
  const said = [{ id: 'm', role: 'user', content: 'hi' }];

  it.each([
    ['/', { threadId: 't', messages: said }, 'run'],
    ['/run?x=/connect', { threadId: 't', messages: said }, 'run'],
    ['/', { threadId: 't', messages: [], resume: [{ interruptId: 'i' }] }, 'run'],
    ['/', { threadId: 't', messages: [] }, 'probe'],
    ['/connect', { threadId: 't', messages: said }, 'replay'],
    ['/agent/a/connect/', { threadId: 't', messages: said }, 'replay'],
    ['/', { method: 'agent/connect', body: { threadId: 't', messages: said } }, 'replay'],
    ['/suggest', { threadId: 't', messages: said }, 'auxiliary'],
    ['/', { threadId: 't', messages: said, forwardedProps: { __proxiedMCPRequest: {} } }, 'auxiliary'],
  ])('of a request to %s for %j before it is answered: %s', (path, body, kind) => {
    expect(exchangeKind(path, readRunHead(body), false)).toBe(kind);
  });
});

describe('the thread that the beginning of a body names', () => {
  it.each([
    ['first', '{"threadId":"real","messages":[{"id":"1","content":"wh'],
    ['in the other spelling', '{"thread_id":"real","messages":[{'],
    ['behind one in the state', '{"state":{"threadId":"inner"},"threadId":"real","messages":[{'],
    [
      'behind one in the messages',
      '{"messages":[{"threadId":"inner","content":[{"threadId":"inner"}]}],"threadId":"real","sta',
    ],
    [
      'in an envelope, behind its parameters',
      '{"method":"agent/run","params":{"threadId":"inner"},"body":{"threadId":"real","mes',
    ],
  ])('is found %s', (_, head) => {
    expect(readThreadId(head)).toBe('real');
  });

  it.each([
    ['it only stands in the state', '{"state":{"threadId":"inner","more":"'],
    ['it only stands in a text', '{"messages":[{"content":"\\"threadId\\":\\"inner\\"'],
    ['it is cut off', '{"threadId":"rea'],
  ])('is not told when %s', (_, head) => {
    expect(readThreadId(head)).toBeUndefined();
  });
});
