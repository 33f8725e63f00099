/** `sluice key …`, on the local database or through a login. */
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { listKeys } from '../db/people/keys.ts';
import { workspaceOfKey } from '../db/people/workspace-writes.ts';
import { findWorkspace } from '../db/people/workspaces.ts';
import {
  AGENT_KEY_PREFIXES,
  type AgentKeyPrefix,
  type KeyKind,
  RATE_LIMIT_DEFAULT,
  RATE_LIMIT_MAX,
  toKeyRecord,
} from '../model/people.ts';
import { paint, plain } from '../terminal/output.ts';
import { answer, type OutputOptions, renderTable, shownTime } from './answer.ts';
import { ID_MAX, wholeNumber, withExamples, withPlaces } from './command.ts';
import { type CommandPlace, parts, remotePlace, withPlace } from './remote/calls.ts';
import { chooseServer, type PlaceOptions, serverOption } from './remote/logins.ts';
import { withDatabase } from './with-database.ts';

type Options = OutputOptions & PlaceOptions;

interface CreateOptions extends Options {
  readonly kind: KeyKind;
  readonly name: string;
  readonly limit: number;
  readonly prefix: AgentKeyPrefix;
}

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
    last_used_at: z.string().nullable(),
    revoked_at: z.string().nullable(),
  }),
);

async function create(options: CreateOptions): Promise<void> {
  await withPlace(options, async ({ workspace, call }) => {
    const { kind, name, limit, prefix } = options;
    const json = { kind, name, rate_limit_per_minute: limit, prefix };
    const body = await call('/keys', { method: 'POST', json });
    answer(options, body, () => {
      const { id, key } = parts(created, body);
      return `Key ${id} of workspace "${workspace}", shown only once; copy it now:\n${paint.green(plain(key))}`;
    });
  });
}

function printKeys(options: Options, body: unknown): void {
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
}

/** On the local database without `--workspace`, the keys of all workspaces. */
async function list(options: Options): Promise<void> {
  const login = chooseServer(options);
  if (login !== null) {
    const body = await remotePlace(login).call('/keys');
    printKeys(options, parts(z.object({ keys: z.unknown() }), body).keys);
    return;
  }
  await withDatabase(async ({ database }) => {
    const { workspace: named } = options;
    const workspace = named === undefined ? null : await findWorkspace(database, named);
    const keys = await listKeys(database, workspace?.id ?? null);
    printKeys(
      options,
      keys.map((key) => ({ ...toKeyRecord(key), workspace: key.workspace })),
    );
  });
}

/** Runs the work on the workspace of a key. */
const withKey = (id: number, options: Options, work: (place: CommandPlace) => Promise<void>) =>
  withPlace(options, work, (database) => workspaceOfKey(database, id));

async function revoke(id: number, options: Options): Promise<void> {
  await withKey(id, options, async ({ call }) => {
    const body = await call(`/keys/${id}`, { method: 'DELETE' });
    answer(options, body, () => `Key ${id} is revoked; servers refuse it within 5 s.`);
  });
}

async function setLimit(id: number, limit: number, options: Options): Promise<void> {
  await withKey(id, options, async ({ call }) => {
    const json = { rate_limit_per_minute: limit };
    const body = await call(`/keys/${id}/limit`, { method: 'POST', json });
    answer(
      options,
      body,
      () =>
        `Key ${id} may send ${limit} requests per minute; servers use the new limit within 5 s.`,
    );
  });
}

const perMinute = wholeNumber(RATE_LIMIT_MAX);
const PER_MINUTE = `requests per minute, 1 to ${RATE_LIMIT_MAX}`;

export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('manage API keys');
  withPlaces(
    key
      .command('create')
      .description('create a key and show it once')
      .addOption(
        new Option('--kind <kind>', 'agent: sends telemetry; workspace: reads the API')
          .choices(['agent', 'workspace'])
          .makeOptionMandatory(),
      )
      .requiredOption('--name <name>', 'display name')
      .option('--limit <n>', PER_MINUTE, perMinute, RATE_LIMIT_DEFAULT)
      .addOption(
        new Option('--prefix <prefix>', 'prefix of an agent key; both work the same')
          .choices(AGENT_KEY_PREFIXES)
          .default('live'),
      ),
    'key create --kind agent --name collector-eu',
  ).action(create);
  withExamples(
    key
      .command('list')
      .description('list keys, including revoked ones')
      .option('--workspace <slug>', 'only keys of this workspace')
      .addOption(serverOption()),
    'key list --workspace default',
  ).action(list);
  const withId = (name: string): Command =>
    key
      .command(name)
      .argument('<id>', 'id from `sluice key list`', wholeNumber(ID_MAX))
      .addOption(serverOption());
  withExamples(withId('limit'), 'key limit 3 5000')
    .description('change how many requests per minute a key may send')
    .argument('<n>', PER_MINUTE, perMinute)
    .action(setLimit);
  withExamples(withId('revoke'), 'key revoke 3').description('revoke a key').action(revoke);
}
