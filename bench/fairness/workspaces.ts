/** Workspaces of the benchmarks of fairness. */
import type pg from 'pg';

import { createKey } from '../../src/db/people/keys.ts';
import { createWorkspace } from '../../src/db/people/workspaces.ts';
import { RATE_LIMIT_MAX } from '../../src/model/people.ts';

/** Creates a workspace, and a key of its agents whose limit is out of the way. */
export async function addWorkspace(
  client: pg.Client,
  slug: string,
): Promise<{ readonly id: number; readonly key: string }> {
  const { id } = await createWorkspace(client, slug, slug);
  const { key } = await createKey(client, {
    workspaceId: id,
    kind: 'agent',
    name: 'bench',
    rateLimitPerMinute: RATE_LIMIT_MAX,
    brand: 'sluice',
  });
  return { id, key };
}
