/** Pieces of a text that are kept before they are joined. */
const MOST_PIECES = 256;

/**
 * Adds to the end of a text that is kept in pieces. They are joined as they come: a hundred thousand at once would hold
 * everything up for milliseconds. The first is what earlier ones came to; to add to it copies nothing, however long it is.
 */
export function appendPiece(pieces: string[], piece: string): void {
  pieces.push(piece);
  if (pieces.length < MOST_PIECES) return;
  const [first = '', ...others] = pieces;
  pieces.length = 0;
  pieces.push(first + others.join(''));
}
