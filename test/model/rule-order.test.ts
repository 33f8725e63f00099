/** The order of rules by noise. */
import { expect, it } from 'vitest';
import { NO_RECORD } from '../../src/model/findings.ts';
import { byNoise, inOrder, type RuleOrder } from '../../src/model/rule-order.ts';
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
const NONE = new Map();
const byId = [silent, doubtful, matching, measuredZero, loud];

it('begins with the highest rate, then what matches harmless texts, then the lowest confidence', () => {
  expect(inOrder(byId, 'noise', NONE)).toEqual([loud, measuredZero, matching, doubtful, silent]);
  expect(inOrder(byId, 'id', NONE)).toBe(byId);
});

it('is by id at last, so that pages of a list are stable', () => {
  expect(byNoise({ ...loud, id: 'x' }, { ...loud, id: 'y' })).toBe(-1);
});

it('is by what rules found in a workspace, those without findings last', () => {
  const at = (ms: number) => new Date(ms);
  const records = new Map([
    ['b', { ...NO_RECORD, matcherShare: 0.2, findings: 2, falsePositives: 2, lastSeenAt: at(5) }],
    ['d', { ...NO_RECORD, findings: 9, falsePositives: 0, lastSeenAt: at(9) }],
    ['e', { ...NO_RECORD, matcherShare: 0.4, findings: 0, falsePositives: 0, lastSeenAt: at(7) }],
  ]);
  const ids = (order: RuleOrder) => inOrder(byId, order, records).map(({ id }) => id);
  expect(ids('findings')).toEqual(['d', 'b', 'a', 'c', 'e']);
  expect(ids('false_positives')).toEqual(['b', 'a', 'c', 'd', 'e']);
  expect(ids('last_seen')).toEqual(['d', 'e', 'b', 'a', 'c']);
  expect(ids('matcher_time')).toEqual(['e', 'b', 'a', 'c', 'd']);
  expect(ids('wild_fp_rate')).toEqual(['e', 'd', 'a', 'b', 'c']);
  expect(ids('confidence')).toEqual(['b', 'c', 'd', 'e', 'a']);
});
