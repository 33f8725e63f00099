/** The `standby` probe: of a standby that is configured, never of a database that is away. */
import { expect, test } from 'vitest';

import { createStandbyProbe } from '../../src/db/commit-waits.ts';
import type { Queryable } from '../../src/db/database.ts';
import { openMigratedDatabase } from '../support/database.ts';

const AWAY = new Error('away');

/** The probe of a database that answers with these states, one after the other; null: it is away. */
function probeOf(states: readonly ({ isConfigured: boolean; waiting: number } | null)[]) {
  const left = [...states];
  const query = async () => {
    const state = left.shift();
    if (state == null) throw AWAY;
    return { rows: [state] };
  };
  return createStandbyProbe({ query } as unknown as Queryable);
}

test('without a synchronous standby it passes, also when the database is away', async () => {
  const probe = probeOf([null, { isConfigured: false, waiting: 0 }, null]);
  for (let turn = 0; turn < 3; turn += 1) await expect(probe()).resolves.toBeUndefined();
});

test('with one, it fails while a COMMIT waits and while the database is away', async () => {
  const probe = probeOf([
    { isConfigured: true, waiting: 0 },
    { isConfigured: true, waiting: 1 },
    null,
    { isConfigured: false, waiting: 0 },
    null,
  ]);
  await expect(probe()).resolves.toBeUndefined();
  await expect(probe()).rejects.toThrow('1 COMMITs wait');
  await expect(probe()).rejects.toBe(AWAY);
  await expect(probe()).resolves.toBeUndefined();
  await expect(probe()).resolves.toBeUndefined();
});

test('a real server without a standby: it passes, before and after the pool has ended', async () => {
  const scratch = await openMigratedDatabase();
  const probe = createStandbyProbe(scratch.database);
  await expect(probe()).resolves.toBeUndefined();
  await scratch.close();
  await expect(probe()).resolves.toBeUndefined();
});
