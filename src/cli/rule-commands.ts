/**
 * `sluice rules …`: the rules of the snapshot and which of them can run here. Needs the database only
 * for `--workspace`: then also which of them run in that workspace now. With a login, the rules of a
 * remote server (remote/rules.ts).
 */
import { type Command, InvalidArgumentError, Option } from 'commander';

import { readRuleRecords } from '../db/findings/rule-record.ts';
import { readRuleSettings } from '../db/findings/rule-settings.ts';
import { findWorkspace } from '../db/people/workspaces.ts';
import { createRuleBook } from '../engine/rules/rule-book.ts';
import { OperatorError } from '../errors.ts';
import { pinnedCorpus } from '../main/corpus-location.ts';
import { NO_RECORD } from '../model/findings.ts';
import {
  inOrder,
  RULE_ORDERS,
  type RuleOrder,
  type RuleRecords,
  WORKSPACE_ORDERS,
} from '../model/rule-order.ts';
import {
  CATEGORIES,
  MATURITIES,
  RULE_STATES,
  RULE_STATUSES,
  type Rule,
  type RuleBook,
  type RuleSettings,
  STATE_LABELS,
  SUPPORT_LABELS,
  SUPPORTS,
} from '../model/rules.ts';
import { loadKeptCatalog } from '../pool/kept-catalog.ts';
import { corpusLine, stateLines } from '../terminal/rule-counts.ts';
import { answer, type OutputOptions } from './answer.ts';
import { addPreviewCommand } from './preview/preview-command.ts';
import { localOrRemote, serverOption } from './remote/place.ts';
import { listRemoteRules, showRemoteRule } from './remote/rules.ts';
import { describeRule, describeState, ruleTable } from './rule-text.ts';
import { activationOf, verdictOf } from './verdict.ts';
import { withDatabase } from './with-database.ts';

interface WorkspaceOptions extends OutputOptions {
  readonly workspace?: string;
}

interface ListOptions extends WorkspaceOptions {
  readonly status?: string;
  readonly support?: string;
  readonly category?: string;
  readonly state?: string;
  readonly maturity?: string;
  readonly reference?: string;
  readonly sort: RuleOrder;
}

const RULE_ID = /^ATR-\d{4}-\d{5}$/;

function ruleId(text: string): string {
  if (!RULE_ID.test(text)) throw new InvalidArgumentError('a rule id looks like ATR-2026-00001');
  return text;
}

interface InWorkspace {
  readonly slug: string;
  readonly settings: RuleSettings;
  readonly records: RuleRecords;
}

/** Calls with the named workspace's settings; with null when none is named. */
async function withSettings(
  { workspace }: WorkspaceOptions,
  work: (book: RuleBook, within: InWorkspace | null) => void,
): Promise<void> {
  const book = createRuleBook(loadKeptCatalog(pinnedCorpus()));
  if (workspace === undefined) {
    work(book, null);
    return;
  }
  await withDatabase(async ({ database }) => {
    const { id, slug } = await findWorkspace(database, workspace);
    const settings = await readRuleSettings(database, id);
    work(book, { slug, settings, records: await readRuleRecords(database, id) });
  });
}

async function list(options: ListOptions): Promise<void> {
  if (options.state !== undefined && options.workspace === undefined) {
    throw new OperatorError('--state needs a workspace: add --workspace');
  }
  if (WORKSPACE_ORDERS.includes(options.sort) && options.workspace === undefined) {
    throw new OperatorError(`--sort ${options.sort} needs a workspace: add --workspace`);
  }
  await withSettings(options, (book, within) => {
    const { rules, snapshot, counts } = book;
    const stateOf = (rule: Rule) =>
      within === null ? null : book.decide(rule, within.settings).state;
    const { reference } = options;
    const referring = reference === undefined ? null : new Set(book.references.rulesOf(reference));
    const found = inOrder(rules, options.sort, within?.records ?? new Map()).filter(
      (rule) =>
        (referring === null || referring.has(rule.id)) &&
        (options.status === undefined || rule.status === options.status) &&
        (options.support === undefined || rule.support === options.support) &&
        (options.category === undefined || rule.category === options.category) &&
        (options.maturity === undefined || rule.quality.maturity === options.maturity) &&
        (options.state === undefined || stateOf(rule) === options.state),
    );
    const states = within === null ? null : book.countStates(within.settings);
    const known =
      within === null
        ? {}
        : { workspace: within.slug, experimental: within.settings.experimental, counts: states };
    const shown = found.map((rule) => {
      const state = stateOf(rule);
      const record = within?.records.get(rule.id) ?? NO_RECORD;
      return state === null ? rule : { ...rule, state, record };
    });
    answer(options, { snapshot, ...known, corpus_counts: counts, rules: shown }, () =>
      [
        ruleTable(
          found.map((rule) => {
            const state = stateOf(rule);
            return {
              ...rule,
              ...rule.quality,
              state: state === null ? SUPPORT_LABELS[rule.support] : STATE_LABELS[state],
              findings: within?.records.get(rule.id)?.findings ?? 0,
            };
          }),
          within?.slug ?? null,
        ),
        '',
        `${found.length} of ${rules.length} rules listed`,
        ...(states === null ? [] : stateLines(states)),
        corpusLine(snapshot, counts),
      ].join('\n'),
    );
  });
}

async function show(id: string, options: WorkspaceOptions): Promise<void> {
  await withSettings(options, (book, within) => {
    const rule = book.find(id);
    if (rule === null) {
      throw new OperatorError(
        `Corpus ${book.snapshot.version} has no rule ${id}: see sluice rules list`,
      );
    }
    const decision = within === null ? null : book.decide(rule, within.settings);
    const facts = { ...rule, runs: activationOf(rule), verdict: verdictOf(rule) };
    answer(options, decision === null ? facts : { ...facts, ...decision }, () =>
      [
        describeRule(rule),
        ...(decision === null || within === null
          ? []
          : [describeState(within.slug, STATE_LABELS[decision.state])]),
      ].join('\n'),
    );
  });
}

/** Adds `rules list`, `rules show` and `rules preview`. */
export function addRuleCommands(program: Command): void {
  const rules = program.command('rules').description('rules of the corpus');
  rules
    .command('list')
    .description('list rules, and whether they can run')
    .addOption(new Option('--status <status>').choices(RULE_STATUSES))
    .addOption(new Option('--support <support>').choices(SUPPORTS))
    .addOption(new Option('--category <category>').choices(CATEGORIES))
    .addOption(new Option('--maturity <maturity>', "the authors' word").choices(MATURITIES))
    .option(
      '--reference <id>',
      'only rules that refer to this, for example AML.T0051, LLM01 or CVE-2025-53773',
    )
    .addOption(
      new Option(
        '--sort <order>',
        'noise: most false positives first; findings and others need --workspace',
      )
        .choices(RULE_ORDERS)
        .default('id'),
    )
    .addOption(
      new Option('--state <state>', 'state in the workspace; needs --workspace').choices(
        RULE_STATES,
      ),
    )
    .option('--workspace <slug>', 'show which rules run in this workspace now')
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  sluice rules list --status stable --support degraded\n' +
        '  sluice rules list --workspace default --state off_by_override\n' +
        '  sluice rules list --sort noise\n' +
        '  sluice rules list --reference AML.T0051',
    )
    .action(localOrRemote(list, listRemoteRules));
  rules
    .command('show')
    .description('show one rule with its conditions')
    .argument('<id>', 'rule id, for example ATR-2026-00001', ruleId)
    .option('--workspace <slug>', 'show whether it runs in this workspace now')
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice rules show ATR-2026-00001')
    .action(localOrRemote(show, showRemoteRule));
  addPreviewCommand(rules, ruleId);
}
