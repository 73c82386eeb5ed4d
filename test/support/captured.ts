import type { Capture } from '../../src/agui/capture.ts';

/** What was copied of a response, in one piece; empty when there was none. */
export const copiedBody = (capture: Capture | undefined): Buffer =>
  Buffer.concat([...(capture?.response?.body ?? [])].map(({ bytes }) => bytes));

/** A copy of a capture, whose bytes are only lent. */
export function keptCapture({ response, ...rest }: Capture): Capture {
  const body = [...(response?.body ?? [])];
  return structuredClone({ ...rest, ...(response && { response: { ...response, body } }) });
}
