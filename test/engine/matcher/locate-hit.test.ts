/** Where a pattern hits in an excerpt: in UTF-16 units of what people see, or nowhere. */
import { expect, test } from 'vitest';

import { locateHit } from '../../../src/engine/matcher/locate-hit.ts';

function hitIn(pattern: string, excerpt: string): string | null {
  const range = locateHit(pattern, excerpt);
  return range === null ? null : excerpt.slice(range.start, range.end);
}

test.each([
  ['ignore all', 'please Ignore ALL of it', 'Ignore ALL'],
  ['now$', 'do it now', 'now'],
  ['caf.', 'a café 🙂', 'café'],
  ['🙂+', '🙂 is not é🙂🙂', '🙂'],
  ['secret', '…the secret is out…', 'secret'],
])('%s is found in %j as %j', (pattern, excerpt, hit) => {
  expect(hitIn(pattern, excerpt)).toBe(hit);
});

test('offsets are of UTF-16 units, behind characters of two', () => {
  expect(locateHit('key', '🙂🙂 key')).toEqual({ start: 5, end: 8 });
});

test('a hit in the normalised reading is located in the written one', () => {
  // The first letter of the second word is Cyrillic.
  expect(hitIn('ignore all', 'do ignore аll of it')).toBe('ignore аll');
});

test('a hit that the excerpt alone does not have is null', () => {
  expect(locateHit('^ignore', '…and ignore')).toBeNull();
  expect(locateHit('all of a long text', 'all of a')).toBeNull();
});

test('a pattern that RE2 does not have is nowhere, too', () => {
  expect(locateHit('(?=ahead)', 'ahead')).toBeNull();
});
