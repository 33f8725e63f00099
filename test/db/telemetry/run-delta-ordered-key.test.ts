/** Keys of rows sort as PostgreSQL sorts the columns: writers of any version lock in one order. */
import { expect, test } from 'vitest';

import { inKeyOrder, orderedKey } from '../../../src/db/telemetry/run-delta.ts';

test('by the number of the workspace, then by the id', () => {
  const pairs = [
    [10, 'a0'],
    [9, 'b0'],
    [2_147_483_647, '00'],
    [10, '9f'],
    [1, 'ff'],
  ] as const;
  const rows = new Map(
    pairs.map(([workspaceId, id]) => [orderedKey(workspaceId, id), [workspaceId, id]]),
  );
  expect(inKeyOrder(rows)).toEqual([
    [1, 'ff'],
    [9, 'b0'],
    [10, '9f'],
    [10, 'a0'],
    [2_147_483_647, '00'],
  ]);
});
