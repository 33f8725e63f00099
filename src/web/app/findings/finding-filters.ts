/**
 * The filters of the findings list, the views above it, its order, and the way from the list to a finding and back: all of
 * it is in the address. After a change the list says what was changed.
 */
import { FINDING_FILTERS, type FilterRow } from '../../../model/finding-fields.ts';
import {
  type FINDING_GROUPINGS,
  FINDING_ORDERS,
  type FindingNames,
  type FindingView,
} from '../../../model/findings.ts';
import { RUN_NAME_ROWS } from '../../../model/runs.ts';
import { surfaceLabel } from '../../../model/steps.ts';
import {
  FINDING_STATES,
  type FindingState,
  GROUP_FINDINGS_MAX,
  LIST_STATES,
} from '../../../model/triage.ts';
import { type Html, html } from '../../html.ts';
import { count, words } from '../format.ts';
import { choice, field, folded, NO_RUN_NAMES, nameField, option, timeField } from '../shell.ts';

export const FINDINGS_PATH = '/app/findings';
export const INCIDENTS_PATH = '/app/incidents';
/** All open findings: the list without a query begins with the default view of its reader. */
export const OPEN_FINDINGS = `${FINDINGS_PATH}?state=open`;
const ROWS: readonly (FilterRow & { readonly name: string })[] = Object.entries<FilterRow>(
  FINDING_FILTERS,
).map(([name, row]) => ({ name, ...row }));

export const NO_NAMES: FindingNames = { ...NO_RUN_NAMES, assignees: [] };

/** The state first: without one, the list shows what is open. */
function stateChoice(chosen: string | null): Html {
  return html`<label>State<select name="state">${LIST_STATES.map((state) => option(state === 'open' ? '' : state, words(state), chosen === 'open' ? '' : chosen))}</select></label>`;
}

/** `me`, `none`, or the e-mail address of somebody. */
function assigneeChoice(chosen: string | null, known: readonly string[]): Html {
  const others = chosen && !['me', 'none', ...known].includes(chosen) ? [chosen] : [];
  const people = [...known, ...others].map((email) => [email, email] as const);
  return choice('assignee', 'Assignee', [['me', 'me'], ['none', 'nobody'], ...people], chosen);
}

const has = (given: URLSearchParams, name: string): boolean => (given.get(name) ?? '') !== '';

/** Checks whether a query narrows the list; one of empty fields does not. */
export function isNarrow(query: string): boolean {
  const given = new URLSearchParams(query);
  return ROWS.some(
    ({ name }) => has(given, name) && !(name === 'state' && given.get(name) === 'open'),
  );
}

export function viewPath(query: string): string {
  return query === '' ? OPEN_FINDINGS : `${FINDINGS_PATH}?${query}`;
}

/** The address of the list with some parameters changed, on its first page; null removes one. */
export function withParameters(
  query: string,
  changes: Readonly<Record<string, string | null>>,
): string {
  const own = new URLSearchParams(query);
  own.delete('cursor');
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) own.delete(name);
    else own.set(name, value);
  }
  for (const [name, value] of [...own]) if (value === '') own.delete(name);
  return viewPath(own.toString());
}

/** The address of the incidents with some parameters of a list changed; null removes one. */
export function incidentsPath(
  query: string,
  changes: Readonly<Record<string, string | null>>,
): string {
  const list = withParameters(query, { ...changes, group_by: null, sort: null });
  return `${INCIDENTS_PATH}${list.slice(FINDINGS_PATH.length)}`;
}

/** The label of a choice, where it is another than its value. */
const CHOICE_LABELS: Readonly<Record<string, (value: string) => string>> = {
  category: (value) => words(value.replace('atr_', '')),
  surface: surfaceLabel,
};

function filterField(
  { name, kind, label, hint, choices = [] }: (typeof ROWS)[number],
  given: URLSearchParams,
  names: FindingNames,
): Html {
  const value = given.get(name);
  if (name === 'state') return stateChoice(value);
  if (name === 'assignee') return assigneeChoice(value, names.assignees);
  if (kind === 'time') return timeField(name, label, given);
  if (kind === 'name') {
    const known = RUN_NAME_ROWS.find((one) => one.name === name)?.known;
    return nameField(name, label, given, known === undefined ? [] : names[known]);
  }
  if (kind !== 'choice') return field(name, label, value, { ...(hint && { hint }) });
  const labelOf = CHOICE_LABELS[name];
  return choice(
    name,
    label,
    choices.map((one) => (labelOf === undefined ? one : ([one, labelOf(one)] as const))),
    value,
  );
}

/** Filters that are always shown beside the search; the others are below "More filters". */
const ALWAYS = ROWS.filter(({ name, shown }) => shown === 'always' && name !== 'q');
const MORE = ROWS.filter(({ shown }) => shown !== 'always');

/** The form of the filter, with what the query has. @param path of the list that it filters */
export function findingFilters(query: string, names: FindingNames, path = FINDINGS_PATH): Html {
  const given = new URLSearchParams(query);
  const kept = ['group_by', 'sort'].filter((name) => has(given, name));
  const isOpen = MORE.some(({ name }) => has(given, name));
  const fieldsOf = (rows: typeof ROWS) =>
    rows.flatMap((row) =>
      row.shown === 'given' && !has(given, row.name) ? [] : [filterField(row, given, names)],
    );
  return html`<form class="filters inbox-filters" method="get" action="${path}" role="search" aria-label="Findings">
${field('q', FINDING_FILTERS.q.label, given.get('q'), { type: 'search', hint: FINDING_FILTERS.q.hint })}
${folded(given, ['q'], html`${fieldsOf(ALWAYS)}`)}
<div class="buttons"><button>Filter</button> <a class="button quiet" href="${path === FINDINGS_PATH ? withParameters('', keptOf(given)) : incidentsPath('', {})}">Clear</a></div>
<details class="more-filters"${isOpen && html` open`}><summary>More filters</summary><div>
${fieldsOf(MORE)}
</div></details>
${kept.map((name) => html`<input type="hidden" name="${name}" value="${given.get(name)}">`)}
</form>`;
}

/** How the list is grouped and sorted, which clearing the filter leaves. */
function keptOf(given: URLSearchParams): Record<string, string | null> {
  return { group_by: given.get('group_by'), sort: given.get('sort') };
}

const GROUPINGS: readonly (readonly [(typeof FINDING_GROUPINGS)[number] | null, string])[] = [
  [null, 'Findings'],
  ['run', 'By run'],
  ['match', 'Repeated'],
];
const ORDER_LABELS = {
  newest: 'Newest',
  oldest: 'Oldest',
  severity: 'Severity',
  count: 'Count',
} as const;

function links(
  label: string,
  entries: readonly { readonly href: string; readonly text: string; readonly isCurrent: boolean }[],
): Html {
  return html`<nav class="choices" aria-label="${label}"><span class="soft" aria-hidden="true">${label}</span>${entries.map(
    ({ href, text, isCurrent }) =>
      html`<a href="${href}"${isCurrent && html` aria-current="true"`}>${text}</a>`,
  )}</nav>`;
}

/** The ways to list what a filter matches. @param current its grouping */
function showLinks(query: string, current: string): Html {
  const order = new URLSearchParams(query).get('sort');
  const incidents = {
    text: 'Incidents',
    href: incidentsPath(query, {}),
    isCurrent: current === 'incidents',
  };
  const findings = GROUPINGS.map(([value, text]) => ({
    text,
    href: withParameters(query, {
      group_by: value,
      sort: value === null && order === 'count' ? null : order,
    }),
    isCurrent: (value ?? 'findings') === current,
  }));
  return links('Show', [incidents, ...findings]);
}

const INCIDENT_PRESETS = [
  ['All open', {}],
  ['Last 24 h', { since: '24h' }],
  ['Last 7 days', { since: '7d' }],
  ['Critical, last 24 h', { severity: 'critical', since: '24h' }],
  ['Assigned to me', { assignee: 'me' }],
] as const;

export function incidentViews(query: string): Html {
  const ready = INCIDENT_PRESETS.map(([text, changes]) => ({
    text,
    href: incidentsPath('', changes),
    isCurrent:
      text === 'All open'
        ? !isNarrow(query)
        : isSame(query, new URLSearchParams(Object.entries(changes)).toString()),
  }));
  return html`${links('Views', ready)}
<div class="list-head">${showLinks(query, 'incidents')}</div>`;
}

const PRESETS = [
  ['All open', {}],
  ['Critical, last 24 h', { severity: 'critical', since: '24h' }],
  ['High, last 24 h', { severity: 'high', since: '24h' }],
  ['Assigned to me', { assignee: 'me' }],
  ['In tool results, last 24 h', { surface: 'tool_result', since: '24h' }],
  ['Most repeated, last 7 days', { group_by: 'match', sort: 'count', since: '7d' }],
] as const;

function isSame(query: string, other: string): boolean {
  const [a, b] = [query, other].map((text) => {
    const own = new URLSearchParams(text);
    for (const [name, value] of [...own]) if (value === '' || name === 'cursor') own.delete(name);
    own.sort();
    return own.toString();
  });
  return a === b;
}

/**
 * The views above the list: ready-made filters, saved ones, grouping and order.
 * @param save the form that saves one
 */
export function findingViews(query: string, saved: readonly FindingView[], save: Html): Html {
  const given = new URLSearchParams(query);
  const grouping = given.get('group_by');
  const order = given.get('sort') ?? 'newest';
  const orders = FINDING_ORDERS.filter((one) => one !== 'count' || has(given, 'group_by'));
  const ready = PRESETS.map(([text, changes]) => ({
    text,
    href: withParameters('', changes),
    isCurrent:
      text === 'All open'
        ? !isNarrow(query) && grouping === null
        : isSame(query, new URLSearchParams(Object.entries(changes)).toString()),
  }));
  const own = saved.map(({ name, query: to }) => ({
    text: name,
    href: viewPath(to),
    isCurrent: isSame(query, to),
  }));
  return html`${links('Views', ready)}
${own.length > 0 && links('Saved', own)}
<div class="list-head">${showLinks(query, grouping || 'findings')}${links(
    'Sort',
    orders.map((one) => ({
      text: ORDER_LABELS[one],
      href: withParameters(query, { sort: one === 'newest' ? null : one }),
      isCurrent: one === order,
    })),
  )}${save}</div>`;
}

/** Parameters of a request, and not of the list that it shows. */
const PASSING = ['done', 'newest', 'workspace'];

interface ListChange {
  /** the state that was set; `me` for an assignment to the signed-in user */
  readonly to: FindingState | 'me';
  readonly changed: number;
  /** findings that were selected, including the ones that needed no change */
  readonly selected: number;
}

/** The query of the list alone. */
export function listQuery(query: string): string {
  if (!PASSING.some((name) => query.includes(name))) return query;
  const own = new URLSearchParams(query);
  for (const name of PASSING) own.delete(name);
  return own.toString();
}

export function rowId(findingId: string): string {
  return `f-${findingId}`;
}

export function findingPath(id: string, query: string): string {
  // The list without a query begins with the default view of its reader, which may change.
  const list = listQuery(query) || 'state=open';
  return `${FINDINGS_PATH}/${id}?list=${encodeURIComponent(list)}`;
}

export function listPath(query: string, findingId: string | null): string {
  const list = viewPath(query);
  return findingId === null ? list : `${list}#${rowId(findingId)}`;
}

/** The list after a change. @param findingId of the row to continue with */
export function changedPath(query: string, change: ListChange, findingId: string | null): string {
  const own = new URLSearchParams(listQuery(query));
  own.set('done', `${change.to}.${change.changed}.${change.selected}`);
  return listPath(own.toString(), findingId);
}

/** The page of a run after a change of its findings. */
export function changedRunPath(runId: string, { to, changed, selected }: ListChange): string {
  return `/app/runs/${runId}?done=${to}.${changed}.${selected}#findings`;
}

const DONE = /^(\w{1,20})\.(\d{1,5})\.(\d{1,5})$/;
const TARGETS: readonly string[] = [...FINDING_STATES, 'me'];

/** Describes the last change of the list; null when the query names none. */
export function changeText(query: string): string | null {
  const [, to = '', ...numbers] = DONE.exec(new URLSearchParams(query).get('done') ?? '') ?? [];
  if (!TARGETS.includes(to)) return null;
  const [changed = 0, selected = 0] = numbers.map(Number);
  const target = to === 'me' ? 'assigned to you' : `set to ${words(to)}`;
  const rest = selected - changed;
  return [
    `${count(changed)} ${changed === 1 ? 'finding' : 'findings'} ${target}.`,
    ...(rest > 0 ? [`${count(rest)} needed no change.`] : []),
    ...(selected >= GROUP_FINDINGS_MAX
      ? ['There may be more: repeat the change for the rest.']
      : []),
  ].join(' ');
}
