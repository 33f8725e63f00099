/** The order of rules by noise. */
import { expect, it } from 'vitest';
import { byNoise, inOrder } from '../../src/model/rule-order.ts';
import { rule } from '../web/app/fixtures.ts';

const { quality, measured } = rule();
const of = (id: string, wildFpRate: number | null, found: number, confidence: number | null) => ({
  id,
  quality: { ...quality, wildFpRate, confidence },
  measured: { ...measured, falsePositives: { texts: 4, found } },
});
const loud = of('e', 52.58, 0, 90);
const measuredZero = of('d', 0, 0, 90);
const matching = of('c', null, 2, 90);
const doubtful = of('b', null, 0, 40);
const silent = of('a', null, 0, null);
const byId = [silent, doubtful, matching, measuredZero, loud];

it('begins with the highest rate, then what matches harmless texts, then the lowest confidence', () => {
  expect(inOrder(byId, 'noise')).toEqual([loud, measuredZero, matching, doubtful, silent]);
  expect(inOrder(byId, 'id')).toBe(byId);
});

it('is by id at last, so that pages of a list are stable', () => {
  expect(byNoise({ ...loud, id: 'x' }, { ...loud, id: 'y' })).toBe(-1);
});
