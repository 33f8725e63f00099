/** `sluice findings …`: what the rules found, locally or on a remote server. */

import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { finding, findingPage } from '../../http/api/findings/finding-schema.ts';
import { FINDING_FILTERS, type FilterRow } from '../../model/finding-fields.ts';
import { FINDING_GROUPINGS, FINDING_ORDERS } from '../../model/findings.ts';
import { RUN_NAME_ROWS } from '../../model/runs.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { paint } from '../../terminal/paint.ts';
import { plain } from '../../terminal/printable.ts';
import { corpusName } from '../../terminal/rule-counts.ts';
import { answer, shownTime } from '../answer.ts';
import { type QueryOptions, queryOf, withPlaces } from '../command.ts';
import { parts, withPlace } from '../remote/calls.ts';
import { renderTable } from '../table.ts';

const FILTERS = Object.entries<FilterRow>(FINDING_FILTERS).flatMap(
  ([name, { option: own, choices }]) => {
    if (own === undefined) return [];
    const [flag, help] = own;
    return [{ name, flag, help, choices: name === 'category' ? undefined : choices }];
  },
);

type Finding = z.infer<typeof finding>;

/** The command for the next page; nothing at the end. */
export function nextPage(command: string, cursor: string | null): string[] {
  return cursor === null ? [] : ['', `More: ${command} --cursor ${plain(cursor)}`];
}

function filterOption({ flag, help, choices }: (typeof FILTERS)[number]): Option {
  const option = new Option(flag, help);
  return choices === undefined ? option : option.choices(choices);
}

export function withFilters(command: Command): Command {
  for (const one of FILTERS) command.addOption(filterOption(one));
  return command;
}

/** Parameters that options with another name stand for. */
export const FILTER_NAMES = Object.fromEntries(
  FILTERS.map((one) => [filterOption(one).attributeName(), one.name]),
);

async function list(options: QueryOptions): Promise<void> {
  await withPlace(options, async ({ call }) => {
    const body = await call('/findings', { query: queryOf(options, FILTER_NAMES) });
    answer(options, body, () => {
      const { findings, next_cursor: next, searched_to: searchedTo } = parts(findingPage, body);
      const older =
        next === null && searchedTo !== null
          ? ['', `Older findings were not searched: --until ${plain(searchedTo)}`]
          : [];
      if (findings.length === 0) return ['No findings.', ...older].join('\n');
      const grouped = { title: 'FINDINGS', cell: (one: Finding) => `${one.group?.findings ?? 1}` };
      const table = renderTable(findings, [
        { title: 'FOUND', cell: (one) => shownTime(one.created_at) },
        { title: 'SEVERITY', cell: (one) => plain(one.severity) },
        { title: 'RULE', cell: (one) => plain(one.metadata.rule_id) },
        ...(options.groupBy === undefined ? [] : [grouped]),
        { title: 'STATE', cell: stateOf },
        { title: 'AGENT', cell: (one) => plain(one.agent ?? one.service ?? '') },
        { title: 'DESCRIPTION', shrinks: true, cell: (one) => plain(one.description) },
        { title: 'FINDING', cell: (one) => plain(one.id) },
      ]);
      return [table, ...nextPage('sluice findings list', next), ...older].join('\n');
    });
  });
}

function stateOf({ state, is_excepted: isExcepted }: Finding): string {
  const name = plain(state).replaceAll('_', ' ');
  return isExcepted ? `${name}, excepted` : name;
}

function named(one: Finding): string[] {
  const names = [
    ['Assignee', one.assignee],
    ...RUN_NAME_ROWS.map(({ label, name }) => [label, one[name]] as const),
    ['Tool', one.tool],
    ['Dashboard', one.url],
  ] as const;
  return names.flatMap(([label, name]) =>
    name === null ? [] : [`${label.padEnd(10)} ${plain(name)}`],
  );
}

function describe(one: Finding): string {
  const { metadata } = one;
  const { step } = metadata;
  return [
    `${paint.bold(plain(metadata.rule_id))}  ${plain(one.description)}`,
    `${plain(one.severity)} · ${plain(one.category)} · rule version ${plain(metadata.rule_version)}` +
      ` · ${plain(corpusName(metadata.corpus_version, metadata.corpus_identity))}`,
    '',
    `Found      ${shownTime(one.created_at)} UTC`,
    `Run        ${plain(one.run_id)}`,
    `State      ${stateOf(one)}`,
    ...named(one),
    `Step       ${plain(step.name ?? '(name not stored)')} ${plain(step.span_id ?? '')}`.trimEnd(),
    `Text       ${plain(surfaceLabel(metadata.surface))}, for the rule's field ${plain(metadata.field)}`,
    `Condition  ${plain(metadata.condition_description)}`,
    `Excerpt    ${one.excerpt === null ? '(this workspace redacts excerpts)' : plain(one.excerpt)}`,
    '',
    paint.bold("Actions that the rule's author recommends (never carried out)"),
    ...one.recommended_actions.map((action) => `  ${plain(action)}`),
  ].join('\n');
}

async function show(id: string, options: QueryOptions): Promise<void> {
  await withPlace(options, async ({ call }) => {
    const body = await call(`/findings/${encodeURIComponent(id)}`);
    answer(options, body, () => describe(parts(finding, body)));
  });
}

export function addFindingCommands(program: Command): void {
  const findings = program.command('findings').description('findings: where rules matched');
  withPlaces(
    withFilters(findings.command('list'))
      .description('list findings, the newest first')
      .addOption(new Option('--sort <order>').choices(FINDING_ORDERS))
      .addOption(
        new Option('--group-by <what>', 'one line per run, or per rule, agent and text').choices(
          FINDING_GROUPINGS,
        ),
      )
      .option('--limit <n>', 'findings on a page, 1 to 500')
      .option('--cursor <cursor>', 'continue after the previous page'),
    'findings list --severity critical --since 24h',
    'findings list --assignee me --state open',
  ).action(list);
  withPlaces(
    findings
      .command('show')
      .description('show one finding with its details')
      .argument('<id>', 'id from `sluice findings list`'),
    'findings show 5f0c2b1e9a7d4c3f8b6a1d2e3f405162',
  ).action(show);
}
