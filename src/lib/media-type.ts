/** The media type alone, in lower case: `text/event-stream` of `Text/Event-Stream; charset=utf-8`. Empty when absent. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/** The media types of AG-UI streams, each with how its events are framed. */
export const AG_UI_STREAM_TYPES: ReadonlyMap<string, 'sse' | 'protobuf'> = new Map([
  ['text/event-stream', 'sse'],
  ['application/vnd.ag-ui.event+proto', 'protobuf'],
]);
