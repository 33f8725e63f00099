/** When sessions end, by the clock, and what counts towards their limits. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { endSessions } from '../../../src/db/people/cli-logins.ts';
import {
  createSession,
  findCliSession,
  findSession,
  limitSessions,
  listSessions,
  revokeSessions,
  revokeToken,
} from '../../../src/db/people/sessions.ts';
import { renameWorkspace } from '../../../src/db/people/workspace-writes.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { type ClockedDatabase, openClockedDatabase } from '../../support/database.ts';
import { addCommandLine, addPerson, type Person } from '../../support/people.ts';

let scratch: ClockedDatabase;
let workspaceId: number;
let workspaces = 0;
let person: Person;
beforeAll(async () => {
  scratch = await openClockedDatabase();
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.setClock('0');
  workspaces += 1;
  workspaceId = (await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace')).id;
  person = await addPerson(scratch.database, workspaceId, 'owner');
});

const rowsOf = () =>
  scratch.rows(
    `SELECT id, last_seen_at AS seen, revoked_at AS revoked FROM sessions WHERE user_id = $1
      ORDER BY created_at`,
    [person.id],
  );
/** The person's only session: of a browser, or of a command line that a browser has confirmed. */
async function only(kind: 'browser' | 'cli'): Promise<string> {
  if (kind === 'browser') return person.token;
  const token = await addCommandLine(scratch.database, workspaceId, person);
  await scratch.rows("DELETE FROM sessions WHERE user_id = $1 AND kind = 'browser'", [person.id]);
  return token;
}

describe.each([
  ['browser', 'unused', '12 hours'],
  ['browser', 'used', '7 days'],
  ['cli', 'unused', '14 days'],
  ['cli', 'used', '30 days'],
] as const)('a session of the kind %s that is %s', (kind, use, life) => {
  test.each([
    ['before', true],
    ['at', false],
  ])(`%s the end of ${life} is open: %s`, async (side, isOpen) => {
    const { database } = scratch;
    const token = await only(kind);
    await scratch.setClock(side === 'at' ? life : `${life} -1 us`);
    if (use === 'used') {
      await scratch.rows('UPDATE sessions SET last_seen_at = now() WHERE user_id = $1', [
        person.id,
      ]);
    }
    const [row] = await rowsOf();
    const actor = { userId: person.id, name: '', origin: '', sessionId: String(row?.id) };
    const rename = renameWorkspace(database, workspaceId, 'Renamed', actor);
    if (isOpen) await rename;
    else await expect(rename).rejects.toMatchObject({ code: 'not_signed_in' });
    const count = Number(isOpen);
    expect(await listSessions(database, person.id)).toHaveLength(count);
    const found = kind === 'cli' ? findCliSession : findSession;
    expect((await found(database, token)) !== null).toBe(isOpen);
    const other = { except: '0'.repeat(32) };
    expect(await endSessions(database, person.id, other, actor)).toBe(count);
    const ended = await scratch.rows(
      "SELECT FROM audit_ledger WHERE workspace_id = $1 AND action = 'cli.revoked'",
      [workspaceId],
    );
    expect(ended).toHaveLength(kind === 'cli' ? count : 0);
  });
});

test.each([
  ['60 s', 'as it was'],
  ['60 s 1 us', 'written'],
])('the last use, %s after the one that was written, is %s', async (later, what) => {
  const [before] = await rowsOf();
  await scratch.setClock(later);
  expect(await findSession(scratch.database, person.token)).not.toBeNull();
  const [after] = await rowsOf();
  expect(after?.seen).toEqual(
    what === 'written' ? new Date(Number(before?.seen) + 60_000) : before?.seen,
  );
});

test('of the fifty that may be open, those that have ended take no place', async () => {
  const session = { userId: person.id, workspaceSlug: null, userAgent: '', address: '' };
  for (let more = 0; more < 50; more += 1) {
    await scratch.setClock(`${more + 1} s`);
    const created = await createSession(scratch.database, session);
    expect(await revokeToken(scratch.database, created?.token ?? '')).toBe(person.id);
  }
  await createSession(scratch.database, session);
  expect(await findSession(scratch.database, person.token)).not.toBeNull();
});

test.each([
  ['37 days', 1],
  ['37 days 1 us', 0],
])(
  'a session of a week leaves its row for thirty days: after %s there are %d',
  async (age, rows) => {
    await scratch.setClock(age);
    await limitSessions(scratch.database, person.id, 'browser');
    expect(await rowsOf()).toHaveLength(rows);
  },
);

test('a session is revoked once: what is revoked again keeps its time', async () => {
  const { database } = scratch;
  expect(await revokeToken(database, person.token)).toBe(person.id);
  const before = await rowsOf();
  await scratch.setClock('1 s');
  expect(await revokeToken(database, person.token)).toBeNull();
  expect(await revokeSessions(database, person.id, null)).toBe(0);
  expect(await rowsOf()).toEqual(before);
});
