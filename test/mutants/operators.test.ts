// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are texts of sources
/** Which defects are planted in a line of source. */
import { expect, test } from 'vitest';

import { defectsOf } from './operators.ts';

test.each<[string, string[]]>([
  ['  return a < b && c;', ['  return a <= b && c;', '  return a < b || c;']],
  ['a >= b || c !== d', ['a > b || c !== d', 'a >= b && c !== d', 'a >= b || c === d']],
  ['const ROWS_MAX = 1_000;', ['const ROWS_MAX = 1001;', 'const ROWS_MAX = 999;']],
  ["  interval '7 days'", ["  interval '8 days'", "  interval '6 days'"]],
  ['  if (isOwner(a)) throw x;', ['  if (!(isOwner(a))) throw x;', '  if (false) throw x;']],
  ['  if (of(a).b', []],
  ['  ownersOnly(by, member.role);', ['']],
  ['  await this.#keepAnOwner(connection);', ['']],
  ['  super(message);', []],
  ['  const isOpen = checkOpen(a);', []],
  ['WHERE id = $1 AND ${OPEN}`,', ['WHERE id = $1`,']],
  ['  AND (a OR b) AND c', ['  AND c', '  AND (a OR b)']],
  ['WHERE (a AND ${of(b)}) ORDER BY c', ['WHERE (a) ORDER BY c']],
  ['WHERE a AND b > now() FOR UPDATE', ['WHERE a AND b >= now() FOR UPDATE', 'WHERE a FOR UPDATE']],
  ['WHERE a BETWEEN $1 AND $2', []],
  ['  AND EXISTS (SELECT', []],
  ['Array<string>', []],
  ['sha256(x).map((one) => one.v1)', []],
  ['  // a < b', []],
  [' * Most are 5.', []],
  ["import { a } from './b2.ts';", []],
])('%s', (line, defects) => {
  expect(defectsOf(line)).toEqual(defects);
});
