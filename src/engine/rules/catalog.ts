/**
 * Owns the catalogue of rules: parses verified rule files, classifies the rules and tries their own
 * examples. The result is plain data, so that it can be cloned to other threads.
 */
import type { Rule, Snapshot } from '../../model/rules.ts';
import { CorpusError, type VerifiedCorpus } from '../corpus/corpus.ts';
import { parseRuleFile } from '../corpus/rule-file.ts';
import { createPatternCompiler } from '../matcher/pattern.ts';
import { createRequirementsReader, type RequirementsReader } from '../prefilter/requirements.ts';
import { classify } from './classify.ts';
import { tryOwnExamples } from './own-examples.ts';

export interface Catalog {
  readonly snapshot: Snapshot;
  /** every rule of the snapshot, by id, each once */
  readonly rules: readonly Rule[];
}

/**
 * Classifies every rule. Takes seconds of CPU time (thousands of patterns are compiled and tried), so
 * its decisions are kept (`classification.ts`).
 * @param read has a cache: pass the same reader to `tablesOf` the rules
 * @throws CorpusError when two files have the same rule id
 */
export function createCatalog(
  corpus: VerifiedCorpus,
  read: RequirementsReader = createRequirementsReader(),
): Catalog {
  const compile = createPatternCompiler();
  const rules = corpus.files.map((file) => {
    const document = parseRuleFile(file);
    return tryOwnExamples(classify(document, compile), document, compile, read);
  });
  return catalogOf(corpus.snapshot, rules);
}

/**
 * @param rules in any order
 * @throws CorpusError when two of them have the same id
 */
export function catalogOf(snapshot: Snapshot, rules: readonly Rule[]): Catalog {
  const sorted = rules.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const twice = sorted.filter((rule, at) => rule.id === sorted[at - 1]?.id);
  if (twice.length > 0) {
    throw new CorpusError(
      twice.map(({ id, file }) => ({ kind: 'duplicate_rule_id', subject: `${id} (${file})` })),
    );
  }
  return { snapshot, rules: sorted };
}
