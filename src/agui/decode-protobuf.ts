import { AGUIUnknownEventTypeError, decode } from '@ag-ui/proto';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import { tryQuietly } from '../lib/quiet-error.ts';

/** What one frame of the binary transport holds. `unknown`: an event of a later AG-UI than the decoder's. */
export type DecodedFrame =
  | { readonly kind: 'event'; readonly event: JsonObject }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'undecodable'; readonly cause: string };

/**
 * Decodes the bytes of one frame. Never throws. In one step: the library has no smaller ones. Costliest for their bytes are
 * small values and unknown fields, also where no event comes of them.
 */
export function decodeFrame(frame: Uint8Array): DecodedFrame {
  // The smallest frame, so the one that most fit in: not worth the decoder's error.
  if (frame.length === 0) return { kind: 'undecodable', cause: 'no event in it' };
  return tryQuietly<DecodedFrame>(
    () => {
      const event: unknown = decode(frame);
      return isJsonObject(event) ? { kind: 'event', event } : { kind: 'undecodable', cause: 'no event in it' };
    },
    (error) => {
      if (error instanceof AGUIUnknownEventTypeError) return { kind: 'unknown' };
      return { kind: 'undecodable', cause: error instanceof Error ? error.message : String(error) };
    },
  );
}
