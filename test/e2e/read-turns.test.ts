/**
 * Reads take turns by workspace: exports and searches of one workspace, however slow, leave
 * connections to the others and to sign-in.
 *
 * Here findings of the first workspace cannot be read while the test holds a lock, so its reads are
 * slow for as long as the test says.
 */
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { READ_TURNS } from '../../src/main/connection-shares.ts';
import { DIGESTED, hex16 } from '../support/rows.ts';
import { waitFor } from '../support/wait-for.ts';
import { Browser } from './browser.ts';
import { type Answer, type Gateway, type Keys, openGateway, request } from './gateway.ts';

const WITHIN_MS = 20_000;
const EXPORTS = 4;
const SEARCHES = 30;
const LOCK = 4711;
const { workspaceExportsMax, workspaceMax } = READ_TURNS;
const FINDINGS = '/platform/v1/risk-findings';
const NO_MATCH = 'q=matches%20nothing';

let gateway: Gateway;
let other: Keys;
let holder: pg.Client;

beforeAll(async () => {
  gateway = await openGateway();
  other = await gateway.addWorkspace('other');
  const { database } = gateway;
  const { id } = await findWorkspace(database, 'default');
  await database.query("UPDATE workspaces SET plan = 'enterprise'");
  await database.query(
    `INSERT INTO findings (workspace_id, id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, subcategory, corpus_version, description, condition_index,
       condition_description, field, surface, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     VALUES ($1, $2, now() - interval '1 hour', $2, 'ATR-2026-00001', '1.0', 'stable', 'high',
       'prompt-injection', 'sub', '4.0.0', 'described', 2, 'asks', 'content', 'tool_result', 'a step',
       'the excerpt', '[]', ${DIGESTED.values})`,
    [id, hex16(1)],
  );
  await database.query(`
    ALTER TABLE findings RENAME TO all_findings;
    CREATE FUNCTION is_open(workspace integer) RETURNS boolean LANGUAGE plpgsql COST 0.001 AS $$
    BEGIN
      IF workspace = ${id} THEN PERFORM pg_advisory_xact_lock_shared(${LOCK}); END IF;
      RETURN true;
    END $$;
    CREATE VIEW findings AS SELECT * FROM all_findings WHERE is_open(workspace_id)`);
  holder = new pg.Client({ connectionString: gateway.databaseUrl });
  await holder.connect();
});
afterAll(async () => {
  await holder.end();
  await gateway.close();
});

function read(path: string, key: string, signal?: AbortSignal): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}` };
  return request(`${gateway.server.baseUrl}${path}`, { headers, ...(signal && { signal }) });
}

/** Statements that wait for the lock. */
async function held(): Promise<number> {
  const { rows } = await holder.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
  );
  return rows[0]?.n ?? 0;
}

const untilHeld = (count: number): Promise<true> =>
  waitFor(async () => (await held()) === count, {
    withinMs: WITHIN_MS,
    what: `${count} statements wait`,
  });

/** Runs `work` while findings of the first workspace cannot be read. */
async function whileLocked(work: () => Promise<void>): Promise<void> {
  await holder.query('SELECT pg_advisory_lock($1)', [LOCK]);
  try {
    await work();
  } finally {
    await holder.query('SELECT pg_advisory_unlock($1)', [LOCK]);
  }
}

/** Signs the owner of the first workspace in. */
async function signIn(): Promise<Browser> {
  const { owner, server } = gateway;
  const browser = new Browser(server.baseUrl);
  expect((await browser.signIn(owner.email, owner.password)).status).toBe(303);
  return browser;
}

test('four exports of a workspace leave reads and changes to it, reads to others', async () => {
  const { keys } = gateway;
  let exports: Promise<Answer>[] = [];
  await whileLocked(async () => {
    const path = `${FINDINGS}/ocsf?${NO_MATCH}`;
    exports = Array.from({ length: EXPORTS }, () => read(path, keys.workspace));
    await untilHeld(workspaceExportsMax);
    expect((await read('/platform/v1/runs', keys.workspace)).status).toBe(200);
    expect((await read(`${FINDINGS}?${NO_MATCH}`, other.workspace)).status).toBe(200);
    const browser = await signIn();
    const changed = await browser.put('/app/api/atr/settings', { experimental: true });
    expect(changed.status).toBe(200);
  });
  const statuses = (await Promise.all(exports)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(
    workspaceExportsMax,
  );
});

test('exports and searches of a workspace leave a connection to others, and sign-in', async () => {
  const { keys } = gateway;
  let reads: Promise<Answer>[] = [];
  await whileLocked(async () => {
    const paths = [
      ...Array<string>(EXPORTS).fill(`${FINDINGS}/ocsf?${NO_MATCH}`),
      ...Array<string>(SEARCHES).fill(`${FINDINGS}?${NO_MATCH}`),
    ];
    reads = paths.map((path) => read(path, keys.workspace));
    await untilHeld(workspaceMax);
    for (const path of [
      FINDINGS,
      `${FINDINGS}?${NO_MATCH}`,
      `${FINDINGS}/ocsf`,
      '/platform/v1/runs',
    ]) {
      expect((await read(path, other.workspace)).status, path).toBe(200);
    }
    await signIn();
  });
  await Promise.all(reads);
});
