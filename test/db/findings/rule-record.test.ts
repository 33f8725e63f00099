/** What a rule found in thirty days, of its own workspace. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readRuleRecord, readRuleRecords } from '../../../src/db/findings/rule-record.ts';
import { NO_RECORD } from '../../../src/model/findings.ts';
import { type ClockedDatabase, openClockedDatabase, START } from '../../support/database.ts';
import { DIGESTED } from '../../support/rows.ts';

let scratch: ClockedDatabase;
beforeAll(async () => {
  scratch = await openClockedDatabase();
});
afterAll(() => scratch.close());

async function insert(
  workspaceId: number,
  number: number,
  days: number,
  state?: string,
  rule = '1',
) {
  const id = `lpad('${number}', 32, '0')::uuid`;
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, id, run_id, created_at, rule_id, rule_version, rule_status,
        severity, category, description, condition_index, condition_description, field, surface, step_name, excerpt,
        recommended_actions,
        ${DIGESTED.columns}, corpus_version)
     VALUES ($1, ${id}, ${id}, now() - make_interval(days => $2), 'ATR-2026-0000' || $3, '1', 'stable',
        'high', 'prompt-injection', 'd', 0, 'c', 'content', 'step_input', '', '', '[]', ${DIGESTED.values}, '4.0.0')`,
    [workspaceId, days, rule],
  );
  if (state === undefined) return;
  await scratch.database.query(
    `INSERT INTO finding_states (workspace_id, finding_id, state) VALUES ($1, ${id}, $2)`,
    [workspaceId, state],
  );
}

test('counts findings of thirty days, and those that are false positives', async () => {
  const read = () => readRuleRecord(scratch.database, 1, 'ATR-2026-00001');
  expect(await read()).toEqual(NO_RECORD);
  await insert(1, 1, 31, 'false_positive');
  expect(await read()).toMatchObject({
    findings: 0,
    falsePositives: 0,
    lastSeenAt: expect.any(Date),
  });
  await insert(1, 2, 2, 'false_positive');
  await insert(1, 3, 3, 'confirmed');
  await insert(1, 4, 1);
  await insert(2, 5, 0);
  const { lastSeenAt, ...counts } = await read();
  expect(counts).toMatchObject({ findings: 3, falsePositives: 1 });
  expect(Math.round((Date.parse(START) - (lastSeenAt?.getTime() ?? 0)) / 86_400_000)).toBe(1);
});

test('of all rules with findings at once, the same as of each', async () => {
  await insert(1, 6, 4, 'false_positive', '3');
  await insert(1, 7, 40, undefined, '9');
  await insert(2, 8, 1, 'false_positive', '5');
  const records = await readRuleRecords(scratch.database, 1);
  expect([...records.keys()].sort()).toEqual([
    'ATR-2026-00001',
    'ATR-2026-00003',
    'ATR-2026-00009',
  ]);
  for (const [id, record] of records) {
    expect(await readRuleRecord(scratch.database, 1, id)).toEqual(record);
  }
  expect(records.get('ATR-2026-00003')).toMatchObject({ findings: 1, falsePositives: 1 });
  expect(records.get('ATR-2026-00009')).toMatchObject({ findings: 0, falsePositives: 0 });
  expect((await readRuleRecords(scratch.database, 99)).size).toBe(0);
});

test('a finding counts until thirty days after it, and so does that it was a false positive', async () => {
  await insert(3, 10, 0, 'false_positive');
  const read = async () => {
    const { findings, falsePositives } = await readRuleRecord(
      scratch.database,
      3,
      'ATR-2026-00001',
    );
    return [findings, falsePositives];
  };
  await scratch.setClock('30 days -1 us');
  expect(await read()).toEqual([1, 1]);
  await scratch.setClock('30 days');
  expect(await read()).toEqual([0, 0]);
});
