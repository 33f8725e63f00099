/**
 * Every planted defect still has its place: when code moves, its entry in `test/mutants/list.ts` moves
 * with it. Whether tests notice the defect is seen by `npm run test:mutants` only.
 */
import { expect, test } from 'vitest';

import { MUTANTS } from '../mutants/list.ts';
import { faultsOf } from '../mutants/list-faults.ts';

test('each mutant has tests, and a text that is in its file once', () => {
  expect(faultsOf(MUTANTS)).toEqual([]);
});
