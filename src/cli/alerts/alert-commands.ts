/**
 * `sluice alerts …`: where alerts go, how sending went, and sending again what was not delivered, on the
 * local database or a remote server. Destinations are added and changed in the dashboard.
 */
import { type Command, InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { alerts, tested } from '../../http/cli/alert-calls.ts';
import { ALERT_FORMAT_LABELS } from '../../model/alerts.ts';
import { plain } from '../../terminal/output.ts';
import { answer, type OutputOptions, renderTable, shownTime } from '../answer.ts';
import { ID_MAX, wholeNumber, withPlaces } from '../command.ts';
import { parts, withPlace } from '../remote/calls.ts';
import type { PlaceOptions } from '../remote/logins.ts';

type Options = OutputOptions & PlaceOptions;
type Listed = z.infer<typeof alerts>;

type Reason = Pick<z.infer<typeof tested>, 'http_status' | 'failure'>;

/** `status 500`, `timeout` */
const reasonOf = ({ http_status: status, failure }: Reason): string => {
  if (failure === null) return status === null ? '' : String(status);
  return failure === 'status' ? `status ${status}` : plain(failure).replaceAll('_', ' ');
};
const formatOf = (format: string): string =>
  (ALERT_FORMAT_LABELS as Readonly<Record<string, string>>)[format] ?? plain(format);

/** Prints a part of what is listed: as a table, or as JSON. */
async function show<Part extends keyof Listed>(
  options: Options,
  part: Part,
  text: (entries: Listed[Part]) => string,
): Promise<void> {
  await withPlace(options, async ({ call }) => {
    const body = await call('/alerts');
    const all = parts(alerts, body);
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
              last === null ? '–' : `${shownTime(last.at)} ${plain(last.outcome)}`,
          },
        ]),
  );
}

async function showLog(options: Options): Promise<void> {
  await show(options, 'log', (entries) =>
    entries.length === 0
      ? 'No messages yet.'
      : renderTable(entries, [
          { title: 'TIME', cell: (one) => shownTime(one.at) },
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
            { title: 'LAST ATTEMPT', cell: (one) => shownTime(one.last_attempt_at) },
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
  await withPlace(options, async ({ call }) => {
    const body = await call(`/alerts/${id}/test`, { method: 'POST' });
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
  await withPlace(options, async ({ call }) => {
    const sent = { method: 'POST', json: { message_id: message } } as const;
    const body = await call(`/alerts/${id}/send-again`, sent);
    answer(options, body, () => `Message ${message} is queued; a server sends it within seconds.`);
  });
}

function messageArgument(text: string): string {
  const id = text.toLowerCase().replaceAll('-', '');
  if (!/^[0-9a-f]{32}$/.test(id)) throw new InvalidArgumentError('must be 32 hexadecimal digits');
  return id;
}

export function addAlertCommands(program: Command): void {
  const commands = program
    .command('alerts')
    .description('alerts: destinations of new findings, and how sending went');
  const add = (name: string, description: string, example: string): Command =>
    withPlaces(commands.command(name).description(description), `alerts ${example}`);
  const withId = (command: Command): Command =>
    command.argument('<id>', 'id from `sluice alerts list`', wholeNumber(ID_MAX));
  add('list', 'list the destinations', 'list').action(list);
  withId(add('test', 'send a test message; exit code 1 if it fails', 'test 3')).action(test);
  add('log', 'list the last 100 attempts, newest first', 'log --json').action(showLog);
  add('undelivered', 'list messages that are not tried again', 'undelivered').action(
    showUndelivered,
  );
  const again = 'send-again 3 411e744d63ef4be3abc0b8fed67d0dc7';
  withId(add('send-again', 'queue an undelivered message again', again))
    .argument('<message>', 'id from `sluice alerts undelivered`', messageArgument)
    .action(sendAgain);
}
