const FIELD = '"timestamp":';

/**
 * Reads the time of emission of each event that a chunk completes. It looks for the field alone, which the agent puts last:
 * a parser would cost the client more than what it measures.
 */
export function eventTimes(): (chunk: Buffer) => number[] {
  let rest = '';
  return (chunk) => {
    const text = rest + chunk.toString('latin1');
    const times: number[] = [];
    let read = 0;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', read)) {
      const field = text.lastIndexOf(FIELD, end);
      if (field >= read) times.push(Number.parseFloat(text.slice(field + FIELD.length, end)));
      read = end + 2;
    }
    rest = text.slice(read);
    return times;
  };
}
