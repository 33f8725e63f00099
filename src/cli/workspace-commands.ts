/** `sluice workspace …`. */
import { Argument, type Command } from 'commander';

import { COMMAND_LINE } from '../db/people/audit.ts';
import { createRecordedWorkspace, setPlan, setRedaction } from '../db/people/workspace-writes.ts';
import { findWorkspace, listWorkspaces } from '../db/people/workspaces.ts';
import { PLANS, type Plan } from '../model/people.ts';
import { answer, type OutputOptions, shownTime } from './answer.ts';
import { renderTable } from './table.ts';
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
    answer(options, created, () => `Workspace "${created.slug}" is created.`);
  });
}

async function list(options: OutputOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const all = await listWorkspaces(database);
    answer(options, all, () =>
      renderTable(
        [
          { title: 'SLUG' },
          { title: 'NAME', shrinks: true },
          { title: 'PLAN' },
          { title: 'EXCERPTS' },
          { title: 'CREATED' },
        ],
        all.map((one) => [
          one.slug,
          one.name,
          one.plan,
          one.redactExcerpts ? 'redacted' : 'stored',
          shownTime(one.createdAt),
        ]),
      ),
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
        ? `Workspace "${slug}" stores no excerpts; removed: ${removed}.`
        : `Workspace "${slug}" stores the excerpts of what is found from here on. ` +
          'Removed ones do not come back.',
    );
  });
}

async function plan(name: Plan, options: OneOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const { id, slug } = await findWorkspace(database, options.workspace ?? null);
    await setPlan(database, id, name, COMMAND_LINE);
    answer(options, { workspace: slug, plan: name }, () => `Workspace "${slug}" is on ${name}.`);
  });
}

/** Adds `workspace create`, `workspace list`, `workspace plan` and `workspace redact`. */
export function addWorkspaceCommands(program: Command): void {
  const workspace = program
    .command('workspace')
    .description('create and list workspaces, set their plan, redact their excerpts');
  workspace
    .command('create')
    .description('create a workspace')
    .argument('<slug>', 'lower-case letters, digits and hyphens')
    .option('--name <name>', 'as people read it; the slug when left out')
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  sluice workspace create support --name "Support agents"')
    .action(create);
  workspace
    .command('list')
    .description('list workspaces')
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  sluice workspace list --json')
    .action(list);
  workspace
    .command('plan')
    .description('put it on a plan; team and enterprise have the threat-rules tab')
    .addArgument(new Argument('<plan>', PLANS.join(', ')).choices(PLANS))
    .option('--workspace <slug>', 'which; may be left out while there is one workspace')
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  sluice workspace plan team')
    .action(plan);
  workspace
    .command('redact')
    .description('store no excerpts of its findings, or store them again')
    .addArgument(new Argument('<state>', 'on or off').choices(['on', 'off']))
    .option('--workspace <slug>', 'which; may be left out while there is one workspace')
    .option('--json', 'answer as JSON')
    .addHelpText('after', REDACT_HELP)
    .action(redact);
}
