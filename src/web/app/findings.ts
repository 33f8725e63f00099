/** The list of findings with its filters; new findings appear while it is open. */
import type { Finding, FindingFilter } from '../../model/findings.ts';
import { CATEGORIES, SEVERITIES } from '../../model/rules.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { type Html, html } from '../html.ts';
import { term, time, words } from './format.ts';
import {
  appPage,
  choice,
  empty,
  field,
  type Look,
  pager,
  scrolling,
  severityBadge,
  type Viewer,
} from './shell.ts';
import { FOUND_ID } from './text.ts';

export interface FindingsPage {
  readonly findings: readonly Finding[];
  readonly filter: FindingFilter;
  /** the query of the request, without its `?` */
  readonly query: string;
  readonly next: string | null;
  readonly titleOf: (ruleId: string) => string;
  readonly nowMs: number;
}

const PATH = '/app/findings';
const FILTERS = ['severity', 'category', 'q', 'rule_id', 'run_id', 'since', 'until'];
const categoryName = (category: string): string => `atr_${category.replaceAll('-', '_')}`;

/** Whether a query narrows the list; one of empty fields does not. */
function isNarrow(query: string): boolean {
  const given = new URLSearchParams(query);
  return FILTERS.some((name) => (given.get(name) ?? '') !== '');
}

/** A date that was typed as something else is shown as text, because a date field would hide it. */
function dateField(name: string, label: string, value: string | null): Html {
  const isDate = !value || /^\d{4}-\d{2}-\d{2}$/.test(value);
  return field(name, label, value, { type: isDate ? 'date' : 'text' });
}

/** The form of the filter, with what the query has. */
export function findingFilters(query: string, filter: FindingFilter = {}): Html {
  const given = new URLSearchParams(query);
  const runId = given.get('run_id');
  return html`<form class="filters" method="get" action="${PATH}" role="search" aria-label="Findings">
${field('q', 'Search rules', given.get('q'), { type: 'search', hint: 'title, category or id' })}
${choice('severity', 'Severity', SEVERITIES, filter.severity ?? given.get('severity'))}
${choice(
  'category',
  'Category',
  CATEGORIES.map((category) => [categoryName(category), words(category)] as const),
  filter.category === undefined ? given.get('category') : categoryName(filter.category),
)}
${field('rule_id', 'Rule', given.get('rule_id'), { hint: 'ATR-2026-00001' })}
${dateField('since', 'Since', given.get('since'))}
${dateField('until', 'Before', given.get('until'))}
${runId !== null && runId !== '' && field('run_id', 'Run', runId)}
<div class="buttons"><button>Filter</button> <a class="button quiet" href="${PATH}">Clear</a></div>
</form>`;
}

/** The link to a finding in its run: the page of its step, at its mark. */
export function findingLink({ id, runId }: Pick<Finding, 'id' | 'runId'>): string {
  return `/app/runs/${runId}?finding=${id}#${FOUND_ID}`;
}

/** The name of a finding's step, for display. */
export function stepName({ stepName: name }: Pick<Finding, 'stepName'>): string {
  if (name === null) return '(name redacted)';
  return name === '' ? '(no name)' : name;
}

/** The rows alone, which the script fetches while the page is open. */
export function findingRows({ findings, titleOf, nowMs }: FindingsPage): Html {
  return html`<tbody>${findings.map(
    (finding) => html`<tr data-key="${finding.id}">
<td data-label="Severity">${severityBadge(finding.severity)}</td>
<td data-label="Rule"><a href="${PATH}/${finding.id}">${titleOf(finding.ruleId)}</a> <span class="soft below">${finding.ruleId}</span></td>
<td data-label="Category">${words(finding.category)}</td>
<td data-label="Found in">${surfaceLabel(finding.surface)} <span class="soft below">${stepName(finding)}</span></td>
<td data-label="Run"><a href="${findingLink(finding)}" aria-label="Run ${finding.runId.slice(0, 8)}"><code>${finding.runId.slice(0, 8)}</code></a></td>
<td data-label="Found">${time(finding.createdAt, nowMs)}</td></tr>
`,
  )}</tbody>`;
}

/** Only the first page is refreshed. */
function liveRows(query: string): Html | null {
  const own = new URLSearchParams(query);
  if (own.has('cursor')) return null;
  return html` data-live="${PATH}/rows${query === '' ? '' : `?${query}`}"`;
}

function table(data: FindingsPage): Html {
  return scrolling(
    'Findings',
    html`<table class="stack"${liveRows(data.query)} aria-label="Findings"><thead><tr>
<th scope="col">Severity</th><th scope="col">Rule</th><th scope="col">Category</th><th scope="col">Found in</th>
<th scope="col">Run</th><th scope="col">Found</th></tr></thead>
${findingRows(data)}</table>`,
  );
}

function emptyState(query: string): Html {
  if (new URLSearchParams(query).has('cursor')) {
    return empty('No older findings', html`<p><a href="${PATH}">Back to the newest</a></p>`);
  }
  return isNarrow(query)
    ? empty('No findings match this filter', html`<p><a href="${PATH}">Show all findings</a></p>`)
    : empty(
        'No findings yet',
        html`<p>A run is evaluated about a minute after its last step arrived. Its findings then appear here.</p>
<p>See the <a href="/app/runs">runs</a>, the <a href="/app/rules">rules</a> that are on, or
<a href="/docs/instrumentations">how to make an instrumentation send text</a>.</p>`,
      );
}

/** The query of an export: the filter of the list. */
function exportQuery(query: string): string {
  const exported = new URLSearchParams(query);
  exported.delete('cursor');
  return exported.size === 0 ? '' : `?${exported}`;
}

export function findingsPage(look: Look, viewer: Viewer, data: FindingsPage): Html {
  const { findings, query, next } = data;
  const suffix = exportQuery(query);
  return appPage(look, viewer, {
    title: 'Findings',
    current: PATH,
    main: html`<div class="head"><div><h1>Findings</h1>
<p class="lead">One ${term('finding', 'finding')} per ${term('rule-and-corpus', 'rule')} and ${term('run', 'run')}. New findings appear automatically.</p></div>
<p class="soft exports">Export without excerpts: <a href="${PATH}.csv${suffix}" download>CSV</a> ·
<a href="${PATH}.ocsf${suffix}" download>OCSF</a> (<a href="/docs/ocsf-export">about OCSF</a>)</p></div>
${findingFilters(query, data.filter)}
<p class="live soft" role="status" data-live-status></p>
${findings.length === 0 && html`<div data-live-empty>${emptyState(query)}</div>`}
<div${findings.length === 0 && html` hidden`}>${table(data)}</div>
${pager(PATH, query, next)}`,
  });
}
