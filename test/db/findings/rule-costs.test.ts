/** Matcher times in PostgreSQL: added by day, read as shares, old days removed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addRuleCosts, readMatcherTimes } from '../../../src/db/findings/rule-costs.ts';
import { readRuleRecords } from '../../../src/db/findings/rule-record.ts';
import { NO_RECORD } from '../../../src/model/findings.ts';
import { type ClockedDatabase, openClockedDatabase } from '../../support/database.ts';

let scratch: ClockedDatabase;
beforeAll(async () => {
  scratch = await openClockedDatabase();
});
afterAll(() => scratch.close());

test('sums of the days that are kept, as a share of all and a mean', async () => {
  const { database } = scratch;
  expect(await readMatcherTimes(database)).toEqual(new Map());
  const part = (ruleId: string, searches: number, micros: number) => ({ ruleId, searches, micros });
  await database.query(
    `INSERT INTO rule_costs VALUES ((now() AT TIME ZONE 'UTC')::date - 29, 'R-1', 2, 50),
                                   ((now() AT TIME ZONE 'UTC')::date - 30, 'R-1', 9, 9000)`,
  );
  await addRuleCosts(database, [part('R-2', 1, 20), part('R-1', 1, 5)]);
  await addRuleCosts(database, [part('R-1', 1, 5), part('R-2', 3, 20), part('R-3', 1, 0)]);
  await addRuleCosts(database, []);
  expect(Object.fromEntries(await readMatcherTimes(database))).toEqual({
    'R-1': { share: 0.6, searchUs: 15 },
    'R-2': { share: 0.4, searchUs: 10 },
  });
  const { rows } = await database.query('SELECT count(*)::int AS days FROM rule_costs');
  expect(rows).toEqual([{ days: 4 }]);
  const records = await readRuleRecords(database, 1);
  expect(records.get('R-2')).toEqual({ ...NO_RECORD, matcherShare: 0.4, matcherUs: 10 });
});

test('many processes add at once', async () => {
  const ids = ['a', 'b', 'c', 'd'];
  const one = async (turn: number): Promise<void> => {
    const order = turn % 2 === 0 ? ids : ids.toReversed();
    const costs = order.map((ruleId) => ({ ruleId, searches: 1, micros: 1 }));
    await addRuleCosts(scratch.database, costs);
  };
  await Promise.all(Array.from({ length: 20 }, (_, turn) => one(turn)));
  const { rows } = await scratch.database.query(
    `SELECT rule_id, searches::int FROM rule_costs WHERE rule_id = ANY ($1) ORDER BY 1`,
    [ids],
  );
  expect(rows).toEqual(ids.map((id) => ({ rule_id: id, searches: 20 })));
});

test('a day is the UTC day, and is kept for thirty days with the current one', async () => {
  await scratch.rows('TRUNCATE rule_costs');
  const cost = [{ ruleId: 'R', searches: 1, micros: 1 }];
  const days = async () =>
    (await scratch.rows('SELECT day::text FROM rule_costs ORDER BY day')).map(({ day }) => day);
  await scratch.setClock('14 hours -1 us');
  await addRuleCosts(scratch.database, cost);
  await scratch.setClock('14 hours');
  await addRuleCosts(scratch.database, cost);
  expect(await days()).toEqual(['2026-03-02', '2026-03-03']);
  await scratch.setClock('30 days 14 hours -1 us');
  expect(await readMatcherTimes(scratch.database)).toHaveProperty('size', 1);
  await addRuleCosts(scratch.database, cost);
  expect(await days()).toEqual(['2026-03-03', '2026-04-01']);
});
