/**
 * The decision of classification about every rule of a corpus, in the form in which it is kept beside the
 * manifest (`corpus/classification.json`): the conditions that cannot run and why, the rule's own examples
 * that fail, and how many of its author's other texts it finds. To decide it takes six seconds of CPU
 * time; to apply it takes none.
 *
 * Holds ids, paths and this engine's reasons, never a rule's patterns or texts.
 */
import { z } from 'zod';
import { RULE_STATUSES, type Rule, SUPPORTS } from '../../model/rules.ts';
import { CorpusError, type VerifiedCorpus } from '../corpus/corpus.ts';
import { parseRuleFile } from '../corpus/rule-file.ts';
import { type Catalog, catalogOf } from './catalog.ts';
import { classifyAsKept } from './classify.ts';
import { UNMEASURED, withOutcome } from './own-examples.ts';

/**
 * Version of the engine that made the decisions. Raise the first number when the same corpus is classified
 * differently, and run `sluice corpus refresh`; a test compares the kept decisions with new ones.
 */
export const ENGINE_VERSION = '2, re2 1.27.1';

const ReasonSchema = z.strictObject({ code: z.string(), message: z.string() });

const MeasuredSchema = z.strictObject({ texts: z.int(), found: z.int() });

const KeptRuleSchema = z.strictObject({
  /** path inside the package, as the manifest names it */
  file: z.string(),
  status: z.enum(RULE_STATUSES),
  support: z.enum(SUPPORTS),
  /** by condition: why it cannot run */
  lost: z.record(z.string().regex(/^\d+$/), ReasonSchema).optional(),
  /** own examples that fail */
  failed: z
    .array(
      z.strictObject({
        kind: z.enum(['true_positive', 'true_negative']),
        index: z.int(),
        why: z.string(),
      }),
    )
    .optional(),
  /** of its author's other texts: how many there are, and how many it finds */
  measured: z
    .strictObject({
      caughtEvasions: MeasuredSchema,
      otherEvasions: MeasuredSchema,
      falsePositives: MeasuredSchema,
    })
    .optional(),
});

const ClassificationSchema = z.strictObject({
  /** digest of the manifest that it was made for */
  corpus: z.string(),
  /** ENGINE_VERSION of the engine that made it */
  engine: z.string(),
  /** by rule id */
  rules: z.record(z.string(), KeptRuleSchema),
});

export type KeptRule = z.infer<typeof KeptRuleSchema>;
/** `corpus/classification.json`. */
export type Classification = z.infer<typeof ClassificationSchema>;

export function classificationOf({ snapshot, rules }: Catalog): Classification {
  const kept = rules.map((rule): readonly [string, KeptRule] => [rule.id, keptRule(rule)]);
  return { corpus: snapshot.sha256, engine: ENGINE_VERSION, rules: Object.fromEntries(kept) };
}

function keptRule({ file, status, support, conditions, ownExamples, measured }: Rule): KeptRule {
  const { failed } = ownExamples;
  const lost = conditions.flatMap(({ index, reason }) =>
    reason === null ? [] : [[String(index), reason] as const],
  );
  return {
    file,
    status,
    support,
    ...(lost.length === 0 ? {} : { lost: Object.fromEntries(lost) }),
    ...(failed.length === 0 ? {} : { failed: [...failed] }),
    ...(Object.values(measured).every(({ texts }) => texts === 0) ? {} : { measured }),
  };
}

/** The text of the file, with one line per rule, so that a diff of it can be read. */
export function toClassificationText({ corpus, engine, rules }: Classification): string {
  const lines = Object.entries(rules).map(
    ([id, rule]) => `    ${JSON.stringify(id)}: ${JSON.stringify(rule)}`,
  );
  return [
    '{',
    `  "corpus": ${JSON.stringify(corpus)},`,
    `  "engine": ${JSON.stringify(engine)},`,
    '  "rules": {',
    lines.join(',\n'),
    '  }',
    '}',
    '',
  ].join('\n');
}

/**
 * Reads the text of the file.
 *
 * @throws CorpusError when it is not one
 */
export function parseClassification(text: string): Classification {
  try {
    return ClassificationSchema.parse(JSON.parse(text));
  } catch (error) {
    const [issue] = error instanceof z.ZodError ? error.issues : [];
    const subject = issue === undefined ? 'no JSON' : `${issue.path.join('.')}: ${issue.message}`;
    throw new CorpusError([{ kind: 'classification_invalid', subject }]);
  }
}

/**
 * The catalogue of a corpus by the kept decisions: the same as `createCatalog`, without compiling or
 * trying a pattern.
 *
 * @param wanted ids of the rules that are needed; all by default
 * @throws CorpusError when the decisions are about another corpus or those of another engine
 */
export function keptCatalog(
  corpus: VerifiedCorpus,
  { corpus: digest, engine, rules }: Classification,
  wanted: ReadonlySet<string> | null = null,
): Catalog {
  const idOf = new Map(Object.entries(rules).map(([id, { file }]) => [file, id]));
  const isComplete = corpus.files.every(({ path }) => idOf.has(path));
  if (digest !== corpus.snapshot.sha256 || engine !== ENGINE_VERSION || !isComplete) {
    const subject = 'corpus/classification.json: run sluice corpus refresh';
    throw new CorpusError([{ kind: 'classification_outdated', subject }]);
  }
  const files =
    wanted === null
      ? corpus.files
      : corpus.files.filter(({ path }) => wanted.has(idOf.get(path) ?? ''));
  return catalogOf(
    corpus.snapshot,
    files.map((file) => {
      const document = parseRuleFile(file);
      const { lost = {}, failed = [], measured = UNMEASURED } = rules[document.id] ?? {};
      return withOutcome(classifyAsKept(document, lost), document, { failed, measured });
    }),
  );
}
