/**
 * The known name that an unknown one most likely stood for: the fewest edits away, at most a third of its length.
 * Ties go to the first.
 */
export function nearest(unknown: string, known: readonly string[]): string | undefined {
  const wanted = unknown.toLowerCase();
  let best: { readonly name: string; readonly edits: number } | undefined;
  for (const name of known) {
    const edits = editDistance(wanted, name.toLowerCase());
    if (edits <= Math.max(1, Math.floor(name.length / 3)) && edits < (best?.edits ?? Infinity)) best = { name, edits };
  }
  return best?.name;
}

/** Edits that turn `a` into `b`: insertions, deletions, substitutions and swaps of neighbours (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = at(previous, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      let edits = Math.min(substitution, at(previous, column) + 1, at(current, column - 1) + 1);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) edits = Math.min(edits, at(beforePrevious, column - 2) + 1);
      current.push(edits);
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, b.length);
}

const at = (row: readonly number[], column: number) => row[column] ?? Infinity;
