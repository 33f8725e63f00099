/** The list of findings with its filters; new findings appear while it is open. */
import type {
  Finding,
  FindingGroup,
  FindingNames,
  FindingTotal,
  FindingView,
} from '../../model/findings.ts';
import { SEVERITIES } from '../../model/rules.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { FINDING_STATES, GROUP_FINDINGS_MAX } from '../../model/triage.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { sparkline } from './charts.ts';
import {
  changeText,
  FINDINGS_PATH,
  findingFilters,
  findingPath,
  findingViews,
  isNarrow,
  OPEN_FINDINGS,
  rowId,
  viewPath,
  withParameters,
} from './findings/finding-filters.ts';
import { count, type Moment, many, term, time, words } from './format.ts';
import {
  appPage,
  empty,
  keysHelp,
  type Look,
  listTable,
  option,
  pager,
  scrolling,
  severityBadge,
  type Viewer,
  writeForm,
  writeTo,
} from './shell.ts';
import { FOUND_ID } from './text.ts';
import { exceptedBadge, stateBadge } from './triage/triage-panel.ts';

interface Rows {
  readonly findings: readonly Finding[];
  /** null when the list is not grouped */
  readonly groups: readonly FindingGroup[] | null;
  /** the query of the request, without its `?` */
  readonly query: string;
  readonly titleOf: (ruleId: string) => string;
  readonly nowMs: number;
}

export interface FindingsPage extends Rows {
  /** of the request: with what the last change did */
  readonly address: string;
  readonly next: string | null;
  /** the page ended before it was full, because a page reads only so many findings */
  readonly endedEarly: boolean;
  /** of groups, and by severity: findings stored before were not searched; null when all were */
  readonly searchedTo: Moment | null;
  readonly total: FindingTotal;
  /** those of the same filter that exceptions cover; null if the list has them too */
  readonly hidden: FindingTotal | null;
  readonly names: FindingNames;
  readonly views: readonly FindingView[];
}

export const EVIDENCE_HINT = 'A signed file of records, findings, rules and decisions';

/** Characters before the match that a row shows. */
const LEAD_CHARS = 32;

/** The link to a finding in its run: the page of its step, at its mark. */
export function findingLink({ id, runId }: Pick<Finding, 'id' | 'runId'>): string {
  return `/app/runs/${runId}?finding=${id}#${FOUND_ID}`;
}

export function stepName({ stepName: name }: Pick<Finding, 'stepName'>): string {
  if (name === null) return '(name redacted)';
  return name === '' ? '(no name)' : name;
}

/** An excerpt on one line, from shortly before its match. */
function excerptLine({ excerpt, place }: Finding): Html {
  if (excerpt === null) return html`<span class="soft">Excerpt redacted</span>`;
  const { start, end } = place.inExcerpt;
  const before = excerpt.slice(0, start);
  const lead = before.length > LEAD_CHARS ? `…${before.slice(-LEAD_CHARS)}` : before;
  return html`${lead}<mark>${excerpt.slice(start, end)}</mark>${excerpt.slice(end)}`;
}

const joined = (names: readonly (string | null)[]): string =>
  names.filter((name) => name !== null && name !== '').join(' · ');

/** Agent and service; below them user and session, where they are known. */
function who({ agentName, serviceName, userId, sessionId }: Finding, query: string): Html {
  const [first, ...others] = [...new Set([agentName, serviceName])].filter((name) => name !== null);
  const below = [joined(others), joined([userId, sessionId])].filter((line) => line !== '');
  if (first === undefined && below.length === 0) return html`<span class="soft">–</span>`;
  const name = agentName === null ? 'service' : 'agent';
  const link =
    first !== undefined &&
    html`<a class="name" href="${withParameters(query, { [name]: `"${first}"` })}" title="Only findings of ${first}">${first}</a>`;
  return html`${link}${below.map((line) => html` <span class="soft below" title="${line}">${line}</span>`)}`;
}

function what(finding: Finding, titleOf: Rows['titleOf'], href: string): Html {
  return html`<td class="what" data-label="Rule"><span class="title"><a href="${href}" data-open>${titleOf(finding.ruleId)}</a> <span class="soft rule-id">${finding.ruleId}</span></span>
<span class="line">${excerptLine(finding)}</span></td>`;
}

function where(finding: Finding): Html {
  const tool = finding.toolName ?? stepName(finding);
  return html`<td data-label="Found in">${surfaceLabel(finding.surface)} <span class="soft below">${tool}</span></td>`;
}

function runLink(finding: Finding): Html {
  const short = finding.runId.slice(0, 8);
  return html`<a href="${findingLink(finding)}" aria-label="Run ${short}"><code>${short}</code></a>`;
}

function findingRow(finding: Finding, { query, titleOf, nowMs }: Rows): Html {
  const { state, assignee, isExcepted } = finding;
  const box = html`<input type="checkbox" name="finding-${finding.id}" autocomplete="off" aria-label="Select ${titleOf(finding.ruleId)}, run ${finding.runId.slice(0, 8)}">`;
  return html`<tr id="${rowId(finding.id)}" data-key="${finding.id}">
<td data-label="Severity"><span class="pick">${box} ${severityBadge(finding.severity)}</span>${state !== 'new' && stateBadge(state)} ${isExcepted && exceptedBadge()}</td>
${what(finding, titleOf, findingPath(finding.id, query))}
<td data-label="Agent">${who(finding, query)}</td>
${where(finding)}
<td data-label="Run">${runLink(finding)}</td>
<td data-label="Found">${time(finding.createdAt, nowMs)}${assignee !== null && html` <span class="soft below" title="Assigned to ${assignee}">${assignee}</span>`}</td></tr>
`;
}

/** The findings of a group: those of its run, or the repetitions of its finding. */
function groupHref({ top }: FindingGroup, query: string): string {
  const isByRun = new URLSearchParams(query).get('group_by') === 'run';
  const one = isByRun ? { run_id: top.runId } : { same_as: top.id };
  return withParameters(query, { ...one, group_by: null, sort: null });
}

function severitiesOf({ severities }: FindingGroup): Html {
  return html`${SEVERITIES.flatMap((severity) => {
    const number = severities[severity];
    return number === undefined
      ? []
      : [html`<span class="badge ${severity}">${count(number)} ${severity}</span> `];
  })}`;
}

/** Of the last days, as far as they were read. */
function courseOf({ days }: FindingGroup): Html {
  const describe = `Findings searched, by day of the last ${count(days.length)}: ${days.map(count).join(', ')}`;
  return sparkline(days, describe);
}

function groupRow(group: FindingGroup, { query, titleOf, nowMs }: Rows): Html {
  const { top, findings, runs, rules } = group;
  const isByRun = new URLSearchParams(query).get('group_by') === 'run';
  const box = html`<input type="checkbox" name="group-${top.id}" autocomplete="off" aria-label="Select the ${many(findings, 'finding')} of ${titleOf(top.ruleId)}, run ${top.runId.slice(0, 8)}">`;
  const others =
    isByRun && rules > 1
      ? html` <span class="soft">and ${many(rules - 1, 'other rule')}</span>`
      : '';
  return html`<tr id="${rowId(top.id)}" data-key="${top.id}">
<td data-label="Severity"><div class="badges pick">${box} ${isByRun ? severitiesOf(group) : severityBadge(top.severity)}</div></td>
<td class="what" data-label="Rule"><span class="title"><a href="${groupHref(group, query)}" data-open>${titleOf(top.ruleId)}</a>${others} ${!isByRun && html`<span class="soft rule-id">${top.ruleId}</span>`}</span>
<span class="line">${excerptLine(top)}</span></td>
<td data-label="Agent">${who(top, query)}</td>
<td data-label="Findings"><a href="${groupHref(group, query)}">${many(findings, 'finding')}</a> <span class="soft below">${isByRun ? many(rules, 'rule') : many(runs, 'run')}</span>${!isByRun && courseOf(group)}</td>
<td data-label="${isByRun ? 'Run' : 'First'}">${isByRun ? runLink(top) : time(group.firstSeenAt, nowMs)}</td>
<td data-label="${isByRun ? 'Found' : 'Last'}">${time(group.lastSeenAt, nowMs)}</td></tr>
`;
}

/** The rows alone, which the script fetches while the page is open. */
export function findingRows(rows: Rows): Html {
  const { findings, groups } = rows;
  return html`<tbody>${
    groups === null
      ? findings.map((finding) => findingRow(finding, rows))
      : groups.map((group) => groupRow(group, rows))
  }</tbody>`;
}

/** Only the first page of single findings, the newest first, is refreshed. */
function liveRows({ query, groups }: Rows): Html | null {
  const own = new URLSearchParams(query);
  if (own.has('cursor') || groups !== null || (own.get('sort') ?? 'newest') !== 'newest')
    return null;
  return html` data-live="${FINDINGS_PATH}/rows${query === '' ? '' : `?${query}`}"`;
}

const HEADS = {
  none: ['Severity', 'Rule', 'Agent', 'Found in', 'Run', 'Found'],
  run: ['Severities', 'Rule', 'Agent', 'Findings', 'Run', 'Found'],
  match: ['Severity', 'Rule', 'Agent', 'Findings', 'First seen', 'Last seen'],
} as const;

const LIST_ID = 'list';

function bulk(areGroups: boolean): Html {
  const form = html` form="${LIST_ID}"`;
  return html`<div class="bulk"><label data-all hidden><input type="checkbox" autocomplete="off"> All lines</label>
<label><span>Set selected to</span> <select name="state"${form}>${FINDING_STATES.map((state) => option(state, words(state), 'acknowledged'))}</select></label>
<button class="quiet"${form}>Set state</button> <button class="quiet" name="assign" value="me"${form}>Assign to me</button> <span class="soft" aria-live="polite" data-selected></span>${areGroups && html` <span class="soft">All findings of a selected line that match the filter, up to ${count(GROUP_FINDINGS_MAX)} at a time.</span>`}</div>`;
}

function list(data: FindingsPage, viewer: Viewer): Html {
  const lines = data.groups?.map(({ top }) => top.id) ?? data.findings.map(({ id }) => id);
  const fields = html`<input type="hidden" name="query" value="${data.query}"><input type="hidden" name="lines" value="${lines.join(' ')}">${table(data)}`;
  return writeForm(writeTo(`${FINDINGS_PATH}/triage`, viewer), fields, 'list', LIST_ID);
}

function table(data: FindingsPage): Html {
  const grouping = data.groups === null ? 'none' : new URLSearchParams(data.query).get('group_by');
  const kind = grouping === 'run' || grouping === 'match' ? grouping : 'none';
  return scrolling(
    'Findings',
    html`<table class="stack inbox by-${kind}" data-keys${liveRows(data)} aria-label="Findings"><thead><tr>
${HEADS[kind].map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
${findingRows(data)}</table>`,
  );
}

/** Pages that explain why nothing was found. */
export const SEE_ALSO = html`<p>See the <a href="/app/runs">runs</a>, the <a href="/app/rules">rules</a> that are on, or
<a href="/docs/instrumentations">how to make an instrumentation send text</a>.</p>`;

function emptyState({ query, endedEarly }: FindingsPage): Html {
  if (endedEarly) {
    return empty(
      'No matching findings so far',
      html`<p>Older findings may match: use the button below.</p>`,
    );
  }
  if (new URLSearchParams(query).has('cursor')) {
    return empty(
      'No older findings',
      html`<p><a href="${OPEN_FINDINGS}">Back to the newest</a></p>`,
    );
  }
  return isNarrow(query)
    ? empty(
        'No findings match this filter',
        html`<p><a href="${OPEN_FINDINGS}">Show all open findings</a></p>`,
      )
    : empty(
        'No findings yet',
        html`<p>A run is evaluated about a minute after its last step arrived. Its findings then appear here.</p>
${SEE_ALSO}`,
      );
}

function exportQuery(query: string): string {
  const exported = new URLSearchParams(query);
  for (const name of ['cursor', 'sort', 'group_by']) exported.delete(name);
  return exported.size === 0 ? '' : `?${exported}`;
}

/** How many there are; of a total that is not exact, what was counted. */
function totalText({ count: number, isExact, within }: FindingTotal): Html {
  if (isExact) return html`${many(number, 'finding')}`;
  const what =
    within?.by === 'decided' ? 'findings decided last' : 'newest findings of this filter';
  return html`${count(number)}+ findings${within !== null && html` <span class="soft">in the ${count(within.count)} ${what}</span>`}`;
}

/** How many findings of the filter exceptions hide, with the list of them. */
export function hiddenText(hidden: FindingTotal | null, query: string, noun = ''): HtmlValue {
  if (hidden === null || hidden.count === 0) return null;
  const list = withParameters(query, { state: 'excepted' });
  const number = `${count(hidden.count)}${hidden.isExact ? '' : '+'}`;
  return html` · <a href="${list}">${number}${noun} hidden by exceptions</a>`;
}

/** A list that is not in the order of time is made of the newest findings; older ones are the next list. */
function olderNote({ query, next, searchedTo, nowMs }: FindingsPage): Html | false {
  if (searchedTo === null) return false;
  const older = withParameters(query, { until: searchedTo.toISOString() });
  return html`<p class="notice" role="status">This list is made of the newest findings, back to ${time(searchedTo, nowMs)}.
${next === null && html`<a class="button quiet" href="${older}">Search further</a>`}</p>`;
}

const KEYS = keysHelp([
  [['j', 'k'], 'next, previous finding'],
  [['Enter', 'o'], 'open the finding'],
  [['x'], 'select the finding'],
  [['s'], 'set the state of the selected findings, or the focused one'],
  [['a'], 'assign the selected findings to you, or the focused one'],
  [['/'], 'search'],
]);

export function findingsPage(look: Look, viewer: Viewer, data: FindingsPage): Html {
  const { findings, groups, query, next, endedEarly } = data;
  const suffix = exportQuery(query);
  const isEmpty = (groups ?? findings).length === 0;
  return appPage(look, viewer, {
    title: 'Findings',
    current: FINDINGS_PATH,
    isWide: true,
    main: html`<div class="head"><div class="title-line"><h1>Findings</h1>
<p class="soft">One ${term('finding', 'finding')} per ${term('rule-and-corpus', 'rule')} and ${term('run', 'run')}. New findings appear automatically.</p></div>
<p class="soft exports">Export without excerpts: <a href="${FINDINGS_PATH}.csv${suffix}" download>CSV</a> ·
<a href="${FINDINGS_PATH}.ocsf${suffix}" download>OCSF</a> (<a href="/docs/ocsf-export">about OCSF</a>) · <a href="/app/exceptions">Exceptions</a></p></div>
${findingViews(query, data.views, savedViews(data.views, query, viewer))}
${findingFilters(query, data.names)}
<div class="list-head selection"><p class="total">${totalText(data.total)}${hiddenText(data.hidden, data.query)}</p>${bulk(groups !== null)}<p class="live soft" role="status" data-live-status></p>${KEYS}</div>
<p class="done" role="status" data-done>${changeText(data.address)}</p>
${isEmpty && html`<div data-live-empty>${emptyState(data)}</div>`}
<div${isEmpty && html` hidden`}>${list(data, viewer)}</div>
${
  endedEarly &&
  html`<p class="notice" role="status">A page searches at most 5,000 findings, and few of them match this filter. Search further for older findings.</p>`
}
${olderNote(data)}
${pager(FINDINGS_PATH, query, next, endedEarly ? 'Search further' : next !== null && new URLSearchParams(query).has('sort') ? 'Next' : 'Older')}`,
  });
}

const VIEWS = `${FINDINGS_PATH}/views`;

function button(action: string, viewer: Viewer, label: string, fields: Html = html``): Html {
  return writeForm(writeTo(action, viewer), html`${fields}<button class="quiet">${label}</button>`);
}

function viewTable(views: readonly FindingView[], viewer: Viewer): Html {
  const choice = ({ id, isDefault }: FindingView) => {
    const choose = html`<input type="hidden" name="default" value="${String(!isDefault)}">`;
    const label = isDefault ? 'Remove as default' : 'Make default';
    return button(`${VIEWS}/${id}/default`, viewer, label, choose);
  };
  const deletion = ({ id, isEditable }: FindingView) =>
    isEditable
      ? button(`${VIEWS}/${id}/delete`, viewer, 'Delete')
      : html`<span class="soft">admins only</span>`;
  return listTable('Saved views', views, [
    [
      'Name',
      ({ name, query, isDefault }) =>
        html`<a href="${viewPath(query)}">${name}</a>${isDefault && html` <span class="badge">default</span>`}`,
    ],
    ['For', ({ isShared }) => (isShared ? 'workspace' : 'only you')],
    ['Default', choice],
    ['Delete', deletion],
  ]);
}

/** Closed until it is wanted. @param query of the list that would be saved */
function savedViews(views: readonly FindingView[], query: string, viewer: Viewer): Html {
  const fields = html`<input type="hidden" name="query" value="${query}">
<label>Name<input name="name" required maxlength="100" autocomplete="off" placeholder="Critical of the planner"></label>
<label><input type="checkbox" name="shared"> Share with the workspace</label>
<label><input type="checkbox" name="default"> Begin with this view</label>
<button>Save view</button>`;
  return html`<details class="saved-views"><summary>${views.length === 0 ? 'Save this view' : 'Save or manage views'}</summary><div>
<p class="soft">Saves the filter, grouping and order of this list under a name. A name that exists gets the new filter.</p>
${writeForm(writeTo(VIEWS, viewer), fields, 'save-view')}
${views.length > 0 && viewTable(views, viewer)}</div></details>`;
}
