/** Where a topic was raised: a turn, and words of it. */
export interface PlacedTopic {
  readonly turn: number;
  /** Words of the turn. */
  readonly quote: string;
}

export interface TopicPairing<Labelled, Judged> {
  readonly pairs: readonly (readonly [Labelled, Judged])[];
  /** Labelled, and not found by the judge. */
  readonly missed: readonly Labelled[];
  /** Found by the judge, and not labelled. */
  readonly invented: readonly Judged[];
}

/**
 * Pairs labelled topics with those a judge found: by turn, and where a turn raises several by how near to each other the
 * quotes stand in it. The nearest two are paired first.
 *
 * @param textOf the text of a turn.
 */
export function pairTopics<Labelled extends PlacedTopic, Judged extends PlacedTopic>(
  labelled: readonly Labelled[],
  judged: readonly Judged[],
  textOf: (turn: number) => string,
): TopicPairing<Labelled, Judged> {
  const candidates = labelled
    .flatMap((label) =>
      judged
        .filter(({ turn }) => turn === label.turn)
        .map((found) => ({ label, found, distance: distance(textOf(label.turn), label.quote, found.quote) })),
    )
    .toSorted((one, other) => one.distance - other.distance);
  const pairs: (readonly [Labelled, Judged])[] = [];
  const taken = new Set<Labelled | Judged>();
  for (const { label, found } of candidates) {
    if (taken.has(label) || taken.has(found)) continue;
    taken.add(label).add(found);
    pairs.push([label, found]);
  }
  return {
    pairs,
    missed: labelled.filter((label) => !taken.has(label)),
    invented: judged.filter((found) => !taken.has(found)),
  };
}

/** Characters between two quotes of one text; less than 0, by the length they share, where they overlap. */
function distance(text: string, one: string, other: string): number {
  const [first, second] = [text.indexOf(one), text.indexOf(other)];
  if (first < 0 || second < 0) return Number.MAX_SAFE_INTEGER;
  return Math.max(first, second) - Math.min(first + one.length, second + other.length);
}
