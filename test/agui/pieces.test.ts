import { expect, it } from 'vitest';
import { appendPiece } from '../../src/agui/pieces.ts';

it('keeps a text whole in few pieces, however many come', () => {
  const pieces: string[] = [];
  let text = '';
  for (let at = 0; at < 5000; at += 1) {
    const piece = `${at} `;
    text += piece;
    appendPiece(pieces, piece);
    expect(pieces.length).toBeLessThanOrEqual(256);
    if (at % 97 === 0) expect(pieces.join('')).toBe(text);
  }
  expect(pieces.join('')).toBe(text);
});
