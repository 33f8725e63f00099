/**
 * `sluice rules …` through a login: the rules of that server, and which of them run in the login's
 * workspace. They are switched in the dashboard only.
 */
import { z } from 'zod';

import { allRules, RULE_STATES, STATE_LABELS, SUPPORTS } from '../../model/rules.ts';
import { plain } from '../../terminal/printable.ts';
import { corpusLine, stateLines } from '../../terminal/rule-counts.ts';
import { answer, type OutputOptions } from '../answer.ts';
import { describeRule, describeState, ruleTable } from '../rule-text.ts';
import type { ServerLogin } from './logins.ts';
import { parts } from './reader.ts';
import { call } from './server-call.ts';

const PATH = '/cli/v1/rules';
/** The most that a server answers at once. */
const RULES_OF_PAGE = 500;
/** Far above any corpus; a server that counts wrongly must not keep a command busy. */
const PAGES_MAX = 100;

const item = z.object({
  id: z.string(),
  title: z.string(),
  severity: z.string(),
  version: z.string(),
  status: z.string(),
  category: z.string(),
  support: z.enum(SUPPORTS),
  state: z.enum(RULE_STATES),
  confidence: z.number().nullable(),
  wild_fp_rate: z.number().nullable(),
  recent_findings: z.number(),
});
const page = z.looseObject({
  snapshot: z.looseObject({ version: z.string(), identity: z.string() }),
  counts: z.record(z.enum(RULE_STATES), z.number()),
  corpus_counts: z.record(z.enum(SUPPORTS), z.number()),
  experimental: z.boolean(),
  total: z.number(),
  total_pages: z.number(),
  rules: z.array(z.looseObject(item.shape)),
});
const reason = z.object({ message: z.string() });
const rule = item.extend({
  maturity: z.string().nullable().default(null),
  wild_samples: z.number().nullable().default(null),
  wild_validated: z.string().nullable().default(null),
  false_positives: z.array(z.string()).default([]),
  description: z.string(),
  condition: z.string(),
  suppress_in_code_blocks: z.boolean(),
  conditions: z.array(
    z.object({
      index: z.number(),
      field: z.string(),
      surfaces: z.array(z.string()),
      description: z.string(),
      pattern: z.string(),
      supported: z.boolean(),
      reason: reason.nullable(),
    }),
  ),
  unsupported_reasons: z.array(reason),
  own_examples: z.object({
    true_positives: z.number(),
    true_negatives: z.number(),
    failed: z.array(z.object({ kind: z.string(), index: z.number(), why: z.string() })),
  }),
  recommended_actions: z.array(z.string()),
});

interface ListOptions extends OutputOptions {
  readonly status?: string;
  readonly support?: string;
  readonly category?: string;
  /** in the login's workspace */
  readonly state?: string;
  readonly maturity?: string;
  readonly sort?: string;
  readonly reference?: string;
}

export async function listRemoteRules(login: ServerLogin, options: ListOptions): Promise<void> {
  const { status, support, category, state, maturity, sort, reference } = options;
  const read = async (number: number) => {
    const filters = { status, support, category, state, maturity, sort, reference };
    const query = { ...filters, page: String(number) };
    const body = await call(login, PATH, { query: { ...query, per_page: String(RULES_OF_PAGE) } });
    return parts(page, body);
  };
  const { snapshot, counts, corpus_counts, experimental, ...first } = await read(1);
  const rules = [...first.rules];
  for (let number = 2; number <= Math.min(first.total_pages, PAGES_MAX); number += 1) {
    rules.push(...(await read(number)).rules);
  }
  const { workspace } = login;
  answer(options, { snapshot, workspace, experimental, counts, corpus_counts, rules }, () =>
    [
      ruleTable(
        rules.map((one) => ({
          ...one,
          state: STATE_LABELS[one.state],
          wildFpRate: one.wild_fp_rate,
          findings: one.recent_findings,
        })),
        workspace,
      ),
      '',
      `${rules.length} of ${allRules(counts)} rules listed`,
      ...stateLines(counts),
      plain(corpusLine(snapshot, corpus_counts)),
    ].join('\n'),
  );
}

export async function showRemoteRule(
  login: ServerLogin,
  id: string,
  options: OutputOptions,
): Promise<void> {
  const body = await call(login, `${PATH}/${id}`);
  answer(options, body, () => {
    const { own_examples: examples, ...one } = parts(rule, body);
    return [
      describeRule({
        ...one,
        suppressInCodeBlocks: one.suppress_in_code_blocks,
        unsupportedReasons: one.unsupported_reasons,
        quality: {
          maturity: one.maturity,
          confidence: one.confidence,
          wildFpRate: one.wild_fp_rate,
          wildSamples: one.wild_samples,
          wildValidated: one.wild_validated,
          falsePositives: one.false_positives,
        },
        ownExamples: {
          truePositives: examples.true_positives,
          trueNegatives: examples.true_negatives,
          failed: examples.failed,
        },
        recommendedActions: one.recommended_actions,
      }),
      describeState(login.workspace, STATE_LABELS[one.state]),
    ].join('\n');
  });
}
