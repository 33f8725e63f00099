/**
 * Requests of command lines to sign in: device authorization in the style of RFC 8628.
 *
 *   begun ─► waiting ──approved by a signed-in user──► approved ──polled──► a session, the row is gone
 *               │ └────────denied────────► denied ──polled──► gone
 *               └── LIFE_MINUTES ──► expired, at any point; removed by a later beginning
 *
 * The device code is 32 random bytes that only the command line knows. The user code is short, because
 * a person types it: it is worth nothing without a signed-in session, lives for minutes, and attempts are
 * limited (settings-pages.ts).
 */
import { randomBytes, randomInt } from 'node:crypto';

import { SluiceError } from '../../errors.ts';
import type { DeviceLogin, DevicePoll, SessionActor } from '../../model/people.ts';
import { type Connection, type Database, inTransaction } from '../database.ts';
import { type Approval, createCliSession } from './cli-logins.ts';
import { digestKey } from './keys.ts';

const DEVICE_CODE_BYTES = 32;
/** Without vowels, so that no code is a word, and without digits, which look like letters. */
const USER_CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const USER_CODE_CHARS = 8;
const LIFE_MINUTES = 10;
const INTERVAL_SECONDS = 5;
/** Added by each poll that comes too early (RFC 8628, 3.5). */
const SLOWER_SECONDS = 5;
const INTERVAL_SECONDS_MAX = 60;
const WAITING_MAX = 10_000;
const WAITING_OF_NETWORK_MAX = 20;
/** Attempts to find a user code that is free: with 10,000 in use, one in 2.5 million is taken. */
const ATTEMPTS_MAX = 3;
/** Advisory lock of beginnings, so that the limits are exact. */
const LOCK = 0x64657669;
const SECONDS_PER_MINUTE = 60;

const LIVE = 'expires_at > now()';

interface Device {
  readonly name: string;
  readonly address: string;
  readonly network: string;
}

function randomUserCode(): string {
  return Array.from(
    { length: USER_CODE_CHARS },
    () => USER_CODE_LETTERS[randomInt(USER_CODE_LETTERS.length)],
  ).join('');
}

/** The code that a person typed, in capitals and without dashes and spaces; null if it cannot be one. */
export function parseUserCode(text: string): string | null {
  const code = text.toUpperCase().replaceAll(/[\s–-]/g, '');
  return new RegExp(`^[${USER_CODE_LETTERS}]{${USER_CODE_CHARS}}$`).test(code) ? code : null;
}

async function checkRoom(connection: Connection, network: string): Promise<void> {
  await connection.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
  await connection.query(`DELETE FROM device_logins WHERE NOT ${LIVE}`);
  const { rows } = await connection.query<{ all: number; ofNetwork: number }>(
    `SELECT count(*)::int AS "all", (count(*) FILTER (WHERE network = $1))::int AS "ofNetwork"
       FROM device_logins`,
    [network],
  );
  const { all = 0, ofNetwork = 0 } = rows[0] ?? {};
  if (ofNetwork >= WAITING_OF_NETWORK_MAX) {
    throw new SluiceError(
      'too_many_attempts',
      'Too many command lines on your network are waiting to sign in. Try again later.',
      {
        shortage: 'command_line_logins',
        retryAfterSeconds: SECONDS_PER_MINUTE,
      },
    );
  }
  if (all >= WAITING_MAX) {
    throw new SluiceError(
      'overloaded',
      'Too many command lines are waiting to sign in. Try again later.',
      {
        retryAfterSeconds: SECONDS_PER_MINUTE,
      },
    );
  }
}

/** Begins a login. The codes cannot be read again. */
export async function beginDeviceLogin(
  database: Database,
  { name, address, network }: Device,
): Promise<{
  deviceCode: string;
  userCode: string;
  expiresInSeconds: number;
  intervalSeconds: number;
}> {
  const deviceCode = randomBytes(DEVICE_CODE_BYTES).toString('base64url');
  const userCode = await inTransaction(database, async (connection) => {
    await checkRoom(connection, network);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const code = randomUserCode();
      const { rowCount } = await connection.query(
        `INSERT INTO device_logins (device_code_sha256, user_code_sha256, device_name, address,
                                    network, interval_seconds, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, now() + interval '${LIFE_MINUTES} minutes')
         ON CONFLICT (user_code_sha256) DO NOTHING`,
        [digestKey(deviceCode), digestKey(code), name, address, network, INTERVAL_SECONDS],
      );
      if (rowCount === 1) return code;
    }
    throw new Error('no free user code was found');
  });
  const half = USER_CODE_CHARS / 2;
  return {
    deviceCode,
    userCode: `${userCode.slice(0, half)}-${userCode.slice(half)}`,
    expiresInSeconds: LIFE_MINUTES * SECONDS_PER_MINUTE,
    intervalSeconds: INTERVAL_SECONDS,
  };
}

/** The login that waits for a decision under a user code; null when it was decided, or has expired. */
export async function findDeviceLogin(
  database: Database,
  userCode: string,
): Promise<DeviceLogin | null> {
  const { rows } = await database.query<DeviceLogin>(
    `SELECT device_name AS "deviceName", address, created_at AS "createdAt",
            expires_at AS "expiresAt"
       FROM device_logins WHERE user_code_sha256 = $1 AND approved IS NULL AND ${LIVE}`,
    [digestKey(userCode)],
  );
  return rows[0] ?? null;
}

/** Approves or denies a login. The permission is checked again when the command line fetches its token. */
export async function decideDeviceLogin(
  database: Database,
  workspaceId: number,
  { userCode, approved }: { readonly userCode: string; readonly approved: boolean },
  { sessionId, userId }: SessionActor,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE device_logins SET approved = $2, session_id = $3, user_id = $4, workspace_id = $5
      WHERE user_code_sha256 = $1 AND approved IS NULL AND ${LIVE}`,
    [digestKey(userCode), approved, sessionId, userId, workspaceId],
  );
  return rowCount === 1;
}

interface PolledRow extends Approval {
  readonly approved: boolean | null;
  readonly isEarly: boolean;
}

/** A command line's request for its token. An approved login gives it once. */
export async function pollDeviceLogin(
  database: Database,
  deviceCode: string,
  brand: string,
): Promise<DevicePoll> {
  const digest = digestKey(deviceCode);
  return await inTransaction(database, async (connection): Promise<DevicePoll> => {
    const { rows } = await connection.query<PolledRow>(
      `SELECT approved, device_name AS "deviceName", address, session_id AS "sessionId",
              user_id AS "userId", workspace_id AS "workspaceId",
              coalesce(polled_at > now() - make_interval(secs => interval_seconds), false)
                AS "isEarly"
         FROM device_logins WHERE device_code_sha256 = $1 AND ${LIVE} FOR UPDATE`,
      [digest],
    );
    const [login] = rows;
    if (login === undefined) return { state: 'expired' };
    if (login.isEarly) {
      await connection.query(
        `UPDATE device_logins SET polled_at = now(),
                interval_seconds = least(interval_seconds + $2, $3)
          WHERE device_code_sha256 = $1`,
        [digest, SLOWER_SECONDS, INTERVAL_SECONDS_MAX],
      );
      return { state: 'slow_down' };
    }
    if (login.approved === null) {
      await connection.query(
        'UPDATE device_logins SET polled_at = now() WHERE device_code_sha256 = $1',
        [digest],
      );
      return { state: 'waiting' };
    }
    await connection.query('DELETE FROM device_logins WHERE device_code_sha256 = $1', [digest]);
    const session = login.approved ? await createCliSession(connection, login, brand) : null;
    return session === null ? { state: 'denied' } : { state: 'approved', ...session };
  });
}
