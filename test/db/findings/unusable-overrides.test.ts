/** The overrides that have no effect, of all workspaces: what the review of a refresh lists. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listUnusableOverrides } from '../../../src/db/findings/rule-settings.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';

let scratch: MigratedDatabase;
beforeEach(async () => {
  scratch = await openMigratedDatabase();
});
afterEach(() => scratch.close());

test('are listed by workspace and rule, up to a limit', async () => {
  const { database } = scratch;
  for (const slug of ['zebra', 'ant']) {
    const { id } = await createWorkspace(database, slug, slug);
    await database.query(
      `INSERT INTO rule_overrides (workspace_id, rule_id, enabled)
       VALUES ($1, 'ATR-2026-00003', false), ($1, 'ATR-2026-00001', true), ($1, 'ATR-2026-00002', true)`,
      [id],
    );
  }
  const gone = [
    { workspace: 'ant', ruleId: 'ATR-2026-00001', enabled: true },
    { workspace: 'ant', ruleId: 'ATR-2026-00003', enabled: false },
    { workspace: 'zebra', ruleId: 'ATR-2026-00001', enabled: true },
    { workspace: 'zebra', ruleId: 'ATR-2026-00003', enabled: false },
  ];
  const runnable = ['ATR-2026-00002'];
  expect(await listUnusableOverrides(database, runnable, 10)).toEqual(gone);
  expect(await listUnusableOverrides(database, runnable, 3)).toEqual(gone.slice(0, 3));
});
