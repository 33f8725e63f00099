/** docs/rule-attributes.md says how every attribute of a rule file is used. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORE_SCHEMA, load } from 'js-yaml';
import { expect, it } from 'vitest';
import { loadManifest, verifyCorpus } from '../../../src/engine/corpus/corpus.ts';
import { ruleOfYaml, tinyYaml } from '../tiny-rules.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PAGE = join(ROOT, 'docs/rule-attributes.md');
const ROW = /^\| `([^`]+)` \| [\d,]+ \| ([^|]+) \|/;
const TREATMENTS = ['honoured', 'shown', 'checked', 'ignored'];

/** Every attribute of a value with its value inside, as `detection.conditions[].field`. */
function attributesOf(value: unknown, path: string, found: Set<string>): Set<string> {
  if (Array.isArray(value)) {
    for (const one of value) attributesOf(one, `${path}[]`, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      attributesOf(inner, path === '' ? name : `${path}.${name}`, found);
    }
  } else {
    found.add(path);
  }
  return found;
}

/** The row of an attribute: its own name, or the longest one that contains it. */
function rowOf(attribute: string, rows: readonly string[]): string | undefined {
  return rows
    .filter((row) =>
      `${attribute}.`.replaceAll('[', '.').startsWith(`${row.replaceAll('[', '.')}.`),
    )
    .sort((a, b) => b.length - a.length)[0];
}

const corpus = verifyCorpus(
  join(ROOT, 'node_modules/agent-threat-rules'),
  loadManifest(join(ROOT, 'corpus/manifest.json')),
);
const files = corpus.files.map(({ bytes }) =>
  attributesOf(load(bytes.toString(), { schema: CORE_SCHEMA }), '', new Set()),
);
const lines = readFileSync(PAGE, 'utf8').split('\n');
const rows = lines.flatMap((line) => ROW.exec(line)?.[1] ?? []);

it('names every attribute of the corpus, each once, and no other', async () => {
  expect(new Set(rows).size).toBe(rows.length);
  const unnamed = new Set<string>();
  const filesOf = new Map<string, number>();
  for (const attributes of files) {
    const named = new Set<string>();
    for (const attribute of attributes) {
      const row = rowOf(attribute, rows);
      if (row === undefined) unnamed.add(attribute);
      else named.add(row);
    }
    for (const row of named) filesOf.set(row, (filesOf.get(row) ?? 0) + 1);
  }
  expect([...unnamed]).toEqual([]);
  // A row of a list is no attribute itself: its members are.
  const unused = rows.filter((row) => !filesOf.has(row) && row !== 'detection.conditions');
  expect(unused).toEqual([]);
  const filled = lines.map((line) => {
    const row = ROW.exec(line)?.[1];
    return row === undefined
      ? line
      : line.replace(
          /\| [\d,]+ \|/,
          `| ${(filesOf.get(row) ?? files.length).toLocaleString('en')} |`,
        );
  });
  await expect(filled.join('\n')).toMatchFileSnapshot(PAGE);
});

it('says how each is used', () => {
  for (const line of lines) {
    const treatments = ROW.exec(line)?.[2]?.split(', ') ?? [];
    for (const treatment of treatments) expect(TREATMENTS).toContain(treatment.trim());
    if (treatments.includes('ignored')) expect(line, line).toMatch(/\| ignored \| \S.* \|$/);
  }
});

it.each([
  [
    'a condition with an attribute that is not known is not supported',
    '"operator":"regex","language":"zh"',
    'has the attribute language, which the service does not know',
  ],
  [
    'nor is a rule',
    '"condition":"any","within":"5m"',
    'has the attribute within, which the service does not know',
  ],
])('%s', (_name, written, message) => {
  const yaml = tinyYaml({ conditions: [['content', 'a']] });
  const rule = ruleOfYaml(yaml.replace(written.replace(/,[^,]*$/, ''), written));
  expect(rule.support).toBe('unsupported');
  expect(rule.unsupportedReasons).toEqual([{ code: 'unsupported_attribute', message }]);
});
