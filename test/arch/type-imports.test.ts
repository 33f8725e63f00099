/**
 * `http` knows `db` by its types only: what it reads and writes comes with the store that `main`
 * creates and hands over. Read from source text; comments and strings that look like imports count.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const HTTP = fileURLToPath(new URL('../../src/http/', import.meta.url));

/** A statement or expression that names a module of `db`, from `import`, `export` or `require` on. */
const NAMES_DB = /\b(?:import|export|require)\b[^;'"`]*['"`](?:\.\.\/)+db\/[^'"`]*['"`]/g;

/** What names a module of `db` and is not erased with the types. */
const valueImports = (text: string): string[] =>
  [...text.matchAll(NAMES_DB)]
    .map(([found]) => found)
    .filter((found) => !/^import type\b/.test(found));

test.each([
  `import { a } from '../db/a.ts';`,
  `import { type A } from '../../db/a.ts';`,
  `import {\n  a,\n} from "../../db/a.ts";`,
  `import '../db/a.ts';`,
  'const a = await import(`../db/a.ts`);',
  `const a = require('../db/a.ts');`,
  `export { a } from '../db/a.ts';`,
  `export type { A } from '../db/a.ts';`,
])('the checker sees %s', (text) => {
  expect(valueImports(`import type { B } from '../db/b.ts';\n${text}`)).toHaveLength(1);
});

test('nothing of http imports a value of db', () => {
  const found = readdirSync(HTTP, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) =>
      valueImports(readFileSync(join(HTTP, name), 'utf8')).map((text) => `${name}: ${text}`),
    );
  expect(found).toEqual([]);
});
