import { describe, expect, it } from 'vitest';
import { FREE, question, setUp } from './questions.ts';

const formats = (bench: Awaited<ReturnType<typeof setUp>>): readonly string[] =>
  bench.server.requests.map(({ format }) => format);

describe('the reply format', () => {
  it('steps down to a call of a function named like the schema', async () => {
    await using bench = await setUp({ scripts: { berth: FREE }, refuses: ['json_schema'] });
    await expect(bench.ask()).resolves.toEqual(FREE);
    expect(formats(bench)).toEqual(['json_schema', 'tool']);
    const body = bench.server.requests[1]?.body;
    expect(body).not.toHaveProperty('response_format');
    expect(body).toMatchObject({
      tools: [{ type: 'function', function: { name: 'berth', parameters: { required: ['berth', 'free'] } } }],
      tool_choice: { type: 'function', function: { name: 'berth' } },
    });
  });

  it('steps down to JSON mode, with the schema in the prompt', async () => {
    await using bench = await setUp({ scripts: { berth: FREE }, refuses: ['json_schema', 'tool'] });
    await expect(bench.ask()).resolves.toEqual(FREE);
    expect(formats(bench)).toEqual(['json_schema', 'tool', 'json']);
    const last = bench.server.requests[2];
    expect(last?.body['response_format']).toEqual({ type: 'json_object' });
    expect(last?.messages).toHaveLength(2);
    expect(last?.messages[0]?.content).toMatch(
      /^You keep the berths of a harbour\.\n[^]*\nSchema: berth\n\{"type":"object"/,
    );
  });

  it('brings a system message of its own when the question has none', async () => {
    await using bench = await setUp({ scripts: { berth: FREE }, refuses: ['json_schema', 'tool'] });
    await bench.ask({ ...question, messages: question.messages.slice(1) });
    expect(bench.server.requests[2]?.messages.map(({ role }) => role)).toEqual(['system', 'user']);
  });

  it('is remembered', async () => {
    await using bench = await setUp({ scripts: { berth: FREE }, refuses: ['json_schema', 'tool'] });
    await bench.ask();
    await bench.ask();
    expect(formats(bench)).toEqual(['json_schema', 'tool', 'json', 'json']);
  });

  it('is told with every call, of the refused requests too', async () => {
    await using bench = await setUp({ scripts: { berth: FREE }, refuses: ['json_schema'] });
    await bench.ask();
    expect(bench.calls.map(({ format, outcome }) => [format, outcome])).toEqual([
      ['json_schema', 'unavailable'],
      ['tool', 'success'],
    ]);
  });

  it('does not use up the retries', async () => {
    await using bench = await setUp({ scripts: { berth: FREE }, refuses: ['json_schema', 'tool'] }, { retries: 0 });
    await expect(bench.ask()).resolves.toEqual(FREE);
  });

  it('is found out by the first question alone, while others wait', async () => {
    await using bench = await setUp({ scripts: { berth: FREE }, refuses: ['json_schema', 'tool'] });
    await Promise.all(Array.from({ length: 6 }, () => bench.ask()));
    expect(formats(bench)).toEqual(['json_schema', 'tool', 'json', 'json', 'json', 'json', 'json', 'json']);
  });

  it('does not keep others waiting for a question that failed', async () => {
    let served = 0;
    await using bench = await setUp({
      scripts: { berth: () => (++served === 1 ? { status: 413 } : { value: FREE }) },
    });
    const settled = await Promise.allSettled([bench.ask(), bench.ask(), bench.ask()]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  });

  it('lets a question that waits leave when it is aborted', async () => {
    const hold = Promise.withResolvers<void>();
    await using bench = await setUp({ scripts: { berth: () => hold.promise.then(() => ({ value: FREE })) } });
    const first = bench.ask();
    await bench.server.received(1);
    const leave = new AbortController();
    const second = bench.ask(question, leave.signal);
    leave.abort(new Error('no longer wanted'));
    await expect(second).rejects.toThrow('no longer wanted');
    hold.resolve();
    await expect(first).resolves.toEqual(FREE);
    expect(bench.server.requests).toHaveLength(1);
  });

  it('fails as unavailable when the endpoint takes none', async () => {
    await using bench = await setUp({ scripts: { berth: FREE }, refuses: ['json_schema', 'tool', 'json'] });
    await expect(bench.fail()).resolves.toMatchObject({ type: 'unavailable' });
    expect(formats(bench)).toEqual(['json_schema', 'tool', 'json']);
  });

  it.each([
    [
      'a validation error of its own shape',
      422,
      '{"detail":[{"loc":["body","response_format"],"msg":"extra fields not permitted"}]}',
    ],
    ['an error without a wrapper', 400, '{"object":"error","message":"guided decoding is not available","code":400}'],
    ['an error as text', 400, '{"error":"json_schema is not supported"}'],
    ['no model that can', 404, '{"error":{"message":"No endpoints found that support structured outputs","code":404}}'],
  ])('steps down when it is refused with %s', async (_, status, raw) => {
    await using bench = await setUp({
      scripts: {
        berth: ({ format }) =>
          format === 'json_schema' ? { raw, status, contentType: 'application/json' } : { value: FREE },
      },
    });
    await expect(bench.ask()).resolves.toEqual(FREE);
    expect(formats(bench)).toEqual(['json_schema', 'tool']);
  });

  it.each([
    ['another parameter', 400, { message: "Unsupported parameter: 'temperature'", param: 'temperature' }],
    ['a model that is not there', 404, { message: 'The model `keeper-1` does not exist', code: 'model_not_found' }],
    [
      'the length, though it speaks of functions',
      400,
      {
        message:
          'maximum context length is 8192 tokens, you sent 9000 in the messages and functions, response_format included',
      },
    ],
  ])('stays when what is refused is %s', async (_, status, error) => {
    await using bench = await setUp({ scripts: { berth: () => ({ status, error }) } });
    await bench.fail();
    expect(formats(bench)).toEqual(['json_schema']);
  });

  it('never steps down once a format was accepted, whatever an error sounds like', async () => {
    const sounds = { status: 400, error: { message: 'response_format json_schema is not supported' } };
    await using bench = await setUp({ scripts: { berth: [{ value: FREE }, sounds, { value: FREE }] } });
    await bench.ask();
    await expect(bench.fail()).resolves.toMatchObject({ type: 'unavailable' });
    await expect(bench.ask()).resolves.toEqual(FREE);
    expect(formats(bench)).toEqual(['json_schema', 'json_schema', 'json_schema']);
  });

  it.each([
    ['the schema', 'json_schema', { message: 'Invalid schema', param: 'response_format' }],
    ['the schema inside', 'json_schema', { message: 'no', param: 'response_format.json_schema.schema' }],
    ['its format', 'json_schema', { message: 'no', code: 'unsupported_response_format' }],
    ['tools', 'tool', { message: 'no', param: 'tool_choice' }],
  ])('steps down when the error names %s', async (_, refused, error) => {
    await using bench = await setUp({
      scripts: { berth: ({ format }) => (format === refused ? { status: 400, error } : { value: FREE }) },
      refuses: refused === 'tool' ? ['json_schema'] : [],
    });
    await expect(bench.ask()).resolves.toEqual(FREE);
    expect(formats(bench).at(-1)).toBe(refused === 'tool' ? 'json' : 'tool');
  });

  it.each([
    [400, { message: 'unsupported' }],
    [400, {}],
    [415, { message: 'no' }],
    [422, { message: 'Extra inputs are not permitted' }],
    [501, { message: 'no' }],
    [500, { message: 'response_format json_schema is not supported' }],
  ])('steps down when the endpoint does not say what it refuses: %i %o', async (status, error) => {
    await using bench = await setUp({
      scripts: { berth: ({ format }) => (format === 'json' ? { value: FREE } : { status, error }) },
      refuses: status === 500 ? ['tool'] : [],
    });
    await expect(bench.ask()).resolves.toEqual(FREE);
    await expect(bench.ask()).resolves.toEqual(FREE);
    expect(formats(bench)).toEqual(['json_schema', 'tool', 'json', 'json']);
  });

  it('begins anew with the next question when no format was taken', async () => {
    let refuses = true;
    await using bench = await setUp({ scripts: { berth: () => (refuses ? { status: 400 } : { value: FREE }) } });
    await bench.fail();
    refuses = false;
    await expect(bench.ask()).resolves.toEqual(FREE);
    expect(formats(bench)).toEqual(['json_schema', 'tool', 'json', 'json_schema']);
  });

  it('asks no second time for a question that has one request, unless its format was refused in words', async () => {
    await using vague = await setUp({ scripts: { berth: () => ({ status: 400 }) } });
    await vague.fail({ ...question, repair: false });
    expect(formats(vague)).toEqual(['json_schema']);
    await using failing = await setUp({ scripts: { berth: () => ({ status: 503 }) } });
    await failing.fail({ ...question, repair: false });
    expect(failing.server.requests).toHaveLength(1);
    await using plain = await setUp({ scripts: { berth: FREE }, refuses: ['json_schema'] });
    await expect(plain.ask({ ...question, repair: false })).resolves.toEqual(FREE);
  });

  it('stays when the error names another part of the request, whatever it says of it', async () => {
    const error = { message: 'Invalid schema: response_format cannot be read', param: 'messages' };
    await using bench = await setUp({ scripts: { berth: () => ({ status: 400, error }) } });
    await bench.fail();
    expect(formats(bench)).toEqual(['json_schema']);
  });

  describe('an error that quotes the conversation', () => {
    const content =
      'Why was my "json_schema" flagged by moderation?\nThe tool says: response_format is not supported by the context window.';
    const asked = { ...question, messages: [{ role: 'user', content }] as const };

    it.each([
      ['whole', `could not parse: ${content}`],
      ['as JSON', `could not parse ${JSON.stringify({ role: 'user', content })}`],
      ['its beginning', `could not parse: ${content.slice(0, 60)}…`],
      ['its end', `could not parse: …${content.slice(40)}`],
    ])('%s is read by its own words alone', async (_, message) => {
      await using bench = await setUp({ scripts: { berth: () => ({ status: 400, error: { message } }) } });
      await expect(bench.fail(asked)).resolves.toMatchObject({ type: 'unavailable' });
      // Read for what it says itself, it says nothing; so it may be about the format.
      expect(formats(bench)).toEqual(['json_schema', 'tool', 'json']);
    });

    it.each([
      [`flagged by our moderation: ${content}`, 'refused', 1],
      [`maximum context length is 10: ${content}`, 'context_too_long', 1],
      [`json_schema is not supported: ${content}`, 'unavailable', 3],
    ])('still says what it says: %s', async (message, type, requests) => {
      await using bench = await setUp({
        scripts: {
          berth: ({ format }) =>
            format === 'json_schema' ? { status: 400, error: { message } } : { status: 400, error: { message: 'no' } },
        },
      });
      await expect(bench.fail(asked)).resolves.toMatchObject({ type });
      expect(bench.server.requests).toHaveLength(requests);
    });
  });

  it('takes an answer that comes as content although a function call was asked for', async () => {
    await using bench = await setUp({
      scripts: {
        berth: () => ({
          raw: JSON.stringify({ choices: [{ message: { content: JSON.stringify(FREE) } }] }),
          contentType: 'application/json',
        }),
      },
      refuses: ['json_schema'],
    });
    await expect(bench.ask()).resolves.toEqual(FREE);
  });
});
