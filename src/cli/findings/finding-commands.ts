/** `sluice findings …`, `sluice incidents list` and `sluice exceptions list`, locally or on a remote server. */
import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { exceptionList } from '../../http/api/exceptions/exception-routes.ts';
import { finding, findingPage } from '../../http/api/findings/finding-schema.ts';
import { incidentPage } from '../../http/api/findings/incident-routes.ts';
import { FINDING_FILTERS, type FilterRow } from '../../model/finding-fields.ts';
import { FINDING_GROUPINGS, FINDING_ORDERS } from '../../model/findings.ts';
import { RUN_NAME_ROWS } from '../../model/runs.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { paint, plain } from '../../terminal/output.ts';
import { corpusName } from '../../terminal/rule-counts.ts';
import { renderTable, shownTime } from '../answer.ts';
import { type QueryOptions, queryOf, withPlaces } from '../command.ts';
import { printCall } from '../remote/calls.ts';

const FILTERS = Object.entries<FilterRow>(FINDING_FILTERS).flatMap(
  ([name, { option: own, choices }]) => {
    if (own === undefined) return [];
    const [flag, help] = own;
    return [{ name, flag, help, choices: name === 'category' ? undefined : choices }];
  },
);

type Finding = z.infer<typeof finding>;
type FindingPage = z.infer<typeof findingPage>;

/** The command for the next page; nothing at the end. */
export function nextPage(command: string, cursor: string | null): string[] {
  return cursor === null ? [] : ['', `More: ${command} --cursor ${plain(cursor)}`];
}

function filterOption({ flag, help, choices }: (typeof FILTERS)[number]): Option {
  const option = new Option(flag, help);
  return choices === undefined ? option : option.choices(choices);
}

function withFilters(command: Command): Command {
  for (const one of FILTERS) command.addOption(filterOption(one));
  return command;
}

/** Parameters that options with another name stand for. */
const FILTER_NAMES = Object.fromEntries(
  FILTERS.map((one) => [filterOption(one).attributeName(), one.name]),
);

/** The end of a list: the command for the next page, or the option that continues where the search ended. */
function listEnd(
  kind: 'findings' | 'incidents',
  { next_cursor: next, searched_to: searchedTo }: Pick<FindingPage, 'next_cursor' | 'searched_to'>,
  older: string,
): string[] {
  if (next === null && searchedTo !== null) return ['', `${older}: --until ${plain(searchedTo)}`];
  return nextPage(`sluice ${kind} list`, next);
}

function findingList(page: FindingPage, isGrouped: boolean): string {
  const { findings } = page;
  const grouped = { title: 'FINDINGS', cell: (one: Finding) => `${one.group?.findings ?? 1}` };
  const table = renderTable(findings, [
    { title: 'FOUND', cell: (one) => shownTime(one.created_at) },
    { title: 'SEVERITY', cell: (one) => plain(one.severity) },
    { title: 'RULE', cell: (one) => plain(one.metadata.rule_id) },
    ...(isGrouped ? [grouped] : []),
    { title: 'STATE', cell: stateOf },
    { title: 'AGENT', cell: (one) => plain(one.agent ?? one.service ?? '') },
    { title: 'DESCRIPTION', shrinks: true, cell: (one) => plain(one.description) },
    { title: 'FINDING', cell: (one) => plain(one.id) },
  ]);
  const end = listEnd('findings', page, 'Older findings were not searched');
  return [findings.length === 0 ? 'No findings.' : table, ...end].join('\n');
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
  ).action(async (options: QueryOptions) => {
    const text = (page: FindingPage) => findingList(page, options.groupBy !== undefined);
    const query = queryOf(options, FILTER_NAMES);
    await printCall(options, '/findings', findingPage, text, { query });
  });
  withPlaces(
    findings
      .command('show')
      .description('show one finding with its details')
      .argument('<id>', 'id from `sluice findings list`'),
    'findings show 5f0c2b1e9a7d4c3f8b6a1d2e3f405162',
  ).action(async (id: string, options: QueryOptions) => {
    await printCall(options, `/findings/${encodeURIComponent(id)}`, finding, describe);
  });
}

type IncidentBody = z.infer<typeof incidentPage>['incidents'][number];

function chainOf({ chain, more_links: more }: IncidentBody): string[] {
  const links = chain.map(({ step, surface, tool, title }, index) => {
    const where = `step ${step} ${surfaceLabel(surface).toLowerCase()}${tool === null ? '' : ` ${tool}`}`;
    return `  ${index === 0 ? ' ' : '→'} ${plain(where)}: ${plain(title)}`;
  });
  return more === 0 ? links : [...links, `    ${more} more`];
}

function describeIncident(one: IncidentBody): string {
  const who = [one.agent, one.service, one.user_id].filter((name) => name !== null);
  const repeats = one.repeats === 1 ? '' : `, the same in ${one.repeats} runs`;
  return [
    `${paint.bold(plain(one.title))}  ${plain(one.severity)}, rank ${one.score}`,
    `  ${plain([...new Set(who)].join(' · ') || '(agent unknown)')} · ${shownTime(one.last_seen_at)} UTC · ` +
      `${one.findings === 1 ? '1 finding' : `${one.findings} findings`}${repeats}`,
    ...chainOf(one),
    ...one.reasons.map(
      ({ points, text }) => `  ${points < 0 ? points : `+${points}`}  ${plain(text)}`,
    ),
    `  ${plain(one.url)}`,
  ].join('\n');
}

function incidentList(page: z.infer<typeof incidentPage>): string {
  const incidents = page.incidents.map(describeIncident).join('\n\n');
  const end = listEnd('incidents', page, 'Older runs were not ranked');
  return [incidents || 'No incidents.', ...end].join('\n');
}

export function addIncidentCommands(program: Command): void {
  const incidents = program
    .command('incidents')
    .description('incidents: runs with findings, ranked');
  withPlaces(
    withFilters(incidents.command('list'))
      .description(
        'list incidents with their chain and rank, those that deserve a look first on top',
      )
      .option('--limit <n>', 'incidents on a page, 1 to 100')
      .option('--cursor <cursor>', 'continue after the previous page'),
    'incidents list --since 24h',
  ).action(async (options: QueryOptions) => {
    const query = queryOf(options, FILTER_NAMES);
    await printCall(options, '/incidents', incidentPage, incidentList, { query });
  });
}

type ExceptionBody = z.infer<typeof exceptionList>['exceptions'][number];

function coverOf({ text, ...names }: ExceptionBody): string {
  const also = (['tool', 'agent', 'service'] as const).flatMap((part) => {
    const name = names[part];
    return name === null ? [] : [name === '' ? `no ${part}` : `${part} ${name}`];
  });
  return [...(text ? ['matched text'] : []), ...also].join(', ');
}

function statusOf({
  is_active: active,
  ended_at: endedAt,
  expires_at: expiresAt,
}: ExceptionBody): string {
  const [word, at] =
    endedAt !== null ? ['ended', endedAt] : [active ? 'until' : 'expired', expiresAt];
  return `${word} ${shownTime(at)}`;
}

function exceptionTable({ exceptions }: z.infer<typeof exceptionList>): string {
  if (exceptions.length === 0) return 'No exceptions.';
  return renderTable(exceptions, [
    { title: 'RULE', cell: (one) => plain(one.rule_id) },
    { title: 'FOR', cell: (one) => plain(coverOf(one)) },
    {
      title: 'HIDES',
      cell: ({ hidden }) => `${hidden.is_exact ? '' : 'at least '}${hidden.count}`,
    },
    { title: 'STATUS', cell: statusOf },
    { title: 'CREATED BY', cell: (one) => plain(one.created_by) },
    { title: 'REASON', shrinks: true, cell: (one) => plain(one.reason) },
  ]);
}

export function addExceptionCommands(program: Command): void {
  const exceptions = program
    .command('exceptions')
    .description('exceptions: findings that are expected');
  withPlaces(
    exceptions
      .command('list')
      .description('list exceptions, active ones first')
      .option('--rule <id>', 'only of this rule, for example ATR-2026-00001')
      .option('--active', 'only exceptions that have neither ended nor expired'),
    'exceptions list --active',
  ).action(async (options: QueryOptions) => {
    const query = queryOf(options, { rule: 'rule_id' });
    await printCall(options, '/exceptions', exceptionList, exceptionTable, { query });
  });
}
