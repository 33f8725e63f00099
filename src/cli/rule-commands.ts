/**
 * `sluice rules …`: the rules of the snapshot and how each of them runs here. Needs neither server nor
 * database.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';

import { supportCounts } from '../engine/rules/effective-set.ts';
import { OperatorError } from '../errors.ts';
import { CATEGORIES, RULE_STATUSES, type Rule, SUPPORTS } from '../model/rules.ts';
import { paint } from '../terminal/paint.ts';
import { answer, type OutputOptions } from './answer.ts';
import { loadCatalog } from './load-catalog.ts';
import { renderTable } from './table.ts';
import { type Activation, activationOf, verdictOf } from './verdict.ts';

interface ListOptions extends OutputOptions {
  readonly status?: string;
  readonly support?: string;
  readonly category?: string;
}

const RULE_ID = /^ATR-\d{4}-\d{5}$/;

function ruleId(text: string): string {
  if (!RULE_ID.test(text)) throw new InvalidArgumentError('a rule id looks like ATR-2026-00001');
  return text;
}

async function list(options: ListOptions): Promise<void> {
  const { rules, snapshot } = await loadCatalog();
  const found = rules.filter(
    (rule) =>
      (options.status === undefined || rule.status === options.status) &&
      (options.support === undefined || rule.support === options.support) &&
      (options.category === undefined || rule.category === options.category),
  );
  const counts = supportCounts(rules);
  answer(options, { snapshot, counts, rules: found }, () =>
    [
      renderTable(
        [
          { title: 'RULE' },
          { title: 'SEVERITY' },
          { title: 'STATUS' },
          { title: 'SUPPORT' },
          { title: 'CATEGORY' },
          { title: 'TITLE', shrinks: true },
        ],
        found.map((rule) => [
          rule.id,
          rule.severity,
          rule.status,
          rule.support,
          rule.category,
          rule.title,
        ]),
      ),
      '',
      `${found.length} of ${rules.length} rules of snapshot ${snapshot.version}: ` +
        SUPPORTS.map((support) => `${counts[support]} ${support}`).join(', '),
    ].join('\n'),
  );
}

const VERDICT_PAINT: Readonly<Record<Activation, (text: string) => string>> = {
  'by default': paint.green,
  'on demand': paint.green,
  never: paint.yellow,
};

function describe(rule: Rule): string {
  const heading = (text: string) => `\n${paint.bold(text)}`;
  const examples = rule.ownExamples;
  return [
    `${paint.bold(rule.id)}  ${rule.title}`,
    `${rule.severity} · ${rule.status} · ${rule.category} · version ${rule.version} · ${rule.support}`,
    VERDICT_PAINT[activationOf(rule)](verdictOf(rule)),
    heading('What it is about'),
    rule.description.trim(),
    heading(`Conditions (${rule.condition} of them)`),
    ...rule.conditions.flatMap((condition) => [
      `  ${condition.index}. ${condition.field} → ${condition.surfaces.join(', ') || 'no surface'}`,
      `     ${condition.description}`,
      `     ${paint.dim(condition.pattern)}`,
      ...(condition.reason === null
        ? []
        : [`     ${paint.yellow(`does not run: it ${condition.reason.message}`)}`]),
    ]),
    heading('Own examples'),
    `  ${examples.truePositives} must match, ${examples.trueNegatives} must not, ` +
      `${examples.failed.length} fail here`,
    ...examples.failed.map(({ kind, index, why }) => paint.red(`  ${kind} ${index}: ${why}`)),
    heading("The author's recommended actions (recorded, never executed)"),
    ...rule.recommendedActions.map((action) => `  ${action}`),
  ].join('\n');
}

async function show(id: string, options: OutputOptions): Promise<void> {
  const { rules, snapshot } = await loadCatalog();
  const rule = rules.find((one) => one.id === id);
  if (rule === undefined) {
    throw new OperatorError(
      `Snapshot ${snapshot.version} has no rule ${id}: see sluice rules list`,
    );
  }
  answer(options, { ...rule, runs: activationOf(rule), verdict: verdictOf(rule) }, () =>
    describe(rule),
  );
}

/** Adds `rules list` and `rules show`. */
export function addRuleCommands(program: Command): void {
  const rules = program.command('rules').description('the rules of the pinned corpus');
  rules
    .command('list')
    .description('list rules and how each of them runs on this engine')
    .addOption(new Option('--status <status>').choices(RULE_STATUSES))
    .addOption(new Option('--support <support>').choices(SUPPORTS))
    .addOption(new Option('--category <category>').choices(CATEGORIES))
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  sluice rules list --status stable --support degraded')
    .action(list);
  rules
    .command('show')
    .description('show one rule in full')
    .argument('<id>', 'as ATR-2026-00001', ruleId)
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  sluice rules show ATR-2026-00001')
    .action(show);
}
