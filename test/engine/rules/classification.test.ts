/** The decisions that are kept beside the manifest are those of this engine, and give the same catalogue. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  loadManifest,
  type VerifiedCorpus,
  verifyCorpus,
} from '../../../src/engine/corpus/corpus.ts';
import type { Catalog } from '../../../src/engine/rules/catalog.ts';
import {
  type Classification,
  classificationOf,
  ENGINE_VERSION,
  keptCatalog,
  parseClassification,
  toClassificationText,
} from '../../../src/engine/rules/classification.ts';
import { pinnedCorpus } from '../../../src/main/corpus-location.ts';
import { classificationPathOf } from '../../../src/pool/kept-catalog.ts';
import { someOf } from '../../support/cases.ts';
import { decidedCatalog, keptMatching } from '../../support/kept-catalogue.ts';

const { packageDir, manifestPath } = pinnedCorpus();
const TEXT = readFileSync(classificationPathOf(manifestPath), 'utf8');

let corpus: VerifiedCorpus;
let catalog: Catalog;
let kept: Classification;
beforeAll(() => {
  corpus = verifyCorpus(packageDir, loadManifest(manifestPath));
  catalog = decidedCatalog();
  kept = parseClassification(TEXT);
}, 120_000);

test('corpus/classification.json says what this engine decides (else: sluice corpus refresh)', () => {
  expect(TEXT).toBe(toClassificationText(classificationOf(catalog)));
});

test('applied, it gives the catalogue that classification gives', () => {
  expect(isDeepStrictEqual(keptCatalog(corpus, kept), catalog)).toBe(true);
  expect(isDeepStrictEqual(keptMatching().catalog, catalog)).toBe(true);
});

test('the catalogue is plain data', () => {
  expect(structuredClone(catalog)).toEqual(catalog);
});

test('some rules can be loaded alone', () => {
  const wanted = catalog.rules.slice(10, 12);
  const ids = new Set(wanted.map(({ id }) => id));
  expect(keptCatalog(corpus, kept, ids).rules).toEqual(wanted);
});

test('it holds no pattern and no description of a rule', () => {
  for (const { description, conditions } of someOf(catalog.rules)) {
    if (description.length > 20)
      expect(TEXT).not.toContain(JSON.stringify(description).slice(1, -1));
    for (const { pattern } of conditions) {
      if (pattern.length > 20) expect(TEXT).not.toContain(JSON.stringify(pattern).slice(1, -1));
    }
  }
});

test('the version of the engine names the installed RE2', () => {
  const path = new URL('../../../node_modules/re2/package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { version: string };
  expect(ENGINE_VERSION).toMatch(new RegExp(`, re2 ${version.replaceAll('.', '\\.')}$`));
});

describe('decisions that do not fit are refused, and say what to do', () => {
  const outdated = /classification_outdated .*run sluice corpus refresh/;

  test('those of another corpus', () => {
    expect(() => keptCatalog(corpus, { ...kept, corpus: 'f'.repeat(64) })).toThrow(outdated);
  });

  test('those of another engine', () => {
    expect(() => keptCatalog(corpus, { ...kept, engine: '0' })).toThrow(outdated);
  });

  test('those without a rule', () => {
    const [, ...others] = Object.entries(kept.rules);
    const rules = Object.fromEntries(others);
    expect(() => keptCatalog(corpus, { ...kept, rules })).toThrow(outdated);
  });

  test.each(['', '{}', '{"corpus":"a","engine":"1","rules":{"A":{"file":"f"}}}'])('%j', (text) => {
    expect(() => parseClassification(text)).toThrow(/classification_invalid/);
  });
});
