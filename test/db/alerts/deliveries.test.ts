/** The log of sent messages keeps the latest, and only what is dead is queued again. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import {
  listDead,
  listDeliveries,
  logDelivery,
  sendAgain,
} from '../../../src/db/alerts/deliveries.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { type ClockedDatabase, openClockedDatabase } from '../../support/database.ts';
import { hex16 } from '../../support/rows.ts';

let scratch: ClockedDatabase;
let workspaceId: number;
let other: number;
beforeAll(async () => {
  scratch = await openClockedDatabase();
  workspaceId = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  other = (await createWorkspace(scratch.database, 'other', 'Other')).id;
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.setClock('0');
  await scratch.rows('TRUNCATE alert_destinations, alert_outbox, alert_deliveries');
});

const log = (messageId: string, of = workspaceId) =>
  logDelivery(
    scratch.database,
    of,
    { id: 1, name: 'one' },
    {
      messageId,
      kind: 'incident',
      findings: 1,
      attempt: 1,
      outcome: 'delivered',
      httpStatus: 200,
      failure: null,
    },
  );

test('the latest hundred messages of a workspace are kept, the newest first', async () => {
  await log('of another', other);
  for (let at = 1; at <= 102; at += 1) {
    await log(`m${at}`);
    expect(await listDeliveries(scratch.database, workspaceId)).toHaveLength(Math.min(at, 100));
  }
  const ids = (await listDeliveries(scratch.database, workspaceId)).map((one) => one.messageId);
  expect(ids).toEqual(Array.from({ length: 100 }, (_, at) => `m${102 - at}`));
  expect(await scratch.rows('SELECT FROM alert_deliveries')).toHaveLength(101);
});

test('a dead message is queued again as if it were new; one that waits is left as it is', async () => {
  await scratch.rows(
    `INSERT INTO alert_destinations (workspace_id, name, format, url, severities)
     VALUES ($1, 'one', 'json', 'https://a.test', '{high}')`,
    [workspaceId],
  );
  const [{ id = 0 } = {}] = (await scratch.rows('SELECT id FROM alert_destinations')) as {
    id: number;
  }[];
  await scratch.rows(
    `INSERT INTO alert_outbox (workspace_id, destination_id, finding_id, run_id, message_id, attempts,
                               due_at, dead_at)
     SELECT $1, $2, lpad(n::text, 32, '0')::uuid, lpad(n::text, 32, '0')::uuid, CASE WHEN n > 2 THEN lpad('9', 32, '0')::uuid END,
            7, now() + interval '1 hour', CASE WHEN n <> 2 THEN now() END
       FROM generate_series(1, 4) AS n`,
    [workspaceId, id],
  );
  await scratch.setClock('40 hours');
  const again = (message: number, of = workspaceId) =>
    sendAgain(scratch.database, of, id, hex16(message));
  // Of another workspace, one that waits, and a finding that is a part of a digest.
  expect([await again(1, other), await again(2), await again(3)]).toEqual([false, false, false]);
  expect([await again(1), await again(9), await again(1)]).toEqual([true, true, false]);
  expect(
    await scratch.rows(
      `SELECT attempts, queued_at = now() AS new, due_at = now() AS due, dead_at IS NULL AS lives
         FROM alert_outbox ORDER BY finding_id`,
    ),
  ).toEqual([
    { attempts: 0, new: true, due: true, lives: true },
    { attempts: 7, new: false, due: false, lives: true },
    { attempts: 0, new: true, due: true, lives: true },
    { attempts: 0, new: true, due: true, lives: true },
  ]);
  expect(await listDead(scratch.database, workspaceId)).toEqual([]);
});
