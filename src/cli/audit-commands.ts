/** `sluice audit …`. */
import { type Command, InvalidArgumentError } from 'commander';
import { type LedgerCheck, verifyAudit } from '../db/people/audit.ts';
import { type ChainHead, parseHead } from '../db/people/audit-chain.ts';
import { findWorkspace, listWorkspaces, type Workspace } from '../db/people/workspaces.ts';
import { type Heads, type HeadsFile, headsFileOf } from '../main/audit-heads-file.ts';
import { paint } from '../terminal/output.ts';
import { answer, type OutputOptions } from './answer.ts';
import { withDatabase } from './with-database.ts';

const VERIFY_HELP = `
Every entry has a hash of its content and of the previous entry. The command computes all hashes
again. At the first one that differs it prints the entry and exits with code 1.

Entries deleted at the end of the log leave no trace in it. So the server keeps the last entry's
number and hash in a file in DATA_DIR and in its own log, every hour and when it starts and stops.
A log without an entry that the file has was truncated or rewritten. If you restored an older
backup, delete the file: the server writes another one.

A line of the server's log, or the one that the command prints, can be passed to --known.

Examples:
  sluice audit verify
  sluice audit verify --workspace default --known 12:<64 hexadecimal digits>
  sluice audit verify --workspace default --json`;

interface VerifyOptions extends OutputOptions {
  readonly workspace?: string;
  readonly known?: ChainHead;
}

function entryAndHash(text: string): ChainHead {
  const head = parseHead(text);
  if (head !== null) return head;
  throw new InvalidArgumentError('an entry and its hash are needed, as 12:<64 hexadecimal digits>');
}

function lineOf({ slug }: Workspace, { head, broken }: LedgerCheck): string {
  const place = `${head.seq} ${head.hash.toString('hex')}`;
  if (broken === null) return `${paint.green('whole')}   ${slug}  ${place}`;
  return `${paint.red('broken')}  ${slug}  at entry ${broken.seq}: ${broken.why}; whole up to ${place}`;
}

/** Returns a note for the operator about the file of kept heads; null if there is nothing to do. */
function noteOf(
  { path }: HeadsFile,
  kept: Heads | null,
  checks: readonly Checked[],
): string | null {
  if (kept === null) {
    return `${path} does not exist, so a log whose end was cut off looks whole (see --known)`;
  }
  const isCut = checks.some(({ workspace, check: { broken } }) => {
    return broken?.known != null && broken.known === kept.get(workspace.id);
  });
  if (!isCut) return null;
  return `${path} has an entry that the log lacks. Only if you restored an older backup, delete this file.`;
}

interface Checked {
  readonly workspace: Workspace;
  readonly check: LedgerCheck;
}

const recordOf = (head: ChainHead | undefined) =>
  head === undefined ? null : { seq: Number(head.seq), hash: head.hash.toString('hex') };

async function verify(options: VerifyOptions): Promise<void> {
  await withDatabase(async ({ database }, { dataDir }) => {
    const workspaces =
      options.workspace === undefined && options.known === undefined
        ? await listWorkspaces(database)
        : [await findWorkspace(database, options.workspace ?? null)];
    const file = await headsFileOf(dataDir, database);
    // Read before the logs, so that they have every entry that the file has.
    const kept = file.read();
    const checks: Checked[] = [];
    for (const workspace of workspaces) {
      const known = [options.known, kept?.get(workspace.id)].filter((one) => one !== undefined);
      checks.push({ workspace, check: await verifyAudit(database, workspace.id, known) });
    }
    if (checks.some(({ check }) => check.broken !== null)) process.exitCode = 1;
    const records = checks.map(({ workspace, check: { head, broken } }) => ({
      workspace: workspace.slug,
      whole: broken === null,
      last_whole: recordOf(head),
      kept: recordOf(kept?.get(workspace.id)),
      broken: broken === null ? null : { seq: Number(broken.seq), why: broken.why },
    }));
    answer(options, records, () =>
      checks.map(({ workspace, check }) => lineOf(workspace, check)).join('\n'),
    );
    const note = noteOf(file, kept, checks);
    if (note !== null && options.json !== true)
      process.stderr.write(`${paint.yellow('note:')} ${note}\n`);
  });
}

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
