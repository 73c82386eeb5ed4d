import { createParser, type ParserConfig } from 'eventsource-parser';
import { expect, it, vi } from 'vitest';
import { createSseDecoder } from '../../src/agui/decode-sse.ts';

vi.mock(import('eventsource-parser'), async (importOriginal) => {
  const original = await importOriginal();
  return {
    ...original,
    createParser: vi.fn<(config: ParserConfig) => ReturnType<typeof createParser>>(original.createParser),
  };
});

it('has no error made for lines that are no fields: each would cost a thousand times its line', () => {
  const names: (string | undefined)[] = [];
  const decoder = createSseDecoder({
    maxEventLength: 100,
    onEvent: ({ name }) => names.push(name),
    onCarriageReturn: () => {},
    onTooLarge: () => names.push('too large'),
  });
  decoder.push(Buffer.from(`${'x\n'.repeat(5000)}retry: never\nevent: e\ndata: 1\n\n`));
  decoder.end();

  expect(names).toEqual(['e']);
  expect(vi.mocked(createParser)).toHaveBeenCalledOnce();
  expect(vi.mocked(createParser).mock.calls[0]?.[0]).not.toHaveProperty('onError');
});
