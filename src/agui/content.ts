import type { Attachment } from '../conversation/message.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import { tryQuietly } from '../lib/quiet-error.ts';
import { type NoteLeniency, readLeniently, unnoticed } from './lenient.ts';
import { nestsTooDeep } from './tool-arguments.ts';

/** A message's content, reduced to its text and to what else was attached. */
export interface Content {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** It was neither text nor a list of parts. */
  readonly malformed: boolean;
}

/** Reads text, a list of content parts (1.0 and the older `binary`), or nothing. The bytes of a part are never kept. */
export function readContent(value: JsonValue | undefined, note: NoteLeniency = unnoticed): Content {
  if (typeof value === 'string') return { text: value, attachments: [], malformed: false };
  if (value === undefined || value === null) return { text: '', attachments: [], malformed: false };
  if (!Array.isArray(value)) return { text: jsonText(value), attachments: [], malformed: true };

  const texts: string[] = [];
  const attachments: Attachment[] = [];
  let malformed = false;
  for (const item of value as readonly JsonValue[]) {
    if (typeof item === 'string') texts.push(item);
    else if (isJsonObject(item)) {
      const part = readLeniently(item, note);
      if (typeof part.text === 'string') texts.push(part.text);
      else if (typeof part.type === 'string') attachments.push(readAttachment(part, part.type, note));
      else malformed = true;
    } else malformed = true;
  }
  return { text: texts.join(''), attachments, malformed };
}

function readAttachment(part: JsonObject, type: string, note: NoteLeniency): Attachment {
  const source = isJsonObject(part.source) ? readLeniently(part.source, note) : part;
  const { mimeType } = source;
  const base64 = source === part ? part.data : source.type === 'data' ? source.value : undefined;
  return {
    type,
    ...(typeof mimeType === 'string' ? { mimeType } : {}),
    ...(typeof base64 === 'string' ? { bytes: decodedLength(base64) } : {}),
  };
}

function decodedLength(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.floor(((base64.length - padding) * 3) / 4);
}

/** The value as JSON text. */
export function jsonText(value: JsonValue): string {
  // Nested deeper than anyone reads, or than the stack allows: there is no text worth keeping.
  return tryQuietly(
    () => {
      const text = JSON.stringify(value);
      return nestsTooDeep(text) ? '' : text;
    },
    () => '',
  );
}
