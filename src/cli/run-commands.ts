/** `sluice runs …`: the runs that arrived and their steps, locally or on a remote server. */
import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { run, type runItem, runPage, runSearch } from '../http/api/runs/run-schema.ts';
import { CHECKED_LABELS } from '../model/run-check.ts';
import { EVALUATION_STATES, RUN_ORDERS, RUN_STATES } from '../model/runs.ts';
import { surfaceLabel } from '../model/steps.ts';
import { paint, plain } from '../terminal/output.ts';
import { corpusName } from '../terminal/rule-counts.ts';
import { answer, renderTable, shownTime } from './answer.ts';
import { type QueryOptions, queryOf, withPlaces } from './command.ts';
import { nextPage } from './findings/finding-commands.ts';
import { parts, printCall, withPlace } from './remote/calls.ts';

type Item = z.infer<typeof runItem>;
type Run = z.infer<typeof run>;

const orDash = (text: string | null): string => plain(text ?? '–');

function runTable({ runs, next_cursor: next }: z.infer<typeof runPage>): string {
  if (runs.length === 0) return 'No runs.';
  const table = renderTable(runs, [
    { title: 'ARRIVED', cell: (one) => shownTime(one.first_arrived_at) },
    { title: 'STATE', cell: (one) => plain(one.state) },
    { title: 'EVALUATION', cell: (one) => plain(one.evaluation) },
    { title: 'SERVICE', cell: (one) => orDash(one.service) },
    { title: 'NAME', shrinks: true, cell: (one) => orDash(one.name) },
    { title: 'STEPS', align: 'right', cell: (one) => String(one.spans + one.log_records) },
    { title: 'CHECKED', cell: checkedLabel },
    { title: 'FINDINGS', align: 'right', cell: (one) => String(one.findings) },
    { title: 'RUN', cell: (one) => plain(one.id) },
  ]);
  return [table, ...nextPage('sluice runs list', next)].join('\n');
}

function checkedLabel({ checked }: Item): string {
  return CHECKED_LABELS[checked] ?? plain(checked);
}

/** The checked part of a run: `6 texts: User input, Tool result`. */
function checkedLine(one: Item): string {
  const { checked, texts, surfaces } = one;
  if (checked === 'pending' || checked === 'failed' || checked === 'nothing' || texts === null) {
    return checkedLabel(one);
  }
  const kinds = (surfaces ?? []).map((surface) => plain(surfaceLabel(surface))).join(', ');
  return `${texts} ${texts === 1 ? 'text' : 'texts'}${kinds === '' ? '' : `: ${kinds}`}`;
}

function gapsOf({
  late_steps,
  late_evaluated_steps,
  late_evaluated_at,
  unread_steps,
  truncated_texts,
  text_cap_bytes,
  unparsed_values,
  text_gaps,
  unread_texts,
  unread_keys,
  unknown_roles,
  checked,
  capture_hint,
}: Item) {
  const cap = text_cap_bytes ? `${text_cap_bytes} bytes` : 'a part';
  return [
    late_evaluated_at !== undefined &&
      `${late_evaluated_steps} late steps, evaluated at ${shownTime(late_evaluated_at)}`,
    late_steps > 0 && `${late_steps} steps arrived after the evaluation and were not checked`,
    unread_steps !== null && unread_steps > 0 && `${unread_steps} steps were not checked in full`,
    truncated_texts !== null &&
      truncated_texts > 0 &&
      `${truncated_texts} texts were not checked, or not in full: ${cap} of each surface of a step are`,
    (unparsed_values ?? 0) > 0 &&
      `${unparsed_values} values were checked as plain text: too large or too deep to parse`,
    text_gaps !== null &&
      text_gaps.length > 0 &&
      `its sender reports missing text: ${plain(text_gaps.join(', '))}`,
    (unread_texts ?? 0) > 0 &&
      `${unread_texts} attributes with text were not checked, because their keys are not known: ` +
        plain((unread_keys ?? []).join(', ')),
    (unknown_roles ?? []).length > 0 &&
      `roles of messages are not known: ${plain((unknown_roles ?? []).join(', '))}`,
    checked === 'nothing' && 'no text was found, so no rule could match',
    checked === 'tool_names_only' && 'nothing but tool names was checked',
    capture_hint !== null && `to send text: ${plain(capture_hint)}`,
  ].filter((line) => line !== false);
}

/** `2 blocks could not be read, with 31 steps` */
function unreadableLine({ unreadable_blocks: blocks, unreadable_steps: steps }: Run) {
  if (blocks === 0) return [];
  const unread = `${blocks} ${blocks === 1 ? 'block' : 'blocks'} could not be read`;
  return [`${unread}, with ${steps} ${steps === 1 ? 'step' : 'steps'}`];
}

function describe(one: Run): string {
  const severity = one.highest_severity === null ? '' : `, highest: ${plain(one.highest_severity)}`;
  return [
    `${paint.bold(orDash(one.name))}  ${plain(one.id)}`,
    `${plain(one.state)} · ${plain(one.evaluation)} · service ${orDash(one.service)} · agent ` +
      `${orDash(one.agent)} · model ${orDash(one.model)}`,
    '',
    `Arrived   ${shownTime(one.first_arrived_at)} to ${shownTime(one.last_arrived_at)} UTC`,
    `Checked   ${checkedLine(one)}`,
    ...(one.corpus_version && one.corpus_identity
      ? [`Rules     ${plain(corpusName(one.corpus_version, one.corpus_identity))}`]
      : []),
    `Findings  ${one.findings}${severity}`,
    ...unreadableLine(one).map((line) => paint.red(`Error     ${line}`)),
    ...gapsOf(one).map((line) => paint.yellow(`Note      ${line}`)),
    '',
    renderTable(one.steps, [
      { title: 'STARTED', cell: (step) => shownTime(step.started_at) },
      { title: 'KIND', cell: (step) => plain(step.kind) },
      { title: 'STATUS', cell: (step) => plain(step.status) },
      { title: 'STEP', shrinks: true, cell: (step) => orDash(step.name) },
    ]),
    ...(one.steps_left_out > 0 ? [`${one.steps_left_out} further steps are not listed.`] : []),
  ].join('\n');
}

const SEARCH_RUNS_DEFAULT = 20;

type SearchPage = z.infer<typeof runSearch>;

/** Joins a page of a search to those before it. A run whose blocks are on several pages is listed once. */
function withPage(all: SearchPage | null, next: SearchPage): SearchPage {
  if (all === null) return next;
  const known = new Set(all.runs.map(({ id }) => id));
  return {
    ...next,
    runs: [...all.runs, ...next.runs.filter(({ id }) => !known.has(id))],
    blocks_tested: all.blocks_tested + next.blocks_tested,
    blocks_unreadable: all.blocks_unreadable + next.blocks_unreadable,
    pending_left_out: all.pending_left_out || next.pending_left_out,
  };
}

function progressOf({ runs, searched_to, blocks_tested: blocks }: SearchPage): string {
  const found = `${runs.length} ${runs.length === 1 ? 'run' : 'runs'}`;
  const to = searched_to === null ? 'the whole range' : `back to ${shownTime(searched_to)} UTC`;
  return `Searched ${to}: ${found} in ${blocks} blocks`;
}

function searched(all: SearchPage): string {
  const lines = all.runs.map(({ text_match: { before, match, after }, ...one }) => {
    const findings = `${one.findings} ${one.findings === 1 ? 'finding' : 'findings'}`;
    const agent = orDash(one.agent ?? one.name ?? one.service);
    return [
      `${shownTime(one.first_arrived_at)}  ${plain(one.id)}  ${agent} · ${findings}`,
      `  ${plain(before)}${paint.bold(plain(match))}${plain(after)}`,
    ].join('\n');
  });
  return [
    ...(lines.length === 0 ? ['No runs have this text.'] : lines),
    '',
    `${progressOf(all)}.`,
    ...(all.blocks_unreadable > 0
      ? [paint.red(`${all.blocks_unreadable} damaged blocks could not be searched.`)]
      : []),
    ...(all.pending_left_out
      ? [paint.yellow('Some runs are not evaluated yet and were not searched.')]
      : []),
    ...nextPage('sluice runs search … ', all.next_cursor),
  ].join('\n');
}

async function search(text: string, { limit, ...options }: QueryOptions): Promise<void> {
  await withPlace(options, async ({ call }) => {
    const filters = queryOf(options);
    let all: SearchPage | null = null;
    let cursor = filters.cursor;
    do {
      const body = await call('/runs/search', { query: { ...filters, text, cursor } });
      all = withPage(all, parts(runSearch, body));
      cursor = all.next_cursor ?? undefined;
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${progressOf(all)}`);
    } while (cursor !== undefined && all.runs.length < Number(limit ?? SEARCH_RUNS_DEFAULT));
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
    const found = all;
    answer(options, found, () => searched(found));
  });
}

const SINCE = 'first step arrived since: 24h, 7d, or an ISO 8601 date, or date and time';

const withFilters = (command: Command): Command =>
  command
    .option('--service <name>', 'only runs of this service')
    .option('--agent <name>', 'only runs of this agent')
    .option('--since <time>', SINCE)
    .option('--until <time>', 'first step arrived before this time');

export function addRunCommands(program: Command): void {
  const runs = program.command('runs').description('agent runs and their steps');
  withPlaces(
    withFilters(
      runs
        .command('list')
        .description('list runs')
        .addOption(new Option('--state <state>').choices(RUN_STATES))
        .addOption(new Option('--evaluation <state>').choices(EVALUATION_STATES)),
    )
      .option('--findings', 'only runs that have findings')
      .addOption(
        new Option('--sort <order>', 'of the newest 10,000 runs of the time range').choices(
          RUN_ORDERS,
        ),
      )
      .option('--limit <n>', 'runs on a page, 1 to 500')
      .option('--cursor <cursor>', 'continue after the previous page'),
    'runs list --findings --since 2026-11-01',
  ).action(async (options: QueryOptions) => {
    const query = queryOf(options, { findings: 'has_findings' });
    await printCall(options, '/runs', runPage, runTable, { query });
  });
  withPlaces(
    withFilters(runs.command('search'))
      .description('search runs for a text of their steps, the newest first')
      .argument('<text>', 'at least three characters; A to Z count as a to z')
      .option('--limit <n>', 'end after so many runs; 20 by default')
      .option('--cursor <cursor>', 'continue an earlier search'),
    'runs search paste.example --since 2026-11-01',
  ).action(search);
  withPlaces(
    runs
      .command('show')
      .description('show one run with its steps')
      .argument('<id>', 'id from `sluice runs list`'),
    'runs show 4bf92f3577b34da6a3ce929d0e0e4736',
  ).action(async (id: string, options: QueryOptions) => {
    await printCall(options, `/runs/${encodeURIComponent(id)}`, run, describe);
  });
}
