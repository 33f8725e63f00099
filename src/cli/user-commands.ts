/** `sluice user …`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Database } from '../db/database.ts';
import { COMMAND_LINE } from '../db/people/audit.ts';
import { generatePassword } from '../db/people/passwords.ts';
import { createMember, resetPassword } from '../db/people/user-writes.ts';
import { listUsers } from '../db/people/users.ts';
import { listLinkWorkspaces } from '../db/people/workspace-accounts.ts';
import { findWorkspace } from '../db/people/workspaces.ts';
import { OperatorError, SluiceError } from '../errors.ts';
import { email as address } from '../http/dashboard/sign-in/person-fields.ts';
import { ROLES, type Role } from '../model/people.ts';
import { paint } from '../terminal/output.ts';
import { answer, type OutputOptions, renderTable, shownTime } from './answer.ts';
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

/** A note about accounts of the address that were created through invitation links. */
function linkNote(slugs: readonly string[]): string[] {
  if (slugs.length === 0) return [];
  const places = slugs.map((slug) => `"${slug}"`).join(', ');
  return [
    `Another account of this address was created through an invitation's link of ${places}. It has ` +
      'its own password, stays there, and gets no membership here.',
  ];
}

/** Why `user create` cannot add an address to a workspace, and what to do next. */
async function alreadyMember(
  database: Database,
  email: string,
  slug: string,
): Promise<OperatorError> {
  const already = `${email} is a member of "${slug}" already.`;
  if (!(await listLinkWorkspaces(database, email)).includes(slug))
    return new OperatorError(already);
  return new OperatorError(
    `${already} Its account was created through an invitation's link: remove the member, then run ` +
      'this again to create an account with a password of yours.',
  );
}

async function create(email: string, options: CreateOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const { id: workspaceId, slug } = await findWorkspace(database, options.workspace ?? null);
    const password = generatePassword();
    const { role } = options;
    const { user, isNew } = await createMember(
      database,
      { workspaceId, email, displayName: options.name ?? email, role, password },
      COMMAND_LINE,
    ).catch(async (error: unknown) => {
      if (!(error instanceof SluiceError) || error.code !== 'conflict') throw error;
      throw await alreadyMember(database, email, slug);
    });
    const linkMade = await listLinkWorkspaces(database, email);
    const created = {
      id: user.id,
      email: user.email,
      role,
      workspace: slug,
      password: isNew ? password : null,
      ...(linkMade.length === 0 ? {} : { link_accounts: linkMade }),
    };
    answer(options, created, () =>
      [
        isNew
          ? `${user.email} is ${role} of "${slug}". Password, shown only once:\n${paint.green(password)}`
          : `${user.email} has an account already and keeps its password; it is now ${role} of "${slug}".`,
        ...linkNote(linkMade),
      ].join('\n'),
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
      only_workspace: user.onlyWorkspace,
      created_at: user.createdAt,
      last_seen_at: user.lastSeenAt,
    }));
    answer(options, records, () =>
      renderTable(users, [
        { title: 'ID', align: 'right', cell: (user) => String(user.id) },
        { title: 'E-MAIL', cell: (user) => user.email },
        { title: 'NAME', shrinks: true, cell: (user) => user.displayName },
        {
          title: 'WORKSPACES',
          cell: ({ memberships, onlyWorkspace }) =>
            `${memberships.join(', ') || '–'}${onlyWorkspace === null ? '' : ', by link'}`,
        },
        { title: 'LAST SEEN', cell: (user) => shownTime(user.lastSeenAt) },
      ]),
    );
  });
}

async function reset(email: string, options: ListOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const password = generatePassword();
    const sessions = await resetPassword(
      database,
      email,
      password,
      COMMAND_LINE,
      options.workspace ?? null,
    );
    answer(options, { email, password, sessions_revoked: sessions }, () =>
      [
        `New password of ${email}, shown only once (sessions signed out: ${sessions}):`,
        paint.green(password),
      ].join('\n'),
    );
  });
}

export function addUserCommands(program: Command): void {
  const user = program.command('user').description('manage users and reset passwords');
  user
    .command('create')
    .description('add a user to a workspace and show the password once')
    .argument(
      '<email>',
      'e-mail address; an existing verified account keeps its password',
      emailAddress,
    )
    .addOption(
      new Option('--role <role>', 'owners and admins can change things, members can only read')
        .choices(ROLES)
        .default('member'),
    )
    .option('--name <name>', 'display name; the e-mail address by default')
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
An account created from an invitation link is not verified to own its e-mail address: it stays in
that workspace and is not added here. A second account is created for the address.

Example:
  sluice user create ana@example.com --role admin`,
    )
    .action(create);
  user
    .command('list')
    .description('list users and their workspaces')
    .option('--workspace <slug>', 'only members of this workspace')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice user list --workspace default')
    .action(list);
  user
    .command('reset-password')
    .description('set a new password, show it once, and sign out all sessions of the account')
    .argument('<email>', 'e-mail address of the account', emailAddress)
    .option(
      '--workspace <slug>',
      'workspace of the account, if the e-mail address has several accounts',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice user reset-password ana@example.com')
    .action(reset);
}
