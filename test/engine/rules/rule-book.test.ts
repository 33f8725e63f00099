/** Rules of the snapshot by their ids. */
import { expect, test } from 'vitest';

import { createRuleBook } from '../../../src/engine/rules/rule-book.ts';
import { rule } from '../../web/app/fixtures.ts';

const SNAPSHOT = { version: '1', date: '2026-01-01', files: 1, sha256: '', identity: '' };
const RULE = rule({ id: 'ATR-2026-00001', title: 'Direct prompt injection' });
const book = createRuleBook({ snapshot: SNAPSHOT, rules: [RULE] });

test('a rule is found by its id', () => {
  expect(book.find('ATR-2026-00001')).toBe(RULE);
  expect(book.titleOf('ATR-2026-00001')).toBe('Direct prompt injection');
});

test('an id that the snapshot does not have has no rule, and is its own title', () => {
  expect(book.find('ATR-2020-00001')).toBeNull();
  expect(book.titleOf('ATR-2020-00001')).toBe('ATR-2020-00001');
});
