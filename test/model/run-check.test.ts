/** What of a run was checked, in every state. */
import { expect, test } from 'vitest';
import { checkOf } from '../../src/model/run-check.ts';
import { CHECKED_CASES, checkedFields } from '../support/checked-runs.ts';

test.each(CHECKED_CASES)('a run $what: $checked', (one) => {
  expect(checkOf(checkedFields(one))).toEqual({ checked: one.checked, limits: one.limits });
});
