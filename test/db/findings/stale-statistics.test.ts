/**
 * Statements over findings while the statistics are those of one row: then every column looks unique, and a
 * join by workspace would compare each row with each other.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { listIncidents } from '../../../src/db/findings/incidents.ts';
import { readRuleRecords } from '../../../src/db/findings/rule-record.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';

const FINDINGS = 1000;
/** A square would be a thousand for each. */
const READ_OF_EACH_MAX = 20;

let scratch: MigratedDatabase;
let mine: number;

async function insertFindings(count: number): Promise<void> {
  const values = [mine, count];
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records)
     SELECT $1, md5(n::text)::uuid, 'completed', 1, 0 FROM generate_series(1, $2::int) AS n`,
    values,
  );
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, run_id, corpus_version, corpus_identity, rule_id, rule_version,
       rule_status, severity, category, description, condition_index, condition_description, field,
       surface, step_name_matched, match_digest, place, recommended_actions)
     SELECT $1, md5(n::text)::uuid, '1', '\\x00', 'rule ' || n % 20, '1', 'stable', 'high', 'c', 'd', 0,
            'cd', 'f', 'step_input', false, sha256(n::text::bytea),
            '{"step":1,"text":1,"startUnixNano":"1"}', '[]'
       FROM generate_series(1, $2::int) AS n`,
    values,
  );
  await scratch.database.query(
    `INSERT INTO finding_states (workspace_id, finding_id, state)
     SELECT workspace_id, id, 'false_positive' FROM findings`,
  );
}

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  mine = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  await insertFindings(1);
  await scratch.database.query('ANALYZE runs, findings, finding_states');
  await scratch.database.query('TRUNCATE runs, findings, finding_states CASCADE');
  await insertFindings(FINDINGS);
});
afterAll(() => scratch.close());

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** A database that also notes how many rows the busiest part of a statement's plan reads. */
function explaining(read: number[]): Database {
  const query = async (text: string, values: unknown[]) => {
    const { rows } = await scratch.database.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`,
      values,
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    for (const node of plan === undefined ? [] : nodesOf(plan)) {
      const removed =
        (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
      read.push((node['Actual Rows'] + removed) * node['Actual Loops']);
    }
    return await scratch.database.query(text, values);
  };
  return { query } as unknown as Database;
}

test.each([
  ['the rules with their records', (own: Database) => readRuleRecords(own, mine)],
  ['incidents', (own: Database) => listIncidents(own, mine, { isExcepted: false }, 0, 20)],
])('%s read each finding a few times', async (_, statement) => {
  const read: number[] = [];
  await statement(explaining(read));
  expect(read.length).toBeGreaterThan(5);
  expect(Math.max(...read)).toBeLessThan(READ_OF_EACH_MAX * FINDINGS);
});
