/**
 * The server under a role that may only append to the ledger, made by the very statements of
 * docs/security.md.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { verifyAudit } from '../../src/db/people/audit.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { addPerson } from '../support/people.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { Browser } from './browser.ts';
import { openEyes, post, rawSpan, storedSpanIds, traceBody } from './gateway.ts';

/** Roles belong to the whole server, which other tests share. */
const ROLE = `sluice_server_${randomBytes(4).toString('hex')}`;
const PASSWORD = randomBytes(12).toString('hex');

let home: TestDatabase;
let asOwner: Database;
let asServer: Database;
let server: TestServer;

/** The statements of the page, for this role. */
function statements(): string {
  const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
  const sql = /```sql\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
  expect(sql).toContain('GRANT INSERT, SELECT ON audit_ledger');
  return sql.replaceAll('sluice_server', ROLE).replaceAll('…', PASSWORD);
}

beforeAll(async () => {
  home = await createTestDatabase();
  asOwner = openEyes(home.url);
  await migrate(asOwner);
  await asOwner.query(statements());
  const url = new URL(home.url);
  url.username = ROLE;
  url.password = PASSWORD;
  asServer = openEyes(url.href);
  server = await startServer({ DATABASE_URL: url.href });
});
afterAll(async () => {
  await server.stop();
  await asServer.end();
  await asOwner.query(`DROP OWNED BY ${ROLE} CASCADE`);
  await asOwner.query(`DROP ROLE ${ROLE}`);
  await asOwner.end();
  await home.drop();
});

test('takes telemetry in, and records what people change', async () => {
  const span = rawSpan();
  const key = server.firstKeys?.agent ?? '';
  const sent = await post(`${server.observeUrl}/v1/traces`, key, traceBody([span]));
  expect(sent.status, sent.text).toBe(200);
  expect(await storedSpanIds(asOwner, [span.spanId])).toEqual(new Set([span.spanId]));
  const { rows } = await asOwner.query<{ id: number }>(
    "UPDATE workspaces SET plan = 'team' RETURNING id",
  );
  const workspaceId = rows[0]?.id ?? 0;
  const { token } = await addPerson(asOwner, workspaceId, 'owner');
  const browser = new Browser(server.baseUrl, token);
  const changed = await browser.put('/app/api/atr/settings', { experimental: true });
  expect(changed.status, changed.text).toBe(200);
  expect(await verifyAudit(asServer, workspaceId)).toMatchObject({
    head: { seq: '5' },
    broken: null,
  });
});

test.each([
  "UPDATE audit_ledger SET actor = 'nobody'",
  'DELETE FROM audit_ledger',
  'TRUNCATE audit_ledger',
  'DROP TABLE audit_ledger',
  'ALTER TABLE audit_ledger DISABLE TRIGGER audit_ledger_stays',
  'DROP FUNCTION refuse_ledger_change CASCADE',
  "SET session_replication_role = 'replica'",
])('may not: %s', async (sql) => {
  await expect(asServer.query(sql)).rejects.toMatchObject({ code: '42501' });
});
