import { describe, expect, it } from 'vitest';
import { AG_UI_STREAM_TYPES, mediaType } from '../../src/lib/media-type.ts';

describe('a media type', () => {
  it.each([
    ['text/event-stream', 'text/event-stream'],
    ['Text/Event-Stream;charset=utf-8', 'text/event-stream'],
    [' application/json ; charset=utf-8; a=b', 'application/json'],
    ['', ''],
    [undefined, ''],
  ])('of %j is %j', (contentType, expected) => {
    expect(mediaType(contentType)).toBe(expected);
  });

  it.each([
    ['text/event-stream', 'sse'],
    ['application/vnd.ag-ui.event+proto', 'protobuf'],
    ['application/json', undefined],
    ['constructor', undefined],
  ])('%s is of an AG-UI stream framed as %s', (type, format) => {
    expect(AG_UI_STREAM_TYPES.get(type)).toBe(format);
  });
});
