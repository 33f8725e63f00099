/**
 * The audit ledger: a chain that many writers at once keep whole, that refuses every change, and
 * that tells when somebody got past the refusal.
 */

import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import {
  appendAudit,
  type Change,
  listAudit,
  lockLedger,
  recorded,
  SEARCHED_ENTRIES_MAX,
  verifyAudit,
} from '../../../src/db/people/audit.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { Actor } from '../../../src/model/people.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';

const ACTOR: Actor = { userId: 7, name: 'ana@people.test', origin: '203.0.113.9' };

let scratch: MigratedDatabase;
let workspaces = 0;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());

async function addWorkspace(): Promise<number> {
  workspaces += 1;
  return (await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace')).id;
}

function change(fields: Partial<Change> = {}): Change {
  const values = { before: { enabled: null }, after: { enabled: true } };
  return { action: 'rules.override', subject: 'ATR-2026-00001', ...values, ...fields };
}

async function append(workspaceId: number, fields: Partial<Change> = {}): Promise<void> {
  await recorded(scratch.database, workspaceId, ACTOR, (_connection, record) =>
    record(change(fields)),
  );
}

/** Gets past the refusal, as only the table's owner can. */
async function tamper(sql: string, values: readonly unknown[]): Promise<void> {
  await inTransaction(scratch.database, async (connection) => {
    await connection.query('ALTER TABLE audit_ledger DISABLE TRIGGER audit_ledger_stays');
    await connection.query(sql, [...values]);
    await connection.query('ALTER TABLE audit_ledger ENABLE ALWAYS TRIGGER audit_ledger_stays');
  });
}

test('entries are numbered, chained and read newest first', async () => {
  const workspaceId = await addWorkspace();
  await append(workspaceId);
  await append(workspaceId, { subject: 'zweite „Änderung“ \u{1F511}', before: null });
  const { entries, next } = await listAudit(scratch.database, workspaceId, null, 10);
  expect(next).toBeNull();
  expect(entries.map(({ seq }) => seq)).toEqual(['2', '1']);
  const [second, first] = entries;
  expect(first).toMatchObject({
    at: expect.any(Date),
    actorUserId: 7,
    actor: 'ana@people.test',
    origin: '203.0.113.9',
    action: 'rules.override',
    subject: 'ATR-2026-00001',
    before: { enabled: null },
    after: { enabled: true },
    prevHash: Buffer.alloc(32),
  });
  expect(second?.prevHash).toEqual(first?.hash);
  expect(await verifyAudit(scratch.database, workspaceId)).toEqual({
    head: { seq: '2', hash: second?.hash },
    broken: null,
  });
});

test('the hash is what its description says, computed by PostgreSQL from the stored row', async () => {
  const workspaceId = await addWorkspace();
  await append(workspaceId, { subject: 'a "quoted" subject' });
  const [row] = await scratch.rows(
    `SELECT concat('[1,', workspace_id, ',', to_json(seq::text), ',',
              to_json(to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')), ',',
              actor_user_id, ',', to_json(actor), ',', to_json(origin), ',', to_json(action), ',',
              to_json(subject), ',', to_json(before::text), ',', to_json(after::text), ',',
              to_json(encode(prev_hash, 'hex')), ']') AS text, hash
       FROM audit_ledger WHERE workspace_id = $1`,
    [workspaceId],
  );
  expect(createHash('sha256').update(String(row?.text)).digest()).toEqual(row?.hash);
});

test('pages fit together', async () => {
  const workspaceId = await addWorkspace();
  for (let entry = 0; entry < 5; entry += 1) await append(workspaceId);
  const pages: string[][] = [];
  let before: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof listAudit>> = await listAudit(
      scratch.database,
      workspaceId,
      before,
      2,
    );
    pages.push(page.entries.map(({ seq }) => seq));
    before = page.next;
  } while (before !== null);
  expect(pages).toEqual([['5', '4'], ['3', '2'], ['1']]);
});

test('a filter finds entries by actor and the beginning of their action, within what a page searches', async () => {
  const workspaceId = await addWorkspace();
  for (let entry = 0; entry < 4; entry += 1) await append(workspaceId);
  const { entries } = await listAudit(scratch.database, workspaceId, null, 9);
  const [own] = entries;
  const list = async (actor: string | null, action: string | null) => {
    const page = await listAudit(scratch.database, workspaceId, null, 9, { actor, action });
    return [page.entries.length, page.next];
  };
  expect(await list(own?.actor ?? '', own?.action.slice(0, 3) ?? '')).toEqual([4, null]);
  expect(await list('nobody', null)).toEqual([0, null]);
  expect(await list(null, `${own?.action}x`)).toEqual([0, null]);
  const far = String(SEARCHED_ENTRIES_MAX + 2);
  const none = { actor: 'nobody', action: null };
  const further = await listAudit(scratch.database, workspaceId, far, 9, none);
  expect(further.next).toBe('2');
});

test('many at once keep one chain without gaps', async () => {
  const workspaceId = await addWorkspace();
  const other = await addWorkspace();
  await Promise.all(
    Array.from({ length: 40 }, (_, entry) => append(entry % 4 === 0 ? other : workspaceId)),
  );
  for (const [id, seq] of [
    [workspaceId, '30'],
    [other, '10'],
  ] as const) {
    const checked = await verifyAudit(scratch.database, id);
    expect(checked).toMatchObject({ head: { seq }, broken: null });
  }
});

test('a change that fails leaves no entry, and an entry that fails leaves no change', async () => {
  const workspaceId = await addWorkspace();
  const rename = 'UPDATE workspaces SET name = $2 WHERE id = $1';
  const failing = recorded(scratch.database, workspaceId, ACTOR, async (connection) => {
    await connection.query(rename, [workspaceId, 'renamed']);
    throw new Error('half-way');
  });
  await expect(failing).rejects.toThrow('half-way');
  const unstorable = recorded(scratch.database, workspaceId, ACTOR, async (connection, record) => {
    await connection.query(rename, [workspaceId, 'renamed']);
    await record(change({ subject: '\0' }));
  });
  await expect(unstorable).rejects.toThrow();
  const rows = await scratch.rows('SELECT name FROM workspaces WHERE id = $1', [workspaceId]);
  expect(rows).toEqual([{ name: 'A workspace' }]);
  expect((await listAudit(scratch.database, workspaceId, null, 9)).entries).toEqual([]);
});

test.each([
  "UPDATE audit_ledger SET actor = 'nobody'",
  'UPDATE audit_ledger SET seq = seq WHERE false',
  'DELETE FROM audit_ledger',
  'TRUNCATE audit_ledger',
  'TRUNCATE workspaces CASCADE',
  "SET session_replication_role = 'replica'; DELETE FROM audit_ledger",
])('the table refuses: %s', async (sql) => {
  const workspaceId = await addWorkspace();
  await append(workspaceId);
  const attempt = inTransaction(scratch.database, (connection) => connection.query(sql));
  await expect(attempt).rejects.toMatchObject({
    code: '42501',
    message: expect.stringContaining('audit_ledger is append-only'),
  });
  const checked = await verifyAudit(scratch.database, workspaceId);
  expect(checked).toMatchObject({ head: { seq: '1' }, broken: null });
});

test('a role that may only append can do nothing else, and its entries chain', async () => {
  const workspaceId = await addWorkspace();
  await append(workspaceId);
  await inTransaction(scratch.database, async (connection) => {
    await connection.query(`
      CREATE ROLE ledger_writer;
      GRANT INSERT, SELECT ON audit_ledger TO ledger_writer;
      SET LOCAL ROLE ledger_writer`);
    await lockLedger(connection, workspaceId);
    await appendAudit(connection, workspaceId, ACTOR, change());
  });
  for (const sql of [
    'DELETE FROM audit_ledger',
    'TRUNCATE audit_ledger',
    "UPDATE audit_ledger SET actor = ''",
    'ALTER TABLE audit_ledger DISABLE TRIGGER ALL',
  ]) {
    const attempt = inTransaction(scratch.database, async (connection) => {
      await connection.query('SET LOCAL ROLE ledger_writer');
      await connection.query(sql);
    });
    await expect(attempt, sql).rejects.toMatchObject({ code: '42501' });
  }
  expect(await verifyAudit(scratch.database, workspaceId)).toMatchObject({
    head: { seq: '2' },
    broken: null,
  });
  await scratch.rows('DROP OWNED BY ledger_writer');
  await scratch.rows('DROP ROLE ledger_writer');
});

const CONTENT = 'its content is not what its hash was made of';
test.each([
  ["actor = 'eve@people.test'", CONTENT],
  ["origin = 'command line'", CONTENT],
  ["action = 'rules.experimental'", CONTENT],
  ["subject = 'ATR-2026-00002'", CONTENT],
  ["at = at - interval '1 hour'", CONTENT],
  ['actor_user_id = NULL', CONTENT],
  [`before = '{"enabled":false}'`, CONTENT],
  [`after = '{"enabled": true}'`, CONTENT],
  ['after = NULL', CONTENT],
  ["hash = decode(repeat('00', 32), 'hex')", CONTENT],
  ["prev_hash = decode(repeat('00', 32), 'hex')", 'it does not name the hash of the entry before'],
  ['seq = 1000', 'entry 3 is missing'],
])('a row tampered with is found: %s', async (assignment, why) => {
  const workspaceId = await addWorkspace();
  for (let entry = 0; entry < 4; entry += 1) await append(workspaceId);
  await tamper(`UPDATE audit_ledger SET ${assignment} WHERE workspace_id = $1 AND seq = 3`, [
    workspaceId,
  ]);
  const { head, broken } = await verifyAudit(scratch.database, workspaceId);
  expect(head.seq).toBe('2');
  expect(broken).toEqual({ seq: assignment.startsWith('seq') ? '4' : '3', why, known: null });
});

test('a removed row, or one hashed again without its successors, is found', async () => {
  const workspaceId = await addWorkspace();
  for (let entry = 0; entry < 4; entry += 1) await append(workspaceId);
  await tamper('DELETE FROM audit_ledger WHERE workspace_id = $1 AND seq = 2', [workspaceId]);
  expect((await verifyAudit(scratch.database, workspaceId)).broken).toEqual({
    seq: '3',
    why: 'entry 2 is missing',
    known: null,
  });
});

test('an end that was cut off is found by an entry that somebody kept', async () => {
  const workspaceId = await addWorkspace();
  for (let entry = 0; entry < 4; entry += 1) await append(workspaceId);
  const { head: known } = await verifyAudit(scratch.database, workspaceId);
  const check = async () => (await verifyAudit(scratch.database, workspaceId, [known])).broken;
  await append(workspaceId);
  expect(await check()).toBeNull();
  await tamper('DELETE FROM audit_ledger WHERE workspace_id = $1 AND seq > 3', [workspaceId]);
  expect((await verifyAudit(scratch.database, workspaceId)).broken).toBeNull();
  expect(await check()).toEqual({
    seq: '4',
    why: 'the log was cut off after entry 3',
    known,
  });
  // Others in its place make a whole chain again.
  for (let entry = 0; entry < 3; entry += 1) await append(workspaceId, { subject: 'another' });
  expect((await verifyAudit(scratch.database, workspaceId)).broken).toBeNull();
  expect(await check()).toEqual({
    seq: '4',
    why: 'it differs from the entry that was there earlier',
    known,
  });
  await tamper('DELETE FROM audit_ledger WHERE workspace_id = $1', [workspaceId]);
  expect((await check())?.seq).toBe('4');
});

test('a walk goes past its page', async () => {
  const workspaceId = await addWorkspace();
  await inTransaction(scratch.database, async (connection) => {
    await lockLedger(connection, workspaceId);
    for (let entry = 0; entry < 1001; entry += 1) {
      await appendAudit(connection, workspaceId, ACTOR, change());
    }
  });
  expect(await verifyAudit(scratch.database, workspaceId)).toMatchObject({
    head: { seq: '1001' },
    broken: null,
  });
});
