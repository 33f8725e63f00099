/** Documents that list what code defines must list the same. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { RELAY_SETTINGS, SETTINGS } from '../../src/config/settings.ts';
import { ERRORS } from '../../src/errors.ts';
import { someOf } from '../support/cases.ts';
import { filesIn } from './source-file.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('docs/configuration.md lists every setting, with its default and description', () => {
  /** Defaults that depend on the machine or on other settings are described in words. */
  const inWords = new Map([
    ['BASE_URL', 'from `HOST` and `PORT`'],
    ['OBSERVE_URL', 'from `HOST` and `OBSERVE_PORT`'],
    ['MATCH_THREADS', 'cores − 1, at most 24'],
  ]);
  const rows = Object.entries(SETTINGS).map(([name, schema]) => {
    const fallback = inWords.get(name) ?? String(schema.parse(undefined) ?? '');
    return `| \`${name}\` | ${fallback || '–'} | ${schema.description} |`;
  });
  const relay = Object.entries(RELAY_SETTINGS).map(
    ([name, about]) => `| \`${name}\` | – | ${about} |`,
  );
  const table = [...read('docs/configuration.md').matchAll(/^\| `(?!OAUTH_)[A-Z_]+` \|.*$/gm)];
  expect(table.map(([row]) => row)).toEqual([...rows, ...relay]);
});

test('docs/errors.md lists every error with its status and whether to retry', () => {
  const rows = [
    ...read('docs/errors.md').matchAll(/^\| <a id="(\w+)"><\/a>`(\w+)` \| (\d+) \| (yes|no) \|/gm),
  ].map(([, anchor, code, status, retry]) => [anchor, code, Number(status), retry === 'yes']);
  const known = Object.entries(ERRORS).map(([code, { status, retryable }]) => {
    return [code, code, status, retryable];
  });
  expect(rows.sort()).toEqual(known.sort());
});

test('dependencies.md has a line for every dependency', () => {
  const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
  const page = read('docs/decisions/dependencies.md');
  const named = (name: string) =>
    page.includes(`\`${name}\``) || page.includes(`\`${name.split('/')[0]}/*\``);
  const all = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
    Object.keys(manifest[kind] ?? {}),
  );
  expect(all.filter((name) => !named(name))).toEqual([]);
});

test('every dependency is pinned exactly', () => {
  const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
  for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    for (const [name, version] of someOf(Object.entries(manifest[kind] ?? {}))) {
      expect(version, name).toMatch(/^(npm:[\w-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/);
    }
  }
});

const FOLDERS = ['src', 'test', 'bench', 'bin', 'demo'];
/** Files and the folders they are in. */
const FILES = [
  ...new Set(
    FOLDERS.flatMap(filesIn).flatMap((path) =>
      path.split('/').map((_part, at, parts) => parts.slice(0, at + 1).join('/')),
    ),
  ),
];

/** Whether there is a file or folder of a name, in which `*` stands for any part of one name. */
function exists(name: string): boolean {
  const source = name.replace(/\/$/, '').replaceAll('.', '\\.').replaceAll('*', '[^/]*');
  const pattern = new RegExp(`^${source}$`);
  return FILES.some((path) => pattern.test(path));
}

const READMES = FILES.filter((path) => /^src\/.*README\.md$/.test(path));
const DOCUMENTS = ['docs', 'docs/decisions', 'docs/send'].flatMap((folder) =>
  readdirSync(new URL(`../../${folder}/`, import.meta.url))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`),
);

test.each(['ARCHITECTURE.md', 'README.md', 'CONTRIBUTING.md', ...DOCUMENTS, ...READMES])(
  '%s names no file that does not exist',
  (path) => {
    const named = [
      ...read(path).matchAll(/`((?:src|test|bench|bin|demo)\/[\w./*-]*)[` ]/g),
      ...read(path).matchAll(/\]\((?:\.\.\/)*((?:src|test|bench|bin|demo)\/[^)#]*)\)/g),
    ].map(([, name = '']) => name);
    expect(named.filter((name) => !name.includes('NNNN') && !exists(name))).toEqual([]);
  },
);
