import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { giveWay } from '../../src/lib/turn.ts';

const clock = vi.spyOn(performance, 'now');

afterEach(async () => {
  await nextTurn();
});

it('lets work go on while the turn has time for it, and then not before the next turn', async () => {
  let hadItsTurn = false;
  setImmediate(() => {
    hadItsTurn = true;
  });
  clock.mockReturnValue(1000);
  expect(giveWay()).toBeUndefined();
  clock.mockReturnValue(1000.4);
  expect(giveWay()).toBeUndefined();
  clock.mockReturnValue(1000.5);
  const turn = giveWay();

  expect(turn).toBeInstanceOf(Promise);
  await turn;
  expect(hadItsTurn).toBe(true);
});

it('gives all work one share of a turn, not one each', async () => {
  clock.mockReturnValue(2000);
  void giveWay();
  clock.mockReturnValue(2000.6);
  const waiting = [giveWay(), giveWay(), giveWay()];

  expect(waiting.every((turn) => turn instanceof Promise)).toBe(true);
  for (const turn of waiting) await turn;
});

it('begins anew in each turn', async () => {
  clock.mockReturnValue(3000);
  void giveWay();
  await nextTurn();
  clock.mockReturnValue(3001);

  expect(giveWay()).toBeUndefined();
});

it('takes no more of a turn than other work took since', async () => {
  clock.mockReturnValue(4000);
  void giveWay();
  clock.mockReturnValue(4001);
  await giveWay();
  clock.mockReturnValue(4001.2);
  expect(giveWay()).toBeUndefined();
  clock.mockReturnValue(4001.39);
  expect(giveWay()).toBeUndefined();
  clock.mockReturnValue(4001.41);

  expect(giveWay()).toBeInstanceOf(Promise);
});
