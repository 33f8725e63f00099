/**
 * The lifetimes and counts that nobody can set, as docs/limits.md and docs/bounds.md state them:
 * each is checked with the numbers of the documents, not with the constants of the code. Time passes
 * by UPDATE.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { COMMAND_LINE } from '../../src/db/people/audit.ts';
import { createKey, listKeys, revokeKey } from '../../src/db/people/keys.ts';
import { createInvitation, revokeInvitation } from '../../src/db/people/member-writes.ts';
import { createSession, findSession, listSessions } from '../../src/db/people/sessions.ts';
import { createRecordedKey } from '../../src/db/people/workspace-writes.ts';
import { createWorkspace } from '../../src/db/people/workspaces.ts';
import { claimRuns, releaseRun, renewLeases } from '../../src/db/runs/evaluation-queue.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { addPerson } from '../support/people.ts';
import { hex16 } from '../support/rows.ts';

const CONFLICT = { code: 'conflict' };

let scratch: MigratedDatabase;
let workspaceId: number;
let workspaces = 0;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());
beforeEach(async () => {
  workspaces += 1;
  workspaceId = (await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace')).id;
});

/** One value of the only row. */
async function value(sql: string, values: readonly unknown[] = []): Promise<unknown> {
  const [row] = await scratch.rows(sql, [...values]);
  return Object.values(row ?? {})[0];
}

describe('a session', () => {
  async function openSession(): Promise<{ userId: number; token: string }> {
    const { id, token } = await addPerson(scratch.database, workspaceId, 'member');
    return { userId: id, token };
  }
  const unusedFor = (userId: number, time: string) =>
    scratch.rows(
      'UPDATE sessions SET last_seen_at = now() - $2::interval WHERE user_id = $1 RETURNING 1',
      [userId, time],
    );

  test('ends after 7 days', async () => {
    const { userId, token } = await openSession();
    const life = 'SELECT (expires_at - created_at)::text FROM sessions WHERE user_id = $1';
    expect(await value(life, [userId])).toBe('7 days');
    const age = `UPDATE sessions SET expires_at = now() - interval '1 second' WHERE user_id = $1`;
    await scratch.rows(`${age} RETURNING 1`, [userId]);
    expect(await findSession(scratch.database, token)).toBeNull();
  });

  test('ends after 12 hours without use', async () => {
    const { userId, token } = await openSession();
    await unusedFor(userId, '11 hours 59 minutes');
    expect(await findSession(scratch.database, token)).not.toBeNull();
    await unusedFor(userId, '12 hours 1 minute');
    expect(await findSession(scratch.database, token)).toBeNull();
    expect(await listSessions(scratch.database, userId)).toEqual([]);
  });

  test('that is used is noted once a minute', async () => {
    const { userId, token } = await openSession();
    const isNew = `SELECT last_seen_at > now() - interval '5 seconds' FROM sessions WHERE user_id = $1`;
    await unusedFor(userId, '50 seconds');
    await findSession(scratch.database, token);
    expect(await value(isNew, [userId])).toBe(false);
    await unusedFor(userId, '70 seconds');
    await findSession(scratch.database, token);
    expect(await value(isNew, [userId])).toBe(true);
  });

  test('that has ended is kept for 30 days', async () => {
    const { userId } = await openSession();
    const endedFor = (time: string) =>
      scratch.rows(
        'UPDATE sessions SET expires_at = now() - $2::interval WHERE user_id = $1 RETURNING 1',
        [userId, time],
      );
    const begin = () =>
      createSession(scratch.database, {
        userId,
        workspaceSlug: null,
        userAgent: 'a test',
        address: 'here',
      });
    const count = () => value('SELECT count(*)::int FROM sessions WHERE user_id = $1', [userId]);
    await endedFor('29 days');
    await begin();
    expect(await count()).toBe(2);
    await endedFor('31 days');
    await begin();
    expect(await count()).toBe(1);
  });
});

describe('an invitation', () => {
  const inviting = (email: string) =>
    createInvitation(scratch.database, workspaceId, { email, role: 'member' }, COMMAND_LINE);

  test('ends after 7 days', async () => {
    await inviting('one@limits.test');
    const life = 'SELECT (expires_at - created_at)::text FROM invitations WHERE workspace_id = $1';
    expect(await value(life, [workspaceId])).toBe('7 days');
  });

  test('is one of 200 open ones at most', async () => {
    await scratch.rows(
      `INSERT INTO invitations (workspace_id, email, role, token_sha256, expires_at)
       SELECT $1, 'guest' || n || '@limits.test', 'member', sha256(gen_random_uuid()::text::bytea),
              now() + interval '1 day'
         FROM generate_series(1, 199) AS n RETURNING 1`,
      [workspaceId],
    );
    const { invitation } = await inviting('last@limits.test');
    await expect(inviting('more@limits.test')).rejects.toMatchObject(CONFLICT);
    await revokeInvitation(scratch.database, workspaceId, invitation.id, COMMAND_LINE);
    await expect(inviting('more@limits.test')).resolves.toBeDefined();
  });
});

test('a workspace has 1,000 valid keys at most; revoked ones do not count', async () => {
  await scratch.rows(
    `INSERT INTO api_keys (workspace_id, kind, name, prefix, secret_sha256, rate_limit_per_minute)
     SELECT $1, 'agent', 'key ' || n, 'sluice_live_', sha256(gen_random_uuid()::text::bytea), 10
       FROM generate_series(1, 999) AS n RETURNING 1`,
    [workspaceId],
  );
  const key = { kind: 'agent', name: 'one more', brand: 'sluice', rateLimitPerMinute: 10 } as const;
  const making = () => createRecordedKey(scratch.database, workspaceId, key, COMMAND_LINE);
  const last = await making();
  await expect(making()).rejects.toMatchObject(CONFLICT);
  await revokeKey(scratch.database, last.id);
  await expect(making()).resolves.toBeDefined();
});

test('a key has a limit of 1 to 100,000 requests per minute', async () => {
  const key = { workspaceId, kind: 'agent', name: 'a key', brand: 'sluice' } as const;
  const making = (rateLimitPerMinute: number) =>
    createKey(scratch.database, { ...key, rateLimitPerMinute });
  for (const limit of [0, 100_001, 1.5]) await expect(making(limit)).rejects.toThrow('limit');
  for (const limit of [1, 100_000]) await making(limit);
  const listed = await listKeys(scratch.database, workspaceId);
  expect(listed.map(({ rateLimitPerMinute }) => rateLimitPerMinute)).toEqual([1, 100_000]);
});

describe('a claimed run', () => {
  const settings = { settleMs: 60_000, timeoutMs: 900_000, limit: 10 };
  const lease = () =>
    value('SELECT extract(epoch FROM lease_until - now())::float8 FROM leases WHERE run_id = $1', [
      hex16(1),
    ]);

  beforeEach(async () => {
    await scratch.rows('TRUNCATE runs, leases');
    await scratch.rows(
      `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, last_arrival_at)
       VALUES ($1, $2, 'completed', 1, 0, now() - interval '2 minutes') RETURNING 1`,
      [workspaceId, hex16(1)],
    );
  });

  test('is leased for 300 s, and so again when its lease is renewed', async () => {
    const runs = await claimRuns(scratch.database, settings);
    expect(await lease()).toBeGreaterThan(290);
    expect(await lease()).toBeLessThanOrEqual(300);
    await scratch.rows('UPDATE leases SET lease_until = now() RETURNING 1');
    await renewLeases(scratch.database, runs);
    expect(await lease()).toBeGreaterThan(290);
    expect(await lease()).toBeLessThanOrEqual(300);
  });

  test('that is released waits 10 s for each of its attempts', async () => {
    const [run] = await claimRuns(scratch.database, settings);
    if (run === undefined) throw new Error('no run was claimed');
    await releaseRun(scratch.database, run, 'a test');
    expect(await lease()).toBeGreaterThan(5);
    expect(await lease()).toBeLessThanOrEqual(10);
  });
});
