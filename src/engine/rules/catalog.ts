/**
 * Owns the way from verified rule files to the rules everyone works with: parse, classify, try the
 * rule's own examples. Plain data comes out, so that it can cross threads by structured clone.
 */
import type { Rule, Snapshot } from '../../model.ts';
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
 * Builds the catalogue. Takes seconds of one core (thousands of patterns are compiled and tried);
 * build it once per process and hand it on.
 * @param read keeps what it read: give it the same when tables are made of the rules
 * @throws CorpusError when two files claim one rule id: which of them counts is a person's decision
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
  rules.sort((a, b) => (a.id < b.id ? -1 : 1));
  const twice = rules.filter((rule, at) => rule.id === rules[at - 1]?.id);
  if (twice.length > 0) {
    throw new CorpusError(
      twice.map(({ id, file }) => ({ kind: 'duplicate_rule_id', subject: `${id} (${file})` })),
    );
  }
  return { snapshot: corpus.snapshot, rules };
}
