/** What of a run was checked, in every state. */
import { expect, test } from 'vitest';
import { checkOf } from '../../src/model/run-check.ts';
import { CHECKED_CASES, checkedFields } from '../support/checked-runs.ts';

test.each(CHECKED_CASES)('a run $what: $checked', (one) => {
  expect(checkOf(checkedFields(one))).toEqual({ checked: one.checked, limits: one.limits });
});

test.each(CHECKED_CASES)('a run $what is not fully checked where a block cannot be read', (one) => {
  const { checked, limits } = checkOf({
    ...checkedFields(one),
    unreadable: { blocks: 1, steps: 20 },
  });
  expect(checked).toBe(one.checked === 'fully' ? 'partly' : one.checked);
  expect(limits.includes('unreadable_blocks')).toBe(!['pending', 'failed'].includes(checked));
});
