/** Logins of command lines as the database keeps them: their limits, and a password that changes. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  beginDeviceLogin,
  decideDeviceLogin,
  parseUserCode,
  pollDeviceLogin,
} from '../../../src/db/people/device-logins.ts';
import { digestKey } from '../../../src/db/people/keys.ts';
import { findCliSession, findSession, listSessions } from '../../../src/db/people/sessions.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { addCommandLine, addPerson, type Person } from '../../support/people.ts';
import { waitFor } from '../../support/wait-for.ts';

const WITHIN_MS = 30_000;
const DEVICE = { name: 'a device', address: '192.0.2.1', network: '192.0.2.1' };

let scratch: MigratedDatabase;
let workspaceId: number;
let workspaces = 0;
let person: Person;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());
beforeEach(async () => {
  workspaces += 1;
  workspaceId = (await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace')).id;
  person = await addPerson(scratch.database, workspaceId, 'owner');
  await scratch.database.query('DELETE FROM device_logins');
});

/** A login that the person has approved and the command line has not fetched yet. */
async function approve(): Promise<string> {
  const { deviceCode, userCode } = await beginDeviceLogin(scratch.database, DEVICE);
  const [session] = await listSessions(scratch.database, person.id);
  const actor = { userId: person.id, name: '', origin: '', sessionId: session?.id ?? '' };
  const decision = { userCode: parseUserCode(userCode) ?? '', approved: true };
  expect(await decideDeviceLogin(scratch.database, workspaceId, decision, actor)).toBe(true);
  return deviceCode;
}

test('a code is read as people type it', () => {
  expect(parseUserCode('bcdf-ghjk')).toBe('BCDFGHJK');
  expect(parseUserCode(' BCDF GHJK ')).toBe('BCDFGHJK');
  for (const typed of ['', 'BCDF', 'BCDF-GHJA', 'BCDF-GHJK-L', '1234-5678']) {
    expect(parseUserCode(typed), typed).toBe(null);
  }
});

test('the 51st login ends the oldest, and no session of a browser', async () => {
  const tokens = [];
  for (let count = 0; count < 51; count += 1) {
    tokens.push(await addCommandLine(scratch.database, workspaceId, person));
  }
  const open = await Promise.all(tokens.map((token) => findCliSession(scratch.database, token)));
  expect(open.map((session) => session !== null)).toEqual([false, ...Array(50).fill(true)]);
  expect(await findSession(scratch.database, person.token)).toMatchObject({ kind: 'browser' });
  expect(await findSession(scratch.database, tokens[50] ?? '')).toBe(null);
  expect(await findCliSession(scratch.database, person.token)).toBe(null);
});

test('ten thousand wait at most, and expired ones make room', async () => {
  await scratch.database.query(
    `INSERT INTO device_logins (device_code_sha256, user_code_sha256, device_name, address, network,
                                interval_seconds, expires_at)
     SELECT sha256(n::text::bytea), sha256(('u' || n)::bytea), 'd', 'a', n::text, 5,
            now() + interval '1 minute'
       FROM generate_series(1, 10000) AS n`,
  );
  await expect(beginDeviceLogin(scratch.database, DEVICE)).rejects.toMatchObject({
    code: 'overloaded',
  });
  await scratch.database.query(
    'UPDATE device_logins SET expires_at = now() WHERE device_code_sha256 = $1',
    [digestKey('1')],
  );
  expect((await beginDeviceLogin(scratch.database, DEVICE)).userCode).toMatch(/^\w{4}-\w{4}$/);
});

describe('a password that changes while the token is fetched', () => {
  test('lets no login survive', async () => {
    const deviceCode = await approve();
    const changing = await scratch.database.connect();
    let polled: ReturnType<typeof pollDeviceLogin>;
    try {
      await changing.query('BEGIN');
      await changing.query("UPDATE users SET password_hash = 'new' WHERE id = $1", [person.id]);
      polled = pollDeviceLogin(scratch.database, deviceCode, 'sluice');
      await waitFor(
        async () =>
          (
            await scratch.rows(
              `SELECT FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event_type = 'Lock'`,
            )
          ).length > 0,
        { withinMs: WITHIN_MS, what: 'the poll waits for the user' },
      );
      await changing.query('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [
        person.id,
      ]);
      await changing.query('COMMIT');
    } finally {
      changing.release();
    }
    expect(await polled).toEqual({ state: 'denied' });
    expect(await listSessions(scratch.database, person.id)).toEqual([]);
  });
});

test('neither code is stored, and a made-up one is not found', async () => {
  const { deviceCode, userCode } = await beginDeviceLogin(scratch.database, DEVICE);
  const [row] = await scratch.rows('SELECT d::text AS all FROM device_logins d');
  expect(String(row?.all)).not.toContain(deviceCode);
  expect(String(row?.all)).not.toContain(parseUserCode(userCode) ?? '-');
  const invented = randomBytes(32).toString('base64url');
  expect(await pollDeviceLogin(scratch.database, invented, 'sluice')).toEqual({ state: 'expired' });
});
