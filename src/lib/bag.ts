/** Things that come and go, in no order. */
export interface Bag<Item> {
  readonly size: () => number;
  /** The returned function takes the item out; a second call does nothing. */
  readonly add: (item: Item) => () => void;
  /** Those that are in it now; it may change meanwhile. */
  readonly items: () => readonly Item[];
}

/**
 * In place of a Set for what comes and goes with every request. V8 makes a Set a new table every few changes, and the old one
 * keeps a pointer to the new and what it held: once one of them has outlived its youth, all that was ever in the tables
 * behind it lives until the next full collection.
 */
export function createBag<Item>(): Bag<Item> {
  const places: { readonly item: Item; at: number }[] = [];
  return {
    size: () => places.length,
    items: () => places.map(({ item }) => item),
    add(item) {
      const place = { item, at: places.length };
      places.push(place);
      return () => {
        if (places[place.at] !== place) return;
        const last = places.pop();
        if (!last || last === place) return;
        last.at = place.at;
        places[place.at] = last;
      };
    },
  };
}
