/** `sluice user …`. */
import { type Command, InvalidArgumentError, Option } from 'commander';

import { COMMAND_LINE } from '../db/audit.ts';
import { generatePassword } from '../db/passwords.ts';
import { createMember, resetPassword } from '../db/user-writes.ts';
import { listUsers } from '../db/users.ts';
import { findWorkspace } from '../db/workspaces.ts';
import { OperatorError, SluiceError } from '../errors.ts';
import { email as address } from '../http/person-fields.ts';
import { ROLES, type Role } from '../model.ts';
import { answer, type OutputOptions, shownTime } from './answer.ts';
import { paint } from './paint.ts';
import { renderTable } from './table.ts';
import { withDatabase } from './with-database.ts';

interface CreateOptions extends OutputOptions {
  readonly role: Role;
  readonly name?: string;
  readonly workspace?: string;
}

interface ListOptions extends OutputOptions {
  readonly workspace?: string;
}

function emailAddress(text: string): string {
  const parsed = address.safeParse(text);
  if (!parsed.success) throw new InvalidArgumentError('an e-mail address is needed');
  return parsed.data;
}

async function create(email: string, options: CreateOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const workspace = await findWorkspace(database, options.workspace ?? null);
    const password = generatePassword();
    const { role } = options;
    const { user, isNew } = await createMember(
      database,
      { workspaceId: workspace.id, email, displayName: options.name ?? email, role, password },
      COMMAND_LINE,
    ).catch((error: unknown) => {
      if (!(error instanceof SluiceError) || error.code !== 'conflict') throw error;
      throw new OperatorError(`${email} is a member of "${workspace.slug}" already.`);
    });
    const made = { id: user.id, email: user.email, role, workspace: workspace.slug };
    answer(options, { ...made, password: isNew ? password : null }, () =>
      isNew
        ? [
            `${user.email} is ${role} of "${workspace.slug}". The password, shown this once:`,
            paint.green(password),
          ].join('\n')
        : `${user.email} had an account and keeps its password; ${role} of "${workspace.slug}" now.`,
    );
  });
}

async function list(options: ListOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const workspace =
      options.workspace === undefined ? null : await findWorkspace(database, options.workspace);
    const users = await listUsers(database, workspace?.id ?? null);
    const records = users.map((user) => ({
      id: user.id,
      email: user.email,
      display_name: user.displayName,
      memberships: user.memberships,
      created_at: user.createdAt,
      last_seen_at: user.lastSeenAt,
    }));
    answer(options, records, () =>
      renderTable(
        [
          { title: 'ID', align: 'right' },
          { title: 'E-MAIL' },
          { title: 'NAME', shrinks: true },
          { title: 'WORKSPACES' },
          { title: 'LAST SEEN' },
        ],
        users.map((user) => [
          String(user.id),
          user.email,
          user.displayName,
          user.memberships.join(', ') || '–',
          shownTime(user.lastSeenAt),
        ]),
      ),
    );
  });
}

async function reset(email: string, options: OutputOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const password = generatePassword();
    const sessions = await resetPassword(database, email, password, COMMAND_LINE);
    answer(options, { email, password, sessions_revoked: sessions }, () =>
      [
        `Sessions of ${email} that ended: ${sessions}. The new password, shown this once:`,
        paint.green(password),
      ].join('\n'),
    );
  });
}

/** Adds `user create`, `user list` and `user reset-password`. */
export function addUserCommands(program: Command): void {
  const user = program.command('user').description('make and list people, reset their passwords');
  user
    .command('create')
    .description('make somebody a member of a workspace, with a password that is shown once')
    .argument(
      '<email>',
      'whose account; one that is there joins and keeps its password',
      emailAddress,
    )
    .addOption(
      new Option('--role <role>', 'owners and admins change things, members read')
        .choices(ROLES)
        .default('member'),
    )
    .option('--name <name>', 'as others read it; the e-mail address when left out')
    .option('--workspace <slug>', 'which; may be left out while there is one workspace')
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  sluice user create ana@example.com --role admin')
    .action(create);
  user
    .command('list')
    .description('list people and the workspaces they belong to')
    .option('--workspace <slug>', 'only the members of one workspace')
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  sluice user list --workspace default')
    .action(list);
  user
    .command('reset-password')
    .description('give somebody a new password, shown once, and end their sessions')
    .argument('<email>', 'whose account', emailAddress)
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  sluice user reset-password ana@example.com')
    .action(reset);
}
