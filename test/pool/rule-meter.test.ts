/** The meter of rules: one of sixteen evaluations, sums by rule, taken once. */
import { expect, test } from 'vitest';
import { RuleMeter } from '../../src/pool/rule-meter.ts';

test('one of sixteen evaluations is timed, and what was measured is taken once', () => {
  let nowMs = 0;
  const meter = new RuleMeter(() => nowMs);
  let timed = 0;
  for (let run = 0; run < 64; run += 1) {
    const timer = meter.next();
    if (timer === null) continue;
    timed += 1;
    for (const [ruleIndex, ms] of [
      [3, 0.5],
      [7, 0.25],
    ] as const) {
      timer.begin();
      nowMs += ms;
      timer.end(ruleIndex);
    }
  }
  expect(timed).toBe(4);
  expect(meter.take()).toEqual([
    { ruleIndex: 3, searches: 4, micros: 2000 },
    { ruleIndex: 7, searches: 4, micros: 1000 },
  ]);
  expect(meter.take()).toEqual([]);
});
