import { describe, expect, it } from 'vitest';
import { pairTopics } from '../../src/suite/pair-topics.ts';

const TURNS: Record<number, string> = {
  1: 'Move my boat to pier 4, and please tell me what the tide does on Sunday.',
  3: 'Who repairs masts around here?',
};
const pair = (
  labelled: readonly { turn: number; quote: string }[],
  judged: readonly { turn: number; quote: string }[],
) => pairTopics(labelled, judged, (turn) => TURNS[turn] ?? '');

const MOVE = { turn: 1, quote: 'Move my boat to pier 4' };
const TIDE = { turn: 1, quote: 'what the tide does on Sunday' };
const MAST = { turn: 3, quote: 'Who repairs masts' };

describe('topics of labels and judge', () => {
  it('are paired by turn, whatever they quote', () => {
    const found = { turn: 3, quote: 'around here' };
    expect(pair([MAST], [found])).toEqual({ pairs: [[MAST, found]], missed: [], invented: [] });
  });

  it('are paired by quote where a turn raises two, in whatever order they come', () => {
    const [tide, move] = [
      { turn: 1, quote: 'tide' },
      { turn: 1, quote: 'boat to pier 4' },
    ];
    expect(pair([MOVE, TIDE], [tide, move]).pairs).toEqual(
      expect.arrayContaining([
        [MOVE, move],
        [TIDE, tide],
      ]),
    );
  });

  it('are paired with the nearest when quotes do not meet', () => {
    const [near, far] = [
      { turn: 1, quote: 'please tell me' },
      { turn: 1, quote: 'Move' },
    ];
    expect(pair([TIDE], [far, near])).toEqual({ pairs: [[TIDE, near]], missed: [], invented: [far] });
  });

  it('count as missed or invented when the other side has none in that turn', () => {
    expect(pair([MOVE, TIDE], [{ turn: 1, quote: 'tide' }, MAST])).toMatchObject({ missed: [MOVE], invented: [MAST] });
  });

  it('are each used once', () => {
    const { pairs, invented } = pair([MOVE], [{ ...MOVE }, { ...MOVE }]);
    expect([pairs.length, invented.length]).toEqual([1, 1]);
  });
});
