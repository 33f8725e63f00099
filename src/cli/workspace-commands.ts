/** `sluice workspace …`. */
import { Argument, type Command } from 'commander';
import { readRuleSettings } from '../db/findings/rule-settings.ts';
import { COMMAND_LINE } from '../db/people/audit.ts';
import { createRecordedWorkspace, setPlan, setRedaction } from '../db/people/workspace-writes.ts';
import { findWorkspace, listWorkspaces } from '../db/people/workspaces.ts';
import { createRuleBook } from '../engine/rules/rule-book.ts';
import { pinnedCorpus } from '../main/corpus-location.ts';
import { PLANS, type Plan, RULE_PLANS } from '../model/people.ts';
import type { RuleBook, RuleSettings } from '../model/rules.ts';
import { loadKeptCatalog } from '../pool/kept-catalog.ts';
import { corpusLine, stateLines } from '../terminal/rule-counts.ts';
import { answer, type OutputOptions, renderTable, shownTime } from './answer.ts';
import { addRedactionCommand } from './redaction-command.ts';
import { withDatabase } from './with-database.ts';

const REDACT_HELP = `
An excerpt is the text of a customer that a rule matched.
  on   no more excerpts are stored, and stored ones are removed before the command ends. If it is
       interrupted, run it again. PostgreSQL frees the disk space when it vacuums; backups keep
       their excerpts.
  off  excerpts of new findings are stored. Removed ones do not come back.
Neither changes the telemetry itself.

Examples:
  sluice workspace redact on
  sluice workspace redact off --workspace support`;

interface CreateOptions extends OutputOptions {
  readonly name?: string;
}

interface OneOptions extends OutputOptions {
  readonly workspace?: string;
}

async function create(slug: string, options: CreateOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const created = await createRecordedWorkspace(
      database,
      slug,
      options.name ?? slug,
      COMMAND_LINE,
    );
    answer(options, created, () => `Workspace "${created.slug}" created.`);
  });
}

async function list(options: OutputOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const all = await listWorkspaces(database);
    answer(options, all, () =>
      renderTable(all, [
        { title: 'SLUG', cell: (one) => one.slug },
        { title: 'NAME', shrinks: true, cell: (one) => one.name },
        { title: 'PLAN', cell: (one) => one.plan },
        { title: 'EXCERPTS', cell: (one) => (one.redactExcerpts ? 'redacted' : 'stored') },
        { title: 'CREATED', cell: (one) => shownTime(one.createdAt) },
      ]),
    );
  });
}

async function redact(state: 'on' | 'off', options: OneOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const { id, slug } = await findWorkspace(database, options.workspace ?? null);
    const redactExcerpts = state === 'on';
    const removed = await setRedaction(database, id, redactExcerpts, COMMAND_LINE);
    answer(options, { workspace: slug, redactExcerpts, removed }, () =>
      redactExcerpts
        ? `Workspace "${slug}" no longer stores excerpts; deleted: ${removed}.`
        : `Workspace "${slug}" stores excerpts of new findings. ` +
          'Deleted excerpts are not restored.',
    );
  });
}

/** Settings that stay in force on a plan without the rules tab. */
function keptText({ experimental, overrides }: RuleSettings): string {
  const tier = experimental ? 'the experimental tier stays on' : null;
  const count = overrides.size;
  const manual = `${count} ${count === 1 ? 'rule stays' : 'rules stay'} set manually`;
  const kept = [tier, count > 0 ? manual : null].filter((one) => one !== null);
  return (
    `Its rule settings are kept: ${kept.join(', and ')}. ` +
    'An owner can reset them on the Rules page of the dashboard.'
  );
}

async function plan(name: Plan, options: OneOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const { id, slug } = await findWorkspace(database, options.workspace ?? null);
    await setPlan(database, id, name, COMMAND_LINE);
    const settings = await readRuleSettings(database, id);
    const { experimental, overrides } = settings;
    const rules = { experimental, overrides: overrides.size };
    const isKept = !RULE_PLANS.includes(name) && (experimental || overrides.size > 0);
    answer(options, { workspace: slug, plan: name, rules }, () =>
      [`Workspace "${slug}" is on the ${name} plan.`, ...(isKept ? [keptText(settings)] : [])].join(
        '\n',
      ),
    );
  });
}

/** The rules of a workspace now: counts, settings, and settings without effect. */
async function rules(options: OneOptions): Promise<void> {
  const book = createRuleBook(loadKeptCatalog(pinnedCorpus()));
  await withDatabase(async ({ database }) => {
    const { id, slug } = await findWorkspace(database, options.workspace ?? null);
    const settings = await readRuleSettings(database, id);
    const { experimental, overrides } = settings;
    const states = book.countStates(settings);
    const orphans = book.orphans(settings);
    const facts = {
      workspace: slug,
      counts: states,
      corpus_counts: book.counts,
      snapshot: book.snapshot,
      experimental,
      overrides: Object.fromEntries(overrides),
      orphaned_overrides: orphans.map(({ ruleId, ...orphan }) => ({ rule_id: ruleId, ...orphan })),
    };
    answer(options, facts, () => rulesText(book, slug, settings));
  });
}

function rulesText(book: RuleBook, slug: string, settings: RuleSettings): string {
  const { experimental, overrides } = settings;
  const orphans = new Map(book.orphans(settings).map((orphan) => [orphan.ruleId, orphan]));
  const manual = renderTable(
    [...overrides].sort(([a], [b]) => (a < b ? -1 : 1)),
    [
      { title: 'RULE', cell: ([ruleId]) => ruleId },
      { title: 'SET TO', cell: ([, enabled]) => (enabled ? 'on' : 'off') },
      {
        title: 'WHY IT HAS NO EFFECT',
        shrinks: true,
        cell: ([ruleId]) => orphans.get(ruleId)?.detail ?? '',
      },
    ],
  );
  return [
    `Workspace "${slug}": ${stateLines(book.countStates(settings)).join('\n')}`,
    corpusLine(book.snapshot, book.counts),
    `The experimental tier is ${experimental ? 'on' : 'off'}; rules set manually: ${overrides.size}.`,
    ...(overrides.size === 0 ? [] : ['', manual]),
    ...(orphans.size === 0
      ? []
      : ['', 'Remove settings without effect on the Rules page of the dashboard.']),
  ].join('\n');
}

export function addWorkspaceCommands(program: Command): void {
  const workspace = program
    .command('workspace')
    .description('manage workspaces: plan, rules, redaction');
  workspace
    .command('create')
    .description('create a workspace')
    .argument('<slug>', 'lower-case letters, digits and hyphens')
    .option('--name <name>', 'display name; the slug by default')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice workspace create support --name "Support agents"')
    .action(create);
  workspace
    .command('list')
    .description('list workspaces')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice workspace list --json')
    .action(list);
  workspace
    .command('plan')
    .description('set the plan of a workspace; team and enterprise can switch rules')
    .addArgument(new Argument('<plan>', PLANS.join(', ')).choices(PLANS))
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice workspace plan team')
    .action(plan);
  workspace
    .command('rules')
    .description('count the rules of a workspace by state, and list manual settings')
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice workspace rules --workspace default')
    .action(rules);
  workspace
    .command('redact')
    .description('turn excerpt redaction of a workspace on or off')
    .addArgument(new Argument('<state>', 'on or off').choices(['on', 'off']))
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .option('--json', 'print JSON')
    .addHelpText('after', REDACT_HELP)
    .action(redact);
  addRedactionCommand(workspace);
}
