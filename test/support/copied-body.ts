import type { Capture } from '../../src/agui/capture.ts';

/** What was copied of a response, in one piece; empty when there was none. */
export const copiedBody = (capture: Capture | undefined): Buffer => Buffer.concat(capture?.response?.body ?? []);
