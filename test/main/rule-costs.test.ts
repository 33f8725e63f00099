/** Matcher times on their way to the database: summed by rule, kept when a write fails, written at the stop. */
import { expect, test, vi } from 'vitest';
import type { RuleCost } from '../../src/db/findings/rule-costs.ts';
import { keepRuleCosts } from '../../src/main/upkeep.ts';

const RULES = [{ id: 'R-0' }, { id: 'R-1' }];

test('a failed write loses nothing, and the stop writes the rest', async () => {
  const written: (readonly RuleCost[])[] = [];
  let fails = true;
  const ends: (() => Promise<void>)[] = [];
  const failures = vi.fn();
  const add = keepRuleCosts(
    RULES,
    async (costs) => {
      if (fails) throw new Error('away');
      written.push(costs);
    },
    { ruleCostsUnrecorded: failures, ruleCostsRecorded: () => {} },
    { add: (_name, stop) => void ends.push(async () => await stop()) },
    5,
  );
  add([{ ruleIndex: 1, searches: 2, micros: 10 }]);
  await vi.waitFor(() => expect(failures).toHaveBeenCalled());
  fails = false;
  await vi.waitFor(() =>
    expect(written.flat()).toEqual([{ ruleId: 'R-1', searches: 2, micros: 10 }]),
  );
  // A rule that the list does not have is left out.
  add([
    { ruleIndex: 0, searches: 1, micros: 1 },
    { ruleIndex: 0, searches: 1, micros: 2 },
    { ruleIndex: 9, searches: 1, micros: 2 },
  ]);
  await ends[0]?.();
  expect(written.flat().slice(1)).toEqual([{ ruleId: 'R-0', searches: 2, micros: 3 }]);
});
