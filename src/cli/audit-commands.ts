/** `sluice audit …`. */
import { type Command, InvalidArgumentError } from 'commander';

import { type LedgerCheck, verifyAudit } from '../db/people/audit.ts';
import type { ChainHead } from '../db/people/audit-chain.ts';
import { findWorkspace, listWorkspaces, type Workspace } from '../db/people/workspaces.ts';
import { paint } from '../terminal/paint.ts';
import { answer, type OutputOptions } from './answer.ts';
import { withDatabase } from './with-database.ts';

const VERIFY_HELP = `
Every entry has a hash of its content and of the previous entry. The command computes all hashes
again. At the first one that differs it prints the entry and exits with code 1.

Entries deleted at the end of the log leave no trace in it. Keep the line that the command prints,
entry and hash, somewhere else, and pass it to --known later: a log without that entry and hash
was truncated or rewritten.

Examples:
  sluice audit verify
  sluice audit verify --workspace default --known 12:<64 hexadecimal digits>
  sluice audit verify --workspace default --json`;

interface VerifyOptions extends OutputOptions {
  readonly workspace?: string;
  readonly known?: ChainHead;
}

/** `12:ab…`, or with a space as the command prints it. */
function entryAndHash(text: string): ChainHead {
  const [, seq, hash] = /^([1-9]\d{0,17})[: ]([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined) {
    throw new InvalidArgumentError(
      'an entry and its hash are needed, as 12:<64 hexadecimal digits>',
    );
  }
  return { seq, hash: Buffer.from(hash, 'hex') };
}

function lineOf({ slug }: Workspace, { head, broken }: LedgerCheck): string {
  const place = `${head.seq} ${head.hash.toString('hex')}`;
  if (broken === null) return `${paint.green('whole')}   ${slug}  ${place}`;
  return `${paint.red('broken')}  ${slug}  at entry ${broken.seq}: ${broken.why}; whole up to ${place}`;
}

async function verify(options: VerifyOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const workspaces =
      options.workspace === undefined && options.known === undefined
        ? await listWorkspaces(database)
        : [await findWorkspace(database, options.workspace ?? null)];
    const checks: { workspace: Workspace; check: LedgerCheck }[] = [];
    for (const workspace of workspaces) {
      checks.push({ workspace, check: await verifyAudit(database, workspace.id, options.known) });
    }
    if (checks.some(({ check }) => check.broken !== null)) process.exitCode = 1;
    const records = checks.map(({ workspace, check: { head, broken } }) => ({
      workspace: workspace.slug,
      whole: broken === null,
      last_whole: { seq: Number(head.seq), hash: head.hash.toString('hex') },
      broken: broken === null ? null : { seq: Number(broken.seq), why: broken.why },
    }));
    answer(options, records, () =>
      checks.map(({ workspace, check }) => lineOf(workspace, check)).join('\n'),
    );
  });
}

/** Adds `audit verify`. */
export function addAuditCommands(program: Command): void {
  const audit = program.command('audit').description('verify the audit log');
  audit
    .command('verify')
    .description('verify the hash of every entry; exit code 1 if an entry was changed or removed')
    .option('--workspace <slug>', 'only this workspace; all by default')
    .option(
      '--known <entry>',
      'entry:hash that an earlier check printed; it must still exist',
      entryAndHash,
    )
    .option('--json', 'print JSON')
    .addHelpText('after', VERIFY_HELP)
    .action(verify);
}
