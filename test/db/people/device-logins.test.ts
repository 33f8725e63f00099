/** Logins of command lines by the clock: how long a code lives, how often it is polled, decided once. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { inTransaction } from '../../../src/db/database.ts';
import {
  beginDeviceLogin,
  decideDeviceLogin,
  findDeviceLogin,
  parseUserCode,
  pollDeviceLogin,
} from '../../../src/db/people/device-logins.ts';
import { findCliSession, listSessions } from '../../../src/db/people/sessions.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { SessionActor } from '../../../src/model/people.ts';
import { type ClockedDatabase, openClockedDatabase } from '../../support/database.ts';
import { addPerson, type Person } from '../../support/people.ts';

const DEVICE = { name: 'a device', address: '192.0.2.1', network: '192.0.2.1' };

let scratch: ClockedDatabase;
let workspaceId: number;
let workspaces = 0;
let person: Person;
let actor: SessionActor;
beforeAll(async () => {
  scratch = await openClockedDatabase();
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.setClock('0');
  await scratch.rows('DELETE FROM device_logins');
  workspaces += 1;
  workspaceId = (await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace')).id;
  person = await addPerson(scratch.database, workspaceId, 'owner');
  const [session] = await listSessions(scratch.database, person.id);
  actor = { userId: person.id, name: '', origin: '', sessionId: session?.id ?? '' };
});

async function begin(network = DEVICE.network): Promise<{ device: string; user: string }> {
  const { deviceCode, userCode } = await beginDeviceLogin(scratch.database, { ...DEVICE, network });
  return { device: deviceCode, user: parseUserCode(userCode) ?? '' };
}
const decide = (userCode: string, approved: boolean) =>
  decideDeviceLogin(scratch.database, workspaceId, { userCode, approved }, actor);
const find = (userCode: string) => findDeviceLogin(scratch.database, userCode);
const poll = async (deviceCode: string) =>
  (await pollDeviceLogin(scratch.database, deviceCode, 'sluice')).state;
const waiting = async () => (await scratch.rows('SELECT FROM device_logins')).length;

describe('a code', () => {
  test.each([
    ['10 minutes -1 us', true],
    ['10 minutes', false],
  ])('is good after %s: %s', async (age, isGood) => {
    const [typed, polled, approved] = [await begin(), await begin(), await begin()];
    expect(await decide(approved.user, true)).toBe(true);
    await scratch.setClock(age);
    expect((await find(typed.user)) !== null).toBe(isGood);
    expect(await decide(typed.user, true)).toBe(isGood);
    expect(await poll(polled.device)).toBe(isGood ? 'waiting' : 'expired');
    expect(await poll(approved.device)).toBe(isGood ? 'approved' : 'expired');
    await begin();
    // An approved one that was fetched is gone, and expired ones make room.
    expect(await waiting()).toBe(isGood ? 3 : 1);
  });

  test.each([
    [true, 'approved'],
    [false, 'denied'],
  ])('is decided once: %s', async (approved, state) => {
    const { device, user } = await begin();
    expect(await find(user)).toMatchObject({ deviceName: DEVICE.name });
    expect(await decide(user, approved)).toBe(true);
    expect(await find(user)).toBeNull();
    expect([await decide(user, !approved), await decide(user, approved)]).toEqual([false, false]);
    expect([await poll(device), await poll(device)]).toEqual([state, 'expired']);
  });

  test('is fetched by one of two polls at once', async () => {
    const { device, user } = await begin();
    await decide(user, true);
    const states = await inTransaction(scratch.database, async (other) => {
      // What a poll waits for when it has found the login.
      await other.query("UPDATE users SET display_name = 'New' WHERE id = $1", [person.id]);
      const polls = [poll(device), poll(device)];
      await scratch.blocked(2);
      return polls;
    });
    expect((await Promise.all(states)).sort()).toEqual(['approved', 'expired']);
  });

  test.each([
    ['5 minutes -1 us', 'approved'],
    ['5 minutes', 'denied'],
  ])('of somebody whose own session ends in 5 minutes, after %s: %s', async (age, state) => {
    await scratch.rows(
      "UPDATE sessions SET expires_at = now() + interval '5 minutes' WHERE user_id = $1",
      [person.id],
    );
    const { device, user } = await begin();
    await decide(user, true);
    await scratch.setClock(age);
    expect(await poll(device)).toBe(state);
  });

  test.each([
    ['30 days -1 us', true],
    ['30 days', false],
  ])('gives a command line that is used every day: after %s open: %s', async (age, isOpen) => {
    const { device, user } = await begin();
    await decide(user, true);
    const answer = await pollDeviceLogin(scratch.database, device, 'sluice');
    await scratch.setClock(age);
    await scratch.rows("UPDATE sessions SET last_seen_at = now() WHERE kind = 'cli'");
    const token = answer.state === 'approved' ? answer.token : '';
    expect((await findCliSession(scratch.database, token)) !== null).toBe(isOpen);
  });
});

describe('a poll', () => {
  test('comes too early within the interval, which grows by five seconds up to a minute', async () => {
    const { device } = await begin();
    expect(await poll(device)).toBe('waiting');
    await scratch.setClock('5 s');
    expect(await poll(device)).toBe('waiting');
    await scratch.setClock('10 s -1 us');
    expect(await poll(device)).toBe('slow_down');
    await scratch.setClock('20 s -2 us');
    expect(await poll(device)).toBe('slow_down');
    await scratch.setClock('35 s -2 us');
    expect(await poll(device)).toBe('waiting');
    for (let early = 0; early < 12; early += 1) expect(await poll(device)).toBe('slow_down');
    await scratch.setClock('95 s -3 us');
    expect(await poll(device)).toBe('slow_down');
    await scratch.setClock('155 s -3 us');
    expect(await poll(device)).toBe('waiting');
  });

  test('that comes too early does not fetch the token, which is kept for the next one', async () => {
    const { device, user } = await begin();
    await poll(device);
    await decide(user, true);
    await scratch.setClock('5 s -1 us');
    expect(await poll(device)).toBe('slow_down');
    await scratch.setClock('15 s -1 us');
    expect(await poll(device)).toBe('approved');
  });
});

test('twenty of one network wait at most, and one that expires makes room', async () => {
  for (let at = 0; at < 19; at += 1) await begin();
  await scratch.setClock('1 us');
  await begin();
  await expect(begin()).rejects.toMatchObject({ code: 'too_many_attempts' });
  await begin('192.0.2.2');
  await scratch.setClock('10 minutes');
  await begin();
  expect(await waiting()).toBe(3);
});
