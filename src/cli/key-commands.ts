/** `sluice key …`, on the local database or through a login. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';

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
import { plain } from '../terminal/printable.ts';
import { answer, type OutputOptions, shownTime } from './answer.ts';
import { chooseServer, type PlaceOptions, serverOption } from './remote/place.ts';
import { parts } from './remote/reader.ts';
import { call } from './remote/server-call.ts';
import { renderTable } from './table.ts';
import { withDatabase } from './with-database.ts';

type Options = OutputOptions & PlaceOptions;

interface CreateOptions extends Options {
  readonly kind: KeyKind;
  readonly name: string;
  readonly limit: number;
  readonly prefix: AgentKeyPrefix;
}

const PATH = '/cli/v1/keys';

const created = z.object({ id: z.number(), key: z.string() });
const listed = z.array(
  z.object({
    id: z.number(),
    /** absent where all keys are of one workspace */
    workspace: z.string().optional(),
    kind: z.string(),
    name: z.string(),
    prefix: z.string(),
    rate_limit_per_minute: z.number(),
    last_used_at: z.coerce.date().nullable(),
    revoked_at: z.coerce.date().nullable(),
  }),
);

/** Answers are JSON, the same in both places. */
interface KeyCalls {
  readonly create: (wanted: CreateOptions) => Promise<{ workspace: string; body: unknown }>;
  readonly list: () => Promise<unknown>;
  readonly setLimit: (id: number, limit: number) => Promise<unknown>;
  readonly revoke: (id: number) => Promise<unknown>;
}

async function withKeys(
  options: PlaceOptions,
  work: (keys: KeyCalls) => Promise<void>,
): Promise<void> {
  const login = chooseServer(options);
  if (login !== null) {
    const post = (path: string, json: unknown) => call(login, path, { method: 'POST', json });
    await work({
      create: async ({ kind, name, limit, prefix }) => {
        const body = await post(PATH, { kind, name, rate_limit_per_minute: limit, prefix });
        return { workspace: login.workspace, body };
      },
      list: async () => parts(z.object({ keys: z.unknown() }), await call(login, PATH)).keys,
      setLimit: (id, limit) => post(`${PATH}/${id}/limit`, { rate_limit_per_minute: limit }),
      revoke: (id) => call(login, `${PATH}/${id}`, { method: 'DELETE' }),
    });
    return;
  }
  await withDatabase(async ({ database }, { brand }) => {
    const { workspace: named } = options;
    await work({
      create: async ({ kind, name, limit, prefix }) => {
        const { id: workspaceId, slug } = await findWorkspace(database, named ?? null);
        const wanted = { kind, name, rateLimitPerMinute: limit, brand, agentPrefix: prefix };
        const { id, key } = await createRecordedKey(database, workspaceId, wanted, COMMAND_LINE);
        return { workspace: slug, body: { id, key, kind, name, rate_limit_per_minute: limit } };
      },
      list: async () => {
        const workspace = named === undefined ? null : await findWorkspace(database, named);
        const keys = await listKeys(database, workspace?.id ?? null);
        return keys.map((key) => ({ ...toKeyRecord(key), workspace: key.workspace }));
      },
      setLimit: async (id, limit) => {
        const workspaceId = await workspaceOfKey(database, id);
        await setRecordedKeyLimit(database, workspaceId, id, limit, COMMAND_LINE);
        return { id, rate_limit_per_minute: limit };
      },
      revoke: async (id) => {
        await revokeRecordedKey(database, await workspaceOfKey(database, id), id, COMMAND_LINE);
        return { id, revoked: true };
      },
    });
  });
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('must be a whole number');
  return Number(text);
}

async function create(options: CreateOptions): Promise<void> {
  await withKeys(options, async (keys) => {
    const { workspace, body } = await keys.create(options);
    answer(options, body, () => {
      const { id, key } = parts(created, body);
      return `Key ${id} of workspace "${workspace}", shown only once; copy it now:\n${paint.green(plain(key))}`;
    });
  });
}

async function list(options: Options): Promise<void> {
  await withKeys(options, async ({ list: read }) => {
    const body = await read();
    const keys = parts(listed, body);
    const isOfSeveral = keys.some(({ workspace }) => workspace !== undefined);
    answer(options, body, () =>
      renderTable(keys, [
        { title: 'ID', align: 'right', cell: (key) => String(key.id) },
        ...(isOfSeveral
          ? [{ title: 'WORKSPACE', cell: (key: (typeof keys)[number]) => key.workspace ?? '' }]
          : []),
        { title: 'KIND', cell: (key) => plain(key.kind) },
        { title: 'NAME', shrinks: true, cell: (key) => plain(key.name) },
        { title: 'PREFIX', cell: (key) => `${plain(key.prefix)}…` },
        { title: 'REQUESTS/MIN', align: 'right', cell: (key) => String(key.rate_limit_per_minute) },
        { title: 'LAST USED', cell: (key) => shownTime(key.last_used_at) },
        {
          title: 'STATE',
          cell: ({ revoked_at: at }) => (at === null ? 'valid' : `revoked ${shownTime(at)}`),
        },
      ]),
    );
  });
}

async function revoke(id: number, options: Options): Promise<void> {
  await withKeys(options, async (keys) => {
    answer(
      options,
      await keys.revoke(id),
      () => `Key ${id} is revoked; servers refuse it within 5 s.`,
    );
  });
}

async function setLimit(id: number, limit: number, options: Options): Promise<void> {
  await withKeys(options, async (keys) => {
    const body = await keys.setLimit(id, limit);
    answer(
      options,
      body,
      () =>
        `Key ${id} may send ${limit} requests per minute; servers use the new limit within 5 s.`,
    );
  });
}

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
    .action(create);
  key
    .command('list')
    .description('list keys, including revoked ones')
    .option('--workspace <slug>', 'only keys of this workspace')
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice key list --workspace default')
    .action(list);
  key
    .command('limit')
    .description('change how many requests per minute a key may send')
    .argument('<id>', 'id from `sluice key list`', wholeNumber)
    .argument('<n>', `requests per minute, 1 to ${RATE_LIMIT_MAX}`, wholeNumber)
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice key limit 3 5000')
    .action(setLimit);
  key
    .command('revoke')
    .description('revoke a key')
    .argument('<id>', 'id from `sluice key list`', wholeNumber)
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice key revoke 3')
    .action(revoke);
}
