/**
 * Owns the parsing of a rule file: untrusted YAML to a typed document.
 *
 * Never throws: a file that is not YAML, or no rule, is returned with the parser's error and the id,
 * title and so on that its lines show, so that it is listed. Does not decide whether this engine
 * supports the rule (`classify.ts`).
 */
import { CORE_SCHEMA, load } from 'js-yaml';
import { z } from 'zod';
import type { JsonValue } from '../../model/json.ts';
import {
  CATEGORIES,
  type Category,
  MATURITIES,
  RULE_STATUSES,
  SEVERITIES,
  type StatedQuality,
  type UnsupportedReason,
} from '../../model/rules.ts';
import type { CorpusFile } from './corpus.ts';

const Text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const OptionalText = Text.nullish().transform((text) => text ?? '');

const ConditionSchema = z
  .looseObject({
    field: OptionalText,
    operator: OptionalText,
    value: OptionalText,
    description: OptionalText,
  })
  .transform(({ field, operator, value, description, ...others }) => ({
    field,
    operator,
    value,
    description,
    otherMembers: Object.keys(others),
  }));

const CaseSchema = z.record(z.string(), z.json());
const CasesSchema = z.array(z.union([CaseSchema, Text.transform((input) => ({ input }))]));

/** Disguised attacks. They decide nothing, so a list of another shape is left out. */
const EvasionSchema = z.array(
  z.object({ input: Text, expected: OptionalText }).transform(({ input, expected }) => ({
    input,
    isCaught: expected === 'triggered',
  })),
);

/** Decides nothing, so a value of another kind is left out. */
const Percent = z.number().min(0).max(100).nullish().catch(null);

/** Members of `detection` that do not change what the patterns of a rule match. */
const NO_PATTERNS = new Set(['behavioral', 'trace']);

/** Not strict: members that are not used here may change. */
const RuleSchema = z.object({
  id: z.string().regex(/^ATR-\d{4}-\d{5}$/),
  title: Text,
  rule_version: OptionalText,
  status: z.enum(RULE_STATUSES),
  severity: z.enum(SEVERITIES),
  description: OptionalText,
  author: OptionalText,
  date: OptionalText,
  references: z.json().nullish(),
  detection_tier: OptionalText,
  tags: z.object({
    category: z.enum(CATEGORIES),
    subcategory: OptionalText,
    suppress_in_code_blocks: z.json().optional(),
  }),
  detection: z.looseObject({
    method: OptionalText,
    condition: OptionalText,
    conditions: z.array(ConditionSchema).nonempty(),
    semantic: z.object({ fallback_method: OptionalText }).nullish().catch(null),
    false_positives: z.array(Text).nullish().catch(null),
  }),
  response: z.object({ actions: z.array(Text).nullish() }).nullish(),
  test_cases: z
    .object({
      true_positives: CasesSchema.nullish(),
      true_negatives: CasesSchema.nullish(),
      evasion_tests: EvasionSchema.nullish().catch(null),
    })
    .nullish(),
  evasion_tests: EvasionSchema.nullish().catch(null),
  false_positives: z.array(Text).nullish().catch(null),
  maturity: z.enum(MATURITIES).nullish().catch(null),
  confidence: Percent,
  wild_fp_rate: Percent,
  wild_samples: z.int().nonnegative().nullish().catch(null),
  wild_validated: OptionalText.catch(''),
});

/** One of a rule's own test cases: member → text or structure. */
export type OwnCase = Readonly<Record<string, JsonValue>>;

export interface RuleDocument {
  readonly id: string;
  readonly title: string;
  readonly version: string;
  readonly status: (typeof RULE_STATUSES)[number];
  readonly severity: (typeof SEVERITIES)[number];
  readonly category: Category;
  readonly subcategory: string | null;
  readonly description: string;
  readonly author: string;
  /** YYYY-MM-DD, or as written if it is another format */
  readonly date: string;
  readonly references: JsonValue;
  /** detection methods that the rule needs: pattern, semantic, trace, behavioral … */
  readonly methods: readonly string[];
  /** whether a semantic rule names its patterns as what runs without a language model */
  readonly hasFallbackPatterns: boolean;
  readonly otherMembers: readonly string[];
  readonly combination: string;
  readonly conditions: readonly z.infer<typeof ConditionSchema>[];
  readonly suppressInCodeBlocks: boolean;
  readonly truePositives: readonly OwnCase[];
  readonly trueNegatives: readonly OwnCase[];
  /** disguised attacks, and whether the author says that the rule catches them */
  readonly evasionTests: readonly z.infer<typeof EvasionSchema>[number][];
  readonly quality: StatedQuality;
  readonly recommendedActions: readonly string[];
  readonly file: string;
  /** why the file is no rule; null if it is one */
  readonly fault: UnsupportedReason | null;
}

/** Parses one rule file. Never throws. */
export function parseRuleFile(file: CorpusFile): RuleDocument {
  const text = file.bytes.toString();
  let yaml: unknown;
  try {
    // The core schema has JSON's types only: no timestamps, binary, merge keys or code.
    yaml = load(text, { schema: CORE_SCHEMA, filename: file.path });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return unreadable(file.path, text, { code: 'invalid_yaml', message: firstLine(message) });
  }
  const parsed = RuleSchema.safeParse(yaml);
  if (parsed.success) return toDocument(parsed.data, file.path);
  const message = parsed.error.issues
    .map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    .join('; ');
  return unreadable(file.path, text, { code: 'invalid_rule', message });
}

function toDocument(rule: z.infer<typeof RuleSchema>, file: string): RuleDocument {
  const { tags, test_cases: cases } = rule;
  const {
    method,
    condition,
    conditions,
    semantic,
    false_positives: falsePositives,
    ...others
  } = rule.detection;
  return {
    id: rule.id,
    title: rule.title,
    version: rule.rule_version,
    status: rule.status,
    severity: rule.severity,
    category: tags.category,
    subcategory: tags.subcategory === '' ? null : tags.subcategory,
    description: rule.description.trim(),
    author: rule.author,
    date: isoDate(rule.date),
    references: rule.references ?? null,
    methods: [rule.detection_tier, method].filter((name) => name !== ''),
    hasFallbackPatterns: semantic?.fallback_method === 'pattern',
    otherMembers: Object.keys(others).filter((member) => !NO_PATTERNS.has(member)),
    combination: condition,
    conditions,
    suppressInCodeBlocks: tags.suppress_in_code_blocks === true,
    truePositives: cases?.true_positives ?? [],
    trueNegatives: cases?.true_negatives ?? [],
    evasionTests: [...(cases?.evasion_tests ?? []), ...(rule.evasion_tests ?? [])],
    quality: {
      maturity: rule.maturity ?? null,
      confidence: rule.confidence ?? null,
      wildFpRate: rule.wild_fp_rate ?? null,
      wildSamples: rule.wild_samples ?? null,
      wildValidated: rule.wild_validated === '' ? null : isoDate(rule.wild_validated),
      falsePositives: [...(falsePositives ?? []), ...(rule.false_positives ?? [])],
    },
    recommendedActions: rule.response?.actions ?? [],
    file,
    fault: null,
  };
}

const UNSTATED: StatedQuality = {
  maturity: null,
  confidence: null,
  wildFpRate: null,
  wildSamples: null,
  wildValidated: null,
  falsePositives: [],
};

/**
 * The document of a file that is no rule: from its file name and its top-level lines. Unknown members
 * get the value that claims least.
 */
function unreadable(path: string, text: string, fault: UnsupportedReason): RuleDocument {
  const line = (key: string) =>
    new RegExp(`^${key}:[ \\t]*['"]?(.*?)['"]?[ \\t]*$`, 'm').exec(text)?.[1] ?? '';
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/\.ya?ml$/, '');
  const folder = path.split('/').at(-2);
  return {
    id: /^ATR-\d{4}-\d{5}/.exec(name)?.[0] ?? name,
    title: line('title') || name,
    version: line('rule_version'),
    status: RULE_STATUSES.find((status) => status === line('status')) ?? 'draft',
    severity: SEVERITIES.find((severity) => severity === line('severity')) ?? 'informational',
    category: CATEGORIES.find((category) => category === folder) ?? 'model-security',
    subcategory: null,
    description: '',
    author: line('author'),
    date: isoDate(line('date')),
    references: null,
    methods: [],
    hasFallbackPatterns: false,
    otherMembers: [],
    combination: 'any',
    conditions: [],
    suppressInCodeBlocks: false,
    truePositives: [],
    trueNegatives: [],
    evasionTests: [],
    quality: UNSTATED,
    recommendedActions: [],
    file: path,
    fault,
  };
}

function isoDate(written: string): string {
  return /^\d{4}\/\d{2}\/\d{2}$/.test(written) ? written.replaceAll('/', '-') : written;
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? message;
}
