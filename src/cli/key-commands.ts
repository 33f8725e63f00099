/** `sluice key …`. */
import { type Command, InvalidArgumentError, Option } from 'commander';

import { COMMAND_LINE } from '../db/people/audit.ts';
import { listKeys } from '../db/people/keys.ts';
import {
  createRecordedKey,
  revokeRecordedKey,
  setRecordedKeyLimit,
  workspaceOfKey,
} from '../db/people/workspace-writes.ts';
import { findWorkspace } from '../db/people/workspaces.ts';
import {
  AGENT_KEY_PREFIXES,
  type AgentKeyPrefix,
  type KeyKind,
  RATE_LIMIT_DEFAULT,
  RATE_LIMIT_MAX,
  toKeyRecord,
} from '../model/people.ts';
import { paint } from '../terminal/paint.ts';
import { answer, type OutputOptions } from './answer.ts';
import { keyTable } from './key-table.ts';
import {
  createRemoteKey,
  limitChanged,
  listRemoteKeys,
  revoked,
  revokeRemoteKey,
  setRemoteKeyLimit,
} from './remote/keys.ts';
import { localOrRemote, serverOption } from './remote/place.ts';
import { withDatabase } from './with-database.ts';

interface CreateOptions extends OutputOptions {
  readonly kind: KeyKind;
  readonly name: string;
  readonly limit: number;
  readonly workspace?: string;
  readonly prefix: AgentKeyPrefix;
}

interface ListOptions extends OutputOptions {
  readonly workspace?: string;
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('must be a whole number');
  return Number(text);
}

async function create(options: CreateOptions): Promise<void> {
  await withDatabase(async ({ database }, { brand }) => {
    const workspace = await findWorkspace(database, options.workspace ?? null);
    const { kind, name, limit, prefix } = options;
    const wanted = { kind, name, rateLimitPerMinute: limit, brand, agentPrefix: prefix };
    const { id, key } = await createRecordedKey(
      database,
      { ...wanted, workspaceId: workspace.id },
      COMMAND_LINE,
    );
    answer(options, { id, key, kind, name, rate_limit_per_minute: limit }, () =>
      [
        `Key ${id} of workspace "${workspace.slug}", shown only once; copy it now:`,
        paint.green(key),
      ].join('\n'),
    );
  });
}

async function list(options: ListOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const workspace =
      options.workspace === undefined ? null : await findWorkspace(database, options.workspace);
    const keys = await listKeys(database, workspace?.id ?? null);
    const records = keys.map((key) => ({ ...toKeyRecord(key), workspace: key.workspace }));
    answer(options, records, () => keyTable(records, true));
  });
}

async function revoke(id: number, options: OutputOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    await revokeRecordedKey(database, await workspaceOfKey(database, id), id, COMMAND_LINE);
    answer(options, { id, revoked: true }, () => revoked(id));
  });
}

async function setLimit(id: number, limit: number, options: OutputOptions): Promise<void> {
  await withDatabase(async ({ database }) => {
    const workspaceId = await workspaceOfKey(database, id);
    await setRecordedKeyLimit(database, workspaceId, id, limit, COMMAND_LINE);
    answer(options, { id, rate_limit_per_minute: limit }, () => limitChanged(id, limit));
  });
}

/** Adds `key create`, `key list`, `key limit` and `key revoke`. */
export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('manage API keys');
  key
    .command('create')
    .description('create a key and show it once')
    .addOption(
      new Option('--kind <kind>', 'agent: sends telemetry; workspace: reads the API')
        .choices(['agent', 'workspace'])
        .makeOptionMandatory(),
    )
    .requiredOption('--name <name>', 'display name')
    .option(
      '--limit <n>',
      `requests per minute, 1 to ${RATE_LIMIT_MAX}`,
      wholeNumber,
      RATE_LIMIT_DEFAULT,
    )
    .option('--workspace <slug>', 'workspace of the key; can be omitted if there is only one')
    .addOption(
      new Option('--prefix <prefix>', 'prefix of an agent key; both work the same')
        .choices(AGENT_KEY_PREFIXES)
        .default('live'),
    )
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice key create --kind agent --name collector-eu')
    .action(localOrRemote(create, createRemoteKey));
  key
    .command('list')
    .description('list keys, including revoked ones')
    .option('--workspace <slug>', 'only keys of this workspace')
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice key list --workspace default')
    .action(localOrRemote(list, listRemoteKeys));
  key
    .command('limit')
    .description('change how many requests per minute a key may send')
    .argument('<id>', 'id from `sluice key list`', wholeNumber)
    .argument('<n>', `requests per minute, 1 to ${RATE_LIMIT_MAX}`, wholeNumber)
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice key limit 3 5000')
    .action(localOrRemote(setLimit, setRemoteKeyLimit));
  key
    .command('revoke')
    .description('revoke a key')
    .argument('<id>', 'id from `sluice key list`', wholeNumber)
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice key revoke 3')
    .action(localOrRemote(revoke, revokeRemoteKey));
}
