/** Rules as text, in a list and one in full: of the local corpus, or from a remote server's answer. */
import { hasNoExamples, type Rule, type StatedQuality, SUPPORT_LABELS } from '../model/rules.ts';
import { surfaceLabel } from '../model/steps.ts';
import { paint } from '../terminal/paint.ts';
import { plain } from '../terminal/printable.ts';
import { renderTable } from './table.ts';
import { type Activation, activationOf, type JudgedRule, verdictOf } from './verdict.ts';

type DescribedQuality = Omit<StatedQuality, 'maturity'> & { readonly maturity: string | null };

/** A rule; a newer server may send words that this program does not know. */
export interface DescribedRule
  extends JudgedRule,
    Pick<
      Rule,
      'id' | 'title' | 'version' | 'description' | 'suppressInCodeBlocks' | 'recommendedActions'
    > {
  readonly quality: DescribedQuality;
  readonly severity: string;
  readonly category: string;
  readonly condition: string;
  readonly conditions: readonly {
    readonly index: number;
    readonly field: string;
    readonly surfaces: readonly string[];
    readonly description: string;
    readonly pattern: string;
    readonly supported: boolean;
    readonly reason: { readonly message: string } | null;
  }[];
}

const VERDICT_PAINT: Readonly<Record<Activation, (text: string) => string>> = {
  'by default': paint.green,
  'on demand': paint.green,
  never: paint.yellow,
};

const heading = (text: string): string => `\n${paint.bold(text)}`;

/** The lines of `sluice rules show`, without those about a workspace. */
export function describeRule(rule: DescribedRule): string {
  const examples = rule.ownExamples;
  return [
    `${paint.bold(plain(rule.id))}  ${plain(rule.title)}`,
    `${plain(rule.severity)} · ${plain(rule.status)} · ${plain(rule.category)} · version ` +
      `${plain(rule.version)} · ${SUPPORT_LABELS[rule.support]}`,
    VERDICT_PAINT[activationOf(rule)](plain(verdictOf(rule))),
    heading('What it detects'),
    ...rule.description.trim().split('\n').map(plain),
    heading(`Conditions (${plain(rule.condition)} of them)`),
    ...(rule.suppressInCodeBlocks ? ['  A match that begins in a code block does not count.'] : []),
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
    ...qualityLines(rule.quality),
    heading("Actions that the rule's author recommends (never carried out)"),
    ...rule.recommendedActions.map((action) => `  ${plain(action)}`),
  ].join('\n');
}

/** A rule in `sluice rules list`, of the local corpus or from a remote server's answer. */
export interface ListedRule extends Pick<StatedQuality, 'wildFpRate' | 'confidence'> {
  readonly id: string;
  readonly severity: string;
  readonly status: string;
  readonly category: string;
  readonly title: string;
  /** its state in the workspace; without one, how far the engine supports it */
  readonly state: string;
  readonly findings: number;
}

/** @param workspace slug of the workspace that states and findings are of; null for the corpus alone */
export function ruleTable(rules: readonly ListedRule[], workspace: string | null): string {
  const findings = {
    title: 'FINDINGS',
    align: 'right' as const,
    cell: (rule: ListedRule) => String(rule.findings),
  };
  return renderTable(rules, [
    { title: 'RULE', cell: ({ id }) => plain(id) },
    { title: 'SEVERITY', cell: ({ severity }) => plain(severity) },
    { title: 'STATUS', cell: ({ status }) => plain(status) },
    {
      title: workspace === null ? 'SUPPORT' : `IN ${workspace.toUpperCase()}`,
      cell: ({ state }) => state,
    },
    { title: 'FALSE POS', align: 'right', cell: falsePositives },
    { title: 'CONF', align: 'right', cell: ({ confidence }) => String(confidence ?? '') },
    ...(workspace === null ? [] : [findings]),
    { title: 'CATEGORY', cell: ({ category }) => plain(category) },
    { title: 'TITLE', shrinks: true, cell: ({ title }) => plain(title) },
  ]);
}

/** Harmless texts of 100 that the rule matches, as its authors state it. */
export function falsePositives({ wildFpRate }: Pick<StatedQuality, 'wildFpRate'>): string {
  return wildFpRate === null ? '' : `${wildFpRate}%`;
}

function qualityLines(quality: DescribedQuality): string[] {
  const { confidence, maturity, wildFpRate, wildSamples, wildValidated } = quality;
  const stated = [
    confidence !== null && `confidence ${confidence} of 100`,
    maturity !== null && `maturity ${plain(maturity)}`,
    wildFpRate !== null && `${wildFpRate}% false positives`,
    wildSamples !== null && `tried on ${wildSamples} documents`,
    wildValidated !== null && plain(wildValidated),
  ].filter((one) => one !== false);
  return [
    heading('Quality, as its authors state it'),
    `  ${stated.join(' · ') || 'nothing stated'}`,
    ...quality.falsePositives.map((one) => `  may match: ${plain(one)}`),
  ];
}

export function describeState(workspace: string, label: string): string {
  return `${heading(`In workspace "${workspace}"`)}\n  ${label}`;
}
