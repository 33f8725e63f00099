/** Destinations by the clock: how long a replaced secret signs, what a change sets back, how many there may be. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import {
  createDestination,
  findDestination,
  pauseDestination,
  renewSecret,
  updateDestination,
} from '../../../src/db/alerts/destinations.ts';
import { claimDestinations } from '../../../src/db/alerts/outbox.ts';
import { COMMAND_LINE } from '../../../src/db/people/audit.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { AlertTarget, DestinationSettings } from '../../../src/model/alerts.ts';
import { type ClockedDatabase, openClockedDatabase } from '../../support/database.ts';

const WEBHOOK: AlertTarget = { format: 'json', url: 'https://a.test/hook' };
const EMAIL: AlertTarget = { format: 'email', recipients: ['a@mail.test'] };

let scratch: ClockedDatabase;
let workspaceId: number;
let workspaces = 0;
beforeAll(async () => {
  scratch = await openClockedDatabase();
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.setClock('0');
  await scratch.rows('TRUNCATE alert_destinations, alert_outbox');
  workspaces += 1;
  workspaceId = (await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace')).id;
});

const settings = (target: AlertTarget): DestinationSettings => ({
  name: 'one',
  target,
  filter: { minSeverity: 'high', categories: [], agent: null, agentMatch: 'equals' },
  showsUser: false,
});
const create = (target: AlertTarget = WEBHOOK) =>
  createDestination(scratch.database, workspaceId, settings(target), COMMAND_LINE);
const renew = (id: number) => renewSecret(scratch.database, workspaceId, id, COMMAND_LINE);

/** The secrets that messages to the test and to a finding's destination are signed with. */
async function secretsOf(id: number): Promise<(string[] | undefined)[]> {
  await scratch.rows('DELETE FROM alert_outbox');
  await scratch.rows('UPDATE alert_destinations SET lease_until = NULL');
  await scratch.rows(
    `INSERT INTO alert_outbox (workspace_id, destination_id, finding_id, run_id)
     VALUES ($1, $2, gen_random_uuid(), gen_random_uuid())`,
    [workspaceId, id],
  );
  const [claimed] = await claimDestinations(scratch.database, { free: 1, heldBy: new Map() });
  const found = await findDestination(scratch.database, workspaceId, id);
  return [claimed, found].map((one) =>
    one?.secrets.map((secret) => `whsec_${secret.toString('base64')}`),
  );
}

test('a replaced secret signs beside the new one for two days, and then no more', async () => {
  const { id, secret } = await create();
  expect(await secretsOf(id)).toEqual([[secret], [secret]]);
  const second = await renew(id);
  await scratch.setClock('2 days -1 us');
  expect(await secretsOf(id)).toEqual(Array(2).fill([second, secret]));
  await scratch.setClock('2 days');
  expect(await secretsOf(id)).toEqual(Array(2).fill([second]));
  const third = await renew(id);
  expect(await secretsOf(id)).toEqual(Array(2).fill([third, second]));
  // One that is replaced again before its time takes the place of the older one.
  const fourth = await renew(id);
  expect(await secretsOf(id)).toEqual(Array(2).fill([fourth, third]));
});

test('an e-mail has no secret, and none is made for it', async () => {
  const { id, secret } = await create(EMAIL);
  expect(secret).toBeNull();
  await expect(renew(id)).rejects.toMatchObject({ code: 'conflict' });
  expect(await secretsOf(id)).toEqual([[], []]);
});

test.each([
  [WEBHOOK, EMAIL],
  [EMAIL, WEBHOOK],
])('%o does not become %o', async (from, to) => {
  const { id } = await create(from);
  const change = (target: AlertTarget) =>
    updateDestination(scratch.database, workspaceId, id, settings(target), COMMAND_LINE);
  await expect(change(to)).rejects.toMatchObject({ code: 'conflict' });
  await change(from);
});

test.each([
  [
    'changed',
    (id: number) => {
      const changed = { ...settings(WEBHOOK), name: 'another' };
      return updateDestination(scratch.database, workspaceId, id, changed, COMMAND_LINE);
    },
  ],
  [
    'resumed',
    async (id: number) => {
      await pauseDestination(scratch.database, workspaceId, id, true, COMMAND_LINE);
      await scratch.rows("UPDATE alert_destinations SET next_at = now() + interval '1 hour'");
      await pauseDestination(scratch.database, workspaceId, id, false, COMMAND_LINE);
    },
  ],
])(
  'one that has failed and is %s is tried at once, as if it had not failed',
  async (_how, change) => {
    const { id } = await create();
    await scratch.rows(
      "UPDATE alert_destinations SET failures = 5, next_at = now() + interval '1 hour'",
    );
    await change(id);
    expect(
      await scratch.rows('SELECT failures, next_at <= now() AS due FROM alert_destinations'),
    ).toEqual([{ failures: 0, due: true }]);
  },
);

test('a workspace has twenty at most, whatever others have', async () => {
  for (let at = 0; at < 20; at += 1) await create();
  await expect(create()).rejects.toMatchObject({ code: 'conflict' });
  workspaceId = (await createWorkspace(scratch.database, `x${workspaces}`, 'Another')).id;
  await create();
});
