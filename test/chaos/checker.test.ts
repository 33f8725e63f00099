/** The checker must notice what it is for: each kind of loss and doubling is planted and counted. */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { ATTACK_RULE } from '../support/attack-text.ts';
import { DIGESTED } from '../support/finding-columns.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/migrated-database.ts';
import { hex16, NOON_MS, RESOURCE_ID } from '../support/rows.ts';
import { bodyOf, ROW_NUMBERS, ROWS_PER_BODY, TIME_BASE } from './bodies.ts';
import { check, faultsOf, NOTHING } from './checker.ts';
import type { Delivery } from './load.ts';

const HARMLESS = 0;
const ATTACK = 1;
const NONE: ReadonlySet<number> = new Set();

let scratch: MigratedDatabase;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await ensureDay(scratch.database, NOON_MS);
});
afterAll(() => scratch.close());

/** Stores rows `from` to `to` of a body of spans. */
async function storeRows(body: number, from: number, to: number): Promise<void> {
  const first = TIME_BASE + BigInt(body) * BigInt(ROW_NUMBERS);
  await scratch.rows(
    `INSERT INTO spans (start_unix_nano, end_unix_nano, workspace_id, arrived_on, trace_id,
                        resource_id, kind, status_code, span_id, name, attributes)
     SELECT $1::bigint + i, 0, 1, $2, $3, $4, 1, 0, '\\x01', 'step', '{}'
       FROM generate_series($5::int, $6::int - 1) AS i`,
    [String(first), new Date(NOON_MS), hex16(1), RESOURCE_ID, from, to],
  );
}

async function storeRun(body: number, evaluation = 'evaluated'): Promise<void> {
  await scratch.rows(
    `INSERT INTO runs (workspace_id, run_id, state, evaluation, spans, log_records)
     VALUES (1, $1, 'completed', $2, 1, 0)`,
    [bodyOf(body).runId, evaluation],
  );
}

async function storeFinding(body: number): Promise<void> {
  await scratch.rows(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     VALUES (1, $1, $2, '1', 'stable', 'high', 'c', '1', '', 0, '', '', '', '', '', '[]', ${DIGESTED.values})`,
    [bodyOf(body).runId, ATTACK_RULE],
  );
}

const delivery = (body: number, outcome: Delivery['outcome']): Delivery => {
  const { bytes: _bytes, ...kept } = bodyOf(body);
  return { body: kept, outcome, attempts: 1 };
};

const checked = (deliveries: readonly Delivery[], earlier = NONE) =>
  check({ ask: scratch.rows }, deliveries, earlier);

test('all rows once, and the finding of an attack: nothing is wrong', async () => {
  await storeRows(HARMLESS, 0, ROWS_PER_BODY);
  await storeRun(HARMLESS);
  await storeRows(ATTACK, 0, ROWS_PER_BODY);
  await storeRun(ATTACK);
  await storeFinding(ATTACK);
  const verdict = await checked([
    delivery(HARMLESS, 'acknowledged'),
    delivery(ATTACK, 'acknowledged'),
    delivery(2, 'unknown'),
  ]);
  expect(verdict).toEqual({
    ...NOTHING,
    rowsAcknowledged: 2 * ROWS_PER_BODY,
    findingsExpected: 1,
  });
  expect(faultsOf(verdict)).toEqual([]);
});

test('a row of an acknowledged body is missing', async () => {
  await storeRows(HARMLESS, 1, ROWS_PER_BODY);
  expect(faultsOf(await checked([delivery(HARMLESS, 'acknowledged')]))).toEqual(['rowsLost: 1']);
});

test('an acknowledged body is stored twice', async () => {
  await storeRows(HARMLESS, 0, ROWS_PER_BODY);
  await storeRows(HARMLESS, 0, ROWS_PER_BODY);
  const faults = faultsOf(await checked([delivery(HARMLESS, 'acknowledged')]));
  expect(faults).toEqual([`rowsTwice: ${ROWS_PER_BODY}`]);
});

test('a body that was given up is stored in parts', async () => {
  await storeRows(HARMLESS, 0, 3);
  const faults = faultsOf(await checked([delivery(HARMLESS, 'unknown')]));
  expect(faults).toEqual(['bodiesInParts: 1']);
});

test('a body that was checked before is stored again; one that was given up may come later', async () => {
  await storeRows(HARMLESS, 0, ROWS_PER_BODY);
  expect(faultsOf(await checked([]))).toEqual([`rowsTwice: ${ROWS_PER_BODY}`]);
  await storeRows(HARMLESS, 0, ROWS_PER_BODY);
  expect(faultsOf(await checked([], new Set([HARMLESS])))).toEqual([]);
});

test('an attack has no finding, a harmless run has one, an evaluation has failed', async () => {
  for (const body of [HARMLESS, ATTACK]) {
    await storeRows(body, 0, ROWS_PER_BODY);
    await storeRun(body, body === ATTACK ? 'evaluation_failed' : 'evaluated');
  }
  await storeFinding(HARMLESS);
  const verdict = await checked([
    delivery(HARMLESS, 'acknowledged'),
    delivery(ATTACK, 'acknowledged'),
  ]);
  expect(faultsOf(verdict)).toEqual(['findingsMissing: 1', 'findingsFalse: 1', 'runsFailed: 1']);
});
