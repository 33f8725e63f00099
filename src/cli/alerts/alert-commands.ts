/**
 * `sluice alerts …`: where alerts go, how sending went, and sending again what was not delivered, on the
 * local database or a remote server. Destinations are added and changed in the dashboard.
 */
import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { resendDead } from '../../db/alerts/destinations.ts';
import { sameForAll } from '../../db/databases.ts';
import { COMMAND_LINE } from '../../db/people/audit.ts';
import { findWorkspace } from '../../db/people/workspaces.ts';
import { alertsBody, testBody, testDestination } from '../../http/cli/alert-calls.ts';
import { alertSenderOf } from '../../main/alerts.ts';
import { pinnedCorpus } from '../../main/corpus-location.ts';
import { ALERT_FORMAT_LABELS } from '../../model/alerts.ts';
import { loadKeptCatalog } from '../../pool/kept-catalog.ts';
import { plain } from '../../terminal/printable.ts';
import { answer, type OutputOptions, shownTime } from '../answer.ts';
import { chooseServer, type PlaceOptions, serverOption } from '../remote/place.ts';
import { asOperatorError, parts } from '../remote/reader.ts';
import { call } from '../remote/server-call.ts';
import { renderTable } from '../table.ts';
import { readClock, withDatabase } from '../with-database.ts';

type Options = OutputOptions & PlaceOptions;

const sending = {
  outcome: z.string(),
  http_status: z.number().nullable(),
  failure: z.string().nullable(),
};
const destinations = z.array(
  z.object({
    id: z.number(),
    name: z.string(),
    format: z.string(),
    to: z.string(),
    min_severity: z.string(),
    paused: z.boolean(),
    pending_findings: z.number(),
    undelivered_findings: z.number(),
    last_message: z.object({ at: z.string(), ...sending }).nullable(),
  }),
);
const log = z.array(
  z.object({
    at: z.string(),
    destination: z.string(),
    message_id: z.string(),
    kind: z.string(),
    findings: z.number(),
    attempt: z.number(),
    ...sending,
  }),
);
const undelivered = z.array(
  z.object({
    destination_id: z.number(),
    destination: z.string(),
    message_id: z.string(),
    findings: z.number(),
    attempts: z.number(),
    last_attempt_at: z.string(),
    http_status: z.number().nullable(),
    failure: z.string().nullable(),
  }),
);
const listed = z.object({ destinations, log, undelivered });
const tested = z.object({ destination: z.string(), message_id: z.string(), ...sending });

type Reason = Pick<z.infer<typeof tested>, 'http_status' | 'failure'>;

const shown = (time: string): string => shownTime(new Date(time));
/** `status 500`, `timeout` */
const reasonOf = ({ http_status: status, failure }: Reason): string => {
  if (failure === null) return status === null ? '' : String(status);
  return failure === 'status' ? `status ${status}` : plain(failure).replaceAll('_', ' ');
};
const formatOf = (format: string): string =>
  (ALERT_FORMAT_LABELS as Readonly<Record<string, string>>)[format] ?? plain(format);

/** Prints a part of what is listed: as a table, or as JSON. */
async function show<Part extends keyof z.infer<typeof listed>>(
  options: Options,
  part: Part,
  text: (entries: z.infer<typeof listed>[Part]) => string,
): Promise<void> {
  await withAlerts(options, async (caller) => {
    const body = await caller.list();
    const all = parts(listed, body);
    answer(options, (body as Record<Part, unknown>)[part], () => text(all[part]));
  });
}

async function list(options: Options): Promise<void> {
  await show(options, 'destinations', (all) =>
    all.length === 0
      ? 'No destinations. Add one in the dashboard: Settings, Alerts.'
      : renderTable(all, [
          { title: 'ID', align: 'right', cell: (one) => String(one.id) },
          { title: 'NAME', shrinks: true, cell: (one) => plain(one.name) },
          { title: 'FORMAT', cell: (one) => formatOf(one.format) },
          { title: 'TO', shrinks: true, cell: (one) => plain(one.to) },
          { title: 'SEVERITY', cell: (one) => `${plain(one.min_severity)} and above` },
          { title: 'STATUS', cell: (one) => (one.paused ? 'paused' : 'on') },
          { title: 'WAITING', align: 'right', cell: (one) => String(one.pending_findings) },
          { title: 'UNDELIVERED', align: 'right', cell: (one) => String(one.undelivered_findings) },
          {
            title: 'LAST MESSAGE',
            cell: ({ last_message: last }) =>
              last === null ? '–' : `${shown(last.at)} ${plain(last.outcome)}`,
          },
        ]),
  );
}

async function showLog(options: Options): Promise<void> {
  await show(options, 'log', (entries) =>
    entries.length === 0
      ? 'No messages yet.'
      : renderTable(entries, [
          { title: 'TIME', cell: (one) => shown(one.at) },
          { title: 'DESTINATION', shrinks: true, cell: (one) => plain(one.destination) },
          { title: 'KIND', cell: (one) => plain(one.kind) },
          { title: 'FINDINGS', align: 'right', cell: (one) => String(one.findings) },
          { title: 'ATTEMPT', align: 'right', cell: (one) => String(one.attempt) },
          { title: 'OUTCOME', cell: (one) => plain(one.outcome) },
          { title: 'REASON', cell: reasonOf },
          { title: 'MESSAGE', cell: (one) => plain(one.message_id) },
        ]),
  );
}

async function showUndelivered(options: Options): Promise<void> {
  await show(options, 'undelivered', (messages) =>
    messages.length === 0
      ? 'Every message was delivered, or is still being tried.'
      : [
          renderTable(messages, [
            { title: 'LAST ATTEMPT', cell: (one) => shown(one.last_attempt_at) },
            { title: 'DESTINATION', shrinks: true, cell: (one) => plain(one.destination) },
            { title: 'ID', align: 'right', cell: (one) => String(one.destination_id) },
            { title: 'FINDINGS', align: 'right', cell: (one) => String(one.findings) },
            { title: 'ATTEMPTS', align: 'right', cell: (one) => String(one.attempts) },
            { title: 'REASON', cell: reasonOf },
            { title: 'MESSAGE', cell: (one) => plain(one.message_id) },
          ]),
          '',
          'Send one again: sluice alerts send-again ID MESSAGE',
        ].join('\n'),
  );
}

async function test(id: number, options: Options): Promise<void> {
  await withAlerts(options, async (caller) => {
    const body = await caller.test(id);
    const result = parts(tested, body);
    answer(options, body, () =>
      result.failure === null
        ? `A test message was delivered to ${plain(result.destination)}.`
        : `The test message to ${plain(result.destination)} failed: ${reasonOf(result)}.`,
    );
    // A script sees it by the exit code.
    if (result.failure !== null) process.exitCode = 1;
  });
}

async function sendAgain(id: number, message: string, options: Options): Promise<void> {
  await withAlerts(options, async (caller) => {
    const body = await caller.sendAgain(id, message);
    answer(options, body, () => `Message ${message} is queued; a server sends it within seconds.`);
  });
}

function idArgument(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError('must be a whole number');
  return Number(text);
}

function messageArgument(text: string): string {
  const id = text.toLowerCase().replaceAll('-', '');
  if (!/^[0-9a-f]{32}$/.test(id)) throw new InvalidArgumentError('must be 32 hexadecimal digits');
  return id;
}

/** Adds `alerts list`, `test`, `log`, `undelivered` and `send-again`. */
export function addAlertCommands(program: Command): void {
  const alerts = program
    .command('alerts')
    .description('alerts: destinations of new findings, and how sending went');
  const add = (name: string, description: string, example: string): Command =>
    alerts
      .command(name)
      .description(description)
      .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
      .addOption(serverOption())
      .option('--json', 'print JSON')
      .addHelpText('after', `\nExample:\n  sluice alerts ${example}`);
  const destination = 'id from `sluice alerts list`';
  add('list', 'list the destinations', 'list').action(list);
  add('test', 'send a test message; exit code 1 if it fails', 'test 3')
    .argument('<id>', destination, idArgument)
    .action(test);
  add('log', 'list the last 100 attempts, newest first', 'log --json').action(showLog);
  add('undelivered', 'list messages that are not tried again', 'undelivered').action(
    showUndelivered,
  );
  add(
    'send-again',
    'queue an undelivered message again',
    'send-again 3 411e744d63ef4be3abc0b8fed67d0dc7',
  )
    .argument('<id>', destination, idArgument)
    .argument('<message>', 'id from `sluice alerts undelivered`', messageArgument)
    .action(sendAgain);
}

/** Answers are JSON, the same in both places. */
export interface AlertCaller {
  readonly list: () => Promise<unknown>;
  readonly test: (id: number) => Promise<unknown>;
  readonly sendAgain: (id: number, message: string) => Promise<unknown>;
}

const PATH = '/cli/v1/alerts';

export async function withAlerts(
  options: PlaceOptions,
  work: (caller: AlertCaller) => Promise<void>,
): Promise<void> {
  const login = chooseServer(options);
  if (login !== null) {
    await work({
      list: () => call(login, PATH),
      test: (id) => call(login, `${PATH}/${id}/test`, { method: 'POST' }),
      sendAgain: (id, message) => {
        const json = { message_id: message };
        return call(login, `${PATH}/${id}/send-again`, { method: 'POST', json });
      },
    });
    return;
  }
  await withDatabase(async ({ database }, config) => {
    const { id: workspaceId } = await findWorkspace(database, options.workspace ?? null);
    const clock = await readClock(database);
    const db = sameForAll(database);
    try {
      await work({
        list: () => alertsBody(db, workspaceId),
        test: async (id) => {
          const catalog = loadKeptCatalog(pinnedCorpus());
          const sender = alertSenderOf(config, catalog, clock);
          return testBody(await testDestination(db, sender, workspaceId, id));
        },
        sendAgain: async (id, message) => {
          await resendDead(database, workspaceId, id, message, COMMAND_LINE);
          return { message_id: message, queued: true };
        },
      });
    } catch (error) {
      throw asOperatorError(error);
    }
  });
}
