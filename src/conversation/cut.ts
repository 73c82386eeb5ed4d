/** Keeps two thirds from the head and a third from the tail, since an outcome tends to stand at either end. */
export function cutMiddle(content: string, mark: string, maxCharacters: number): string {
  if (content.length <= maxCharacters) return content;
  const head = wholeCharacters(content.slice(0, Math.ceil((maxCharacters * 2) / 3)));
  const tail = content.slice(content.length - Math.floor(maxCharacters / 3)).replace(/^[\uDC00-\uDFFF]/, '');
  const left = content.length - head.length - tail.length;
  return `${head}\n${mark} [cut: ${left} characters are left out here]\n${tail}`;
}

/** Drops half a surrogate pair at the end. */
const wholeCharacters = (text: string): string => text.replace(/[\uD800-\uDBFF]$/, '');

/** Blocks of text with a gap, a half-open range of the indices there were. */
interface Gapped {
  readonly text: string;
  readonly gap?: readonly [number, number];
}

/** Room for the line that tells of a gap. */
const NOTE_CHARACTERS = 160;

/**
 * Leaves out blocks from the middle so that the rest fits, with a note in their place. Blocks are taken from the head and
 * from the tail in turn, and the first and the last always stay: those two have to fit, beside a note of 160 characters.
 *
 * @param describe the note, a line with its end, for the gap and the characters in it.
 */
export function leaveOutMiddle(
  blocks: readonly string[],
  maxCharacters: number,
  describe: (from: number, to: number, characters: number) => string,
): Gapped {
  const gap = middleToLeaveOut(
    blocks.map(({ length }) => length),
    maxCharacters,
  );
  if (gap === undefined) return { text: blocks.join('') };
  const characters = blocks.slice(...gap).reduce((sum, { length }) => sum + length, 0);
  const note = describe(...gap, characters);
  return { text: [...blocks.slice(0, gap[0]), note, ...blocks.slice(gap[1])].join(''), gap };
}

function middleToLeaveOut(lengths: readonly number[], maxCharacters: number): readonly [number, number] | undefined {
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (total <= maxCharacters || lengths.length <= 2) return undefined;
  const room = maxCharacters - NOTE_CHARACTERS;
  let [head, tail] = [1, lengths.length - 1];
  let used = (lengths[0] ?? 0) + (lengths[tail] ?? 0);
  for (let fromHead = false; head < tail; fromHead = !fromHead) {
    const next = lengths[fromHead ? head : tail - 1] ?? 0;
    if (used + next > room) break;
    used += next;
    if (fromHead) head++;
    else tail--;
  }
  return head < tail ? [head, tail] : undefined;
}
