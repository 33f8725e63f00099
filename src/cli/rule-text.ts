/** Rules as text, in a list and one in full, as the API has them. */
import type { z } from 'zod';
import { rule, ruleItem } from '../http/api/rules/rule-schema.ts';
import { hasNoExamples, STATE_LABELS, SUPPORT_LABELS } from '../model/rules.ts';
import { surfaceLabel } from '../model/steps.ts';
import { paint, plain } from '../terminal/output.ts';
import { renderTable } from './answer.ts';
import { type Activation, activationOf, verdictOf } from './verdict.ts';

const OF_WORKSPACE = {
  enabled: true,
  decided_by: true,
  state: true,
  recent_findings: true,
  recent_false_positives: true,
  last_seen_at: true,
  matcher_share: true,
  matcher_us: true,
} as const;

/** Rules of the corpus alone, without what is of a workspace. */
export const corpusItem = ruleItem.omit(OF_WORKSPACE);
export const corpusRule = rule.omit({ ...OF_WORKSPACE, override: true });

type CorpusRule = z.infer<typeof corpusRule>;

const VERDICT_PAINT: Readonly<Record<Activation, (text: string) => string>> = {
  'by default': paint.green,
  'on demand': paint.green,
  never: paint.yellow,
};

const heading = (text: string): string => `\n${paint.bold(text)}`;

function facts({ own_examples: examples, unsupported_reasons, ...one }: CorpusRule) {
  const { true_positives: truePositives, true_negatives: trueNegatives, failed } = examples;
  const ownExamples = { truePositives, trueNegatives, failed };
  return { ...one, unsupportedReasons: unsupported_reasons, ownExamples };
}

export function describeRule(shown: CorpusRule): string {
  const rule = facts(shown);
  const examples = rule.ownExamples;
  return [
    `${paint.bold(plain(rule.id))}  ${plain(rule.title)}`,
    `${plain(rule.severity)} · ${plain(rule.status)} · ${plain(rule.category)} · version ` +
      `${plain(rule.version)} · ${SUPPORT_LABELS[rule.support] ?? plain(rule.support)}`,
    VERDICT_PAINT[activationOf(rule)](plain(verdictOf(rule))),
    heading('What it detects'),
    ...rule.description.trim().split('\n').map(plain),
    heading(`Conditions (${plain(rule.condition)} of them)`),
    ...(rule.suppress_in_code_blocks
      ? ['  A match that begins in a code block does not count.']
      : []),
    ...rule.conditions.flatMap((condition) => [
      `  ${condition.index}. ${plain(condition.field)} → ` +
        `${plain(condition.surfaces.map(surfaceLabel).join(', ') || 'not in a run')}`,
      `     ${plain(condition.description)}`,
      `     ${paint.dim(plain(condition.pattern))}`,
      ...(condition.reason === null
        ? []
        : [`     ${paint.yellow(`does not run: it ${plain(condition.reason.message)}`)}`]),
    ]),
    heading('Own tests'),
    `  ${examples.truePositives} must match, ${examples.trueNegatives} must not; ` +
      (rule.support === 'unsupported'
        ? 'not run, because the rule is not supported'
        : hasNoExamples(examples)
          ? 'the rule ships none, so it never runs'
          : `${examples.failed.length} fail here`),
    ...examples.failed.map(({ kind, index, why }) =>
      paint.red(plain(`  ${kind} ${index}: ${why}`)),
    ),
    ...qualityLines(shown),
    heading("Actions that the rule's author recommends (never carried out)"),
    ...rule.recommended_actions.map((action) => `  ${plain(action)}`),
  ].join('\n');
}

type ListedRule = z.infer<typeof corpusItem> & Partial<z.infer<typeof ruleItem>>;

const stateLabel = (state: keyof typeof STATE_LABELS): string =>
  STATE_LABELS[state] ?? plain(state);

/** @param workspace slug of the workspace that states and findings are of; null for the corpus alone */
export function ruleTable(rules: readonly ListedRule[], workspace: string | null): string {
  const findings = {
    title: 'FINDINGS',
    align: 'right' as const,
    cell: (rule: ListedRule) => String(rule.recent_findings),
  };
  return renderTable(rules, [
    { title: 'RULE', cell: ({ id }) => plain(id) },
    { title: 'SEVERITY', cell: ({ severity }) => plain(severity) },
    { title: 'STATUS', cell: ({ status }) => plain(status) },
    {
      title: workspace === null ? 'SUPPORT' : `IN ${workspace.toUpperCase()}`,
      cell: ({ state, support }) =>
        state === undefined ? SUPPORT_LABELS[support] : stateLabel(state),
    },
    { title: 'FALSE POS', align: 'right', cell: (rule) => falsePositives(rule.wild_fp_rate) },
    { title: 'CONF', align: 'right', cell: ({ confidence }) => String(confidence ?? '') },
    ...(workspace === null ? [] : [findings]),
    { title: 'CATEGORY', cell: ({ category }) => plain(category) },
    { title: 'TITLE', shrinks: true, cell: ({ title }) => plain(title) },
  ]);
}

/** Harmless texts of 100 that the rule matches, as its authors state it. */
export const falsePositives = (rate: number | null): string => (rate === null ? '' : `${rate}%`);

function qualityLines(rule: CorpusRule): string[] {
  const { confidence, maturity, wild_fp_rate: rate, wild_samples: samples } = rule;
  const stated = [
    confidence !== null && `confidence ${confidence} of 100`,
    maturity !== null && `maturity ${plain(maturity)}`,
    rate !== null && `${rate}% false positives`,
    samples !== null && `tried on ${samples} documents`,
    rule.wild_validated !== null && plain(rule.wild_validated),
  ].filter((one) => one !== false);
  return [
    heading('Quality, as its authors state it'),
    `  ${stated.join(' · ') || 'nothing stated'}`,
    ...rule.false_positives.map((one) => `  may match: ${plain(one)}`),
  ];
}

export function describeState(workspace: string, state: keyof typeof STATE_LABELS): string {
  return `${heading(`In workspace "${workspace}"`)}\n  ${stateLabel(state)}`;
}
