/** Findings: the list with its filters, and one with its excerpt, its rule and its place in the run. */
import {
  CATEGORIES,
  type Finding,
  type FindingFilter,
  type RunSummary,
  SEVERITIES,
} from '../../model.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { time, words } from './format.ts';
import {
  appPage,
  choice,
  empty,
  facts,
  field,
  type Look,
  pager,
  severityBadge,
  type Viewer,
} from './shell.ts';

export interface FindingsPage {
  readonly findings: readonly Finding[];
  readonly filter: FindingFilter;
  /** the query the page was asked with, without its `?` */
  readonly query: string;
  readonly next: string | null;
  readonly titleOf: (ruleId: string) => string;
  readonly nowMs: number;
}

const PATH = '/app/findings';
const categoryName = (category: string): string => `atr_${category.replaceAll('-', '_')}`;

function filters({ filter, query }: FindingsPage): Html {
  const given = new URLSearchParams(query);
  return html`<form class="filters" method="get" action="${PATH}" role="search">
${choice('severity', 'Severity', SEVERITIES, filter.severity ?? null)}
${choice(
  'category',
  'Category',
  CATEGORIES.map((category) => [categoryName(category), words(category)] as const),
  filter.category === undefined ? null : categoryName(filter.category),
)}
${field('q', 'Search', given.get('q'), 'search')}
${field('rule_id', 'Rule', given.get('rule_id'))}
${field('since', 'Since', given.get('since'), 'date')}
${field('until', 'Until', given.get('until'), 'date')}
<button>Filter</button> <a class="button quiet" href="${PATH}">Clear</a>
</form>`;
}

/** The rows alone, as they are fetched again while the page is open. */
export function findingRows({ findings, titleOf, nowMs }: FindingsPage): Html {
  return html`<tbody data-live-rows>${findings.map(
    (finding) => html`<tr data-key="${finding.id}">
<td>${severityBadge(finding.severity)}</td>
<td><a href="${PATH}/${finding.id}">${titleOf(finding.ruleId)}</a><br><span class="soft">${finding.ruleId}</span></td>
<td>${words(finding.category)}</td>
<td>${words(finding.surface)}<br><span class="soft">${finding.stepName}</span></td>
<td><a href="/app/runs/${finding.runId}#${finding.stepSpanId}"><code>${finding.runId.slice(0, 8)}</code></a></td>
<td>${time(finding.createdAt, nowMs)}</td></tr>`,
  )}</tbody>`;
}

function table(data: FindingsPage): Html {
  const live = new URLSearchParams(data.query).has('cursor')
    ? null
    : html` data-live="${PATH}/rows${data.query === '' ? '' : `?${data.query}`}"`;
  return html`<div class="scroll"><table${live} aria-label="Findings"><thead><tr>
<th>Severity</th><th>Rule</th><th>Category</th><th>Where</th><th>Run</th><th>Found</th></tr></thead>
${findingRows(data)}</table></div>`;
}

export function findingsPage(look: Look, viewer: Viewer, data: FindingsPage): Html {
  const { findings, query, next } = data;
  const exported = new URLSearchParams(query);
  exported.delete('cursor');
  exported.delete('q');
  const suffix = exported.size === 0 ? '' : `?${exported}`;
  return appPage(look, viewer, {
    title: 'Findings',
    current: PATH,
    main: html`<h1>Findings</h1>
<p class="lead">A rule matched a run, once per rule and run. New ones appear by themselves.</p>
${filters(data)}
${
  findings.length === 0
    ? empty(
        query === '' ? 'No findings yet' : 'Nothing fits this filter',
        query === ''
          ? html`<p>A run is evaluated about a minute after its last step arrived.
<a href="/app/runs">See the runs</a>, or which <a href="/app/rules">rules run</a>.</p>`
          : html`<p><a href="${PATH}">Show all findings</a></p>`,
      )
    : html`${table(data)}${pager(PATH, query, next)}`
}
<p class="soft">Export without excerpts: <a href="${PATH}.csv${suffix}" download>CSV</a> ·
<a href="${PATH}.ocsf${suffix}" download>OCSF</a> (<a href="/docs/ocsf-export">what that is</a>)</p>`,
  });
}

/** Where the pattern hit, in UTF-16 units of the excerpt. */
export interface MarkedRange {
  readonly start: number;
  readonly end: number;
}

export interface FindingPage {
  readonly finding: Finding;
  readonly title: string;
  readonly run: RunSummary | null;
  readonly mark: MarkedRange | null;
  readonly nowMs: number;
}

/** The excerpt with its hit marked. */
export function marked(excerpt: string, mark: MarkedRange | null): HtmlValue {
  if (mark === null) return excerpt;
  const { start, end } = mark;
  return html`${excerpt.slice(0, start)}<mark>${excerpt.slice(start, end)}</mark>${excerpt.slice(end)}`;
}

export function findingPage(look: Look, viewer: Viewer, data: FindingPage): Html {
  const { finding, title, run, mark, nowMs } = data;
  const runLink = `/app/runs/${finding.runId}`;
  return appPage(look, viewer, {
    title,
    current: PATH,
    main: html`<p><a href="${PATH}">Findings</a></p>
<h1>${title}</h1>
<p class="lead">${severityBadge(finding.severity)} ${words(finding.category)} · found ${time(finding.createdAt, nowMs)}</p>
<section class="panel"><h2>Excerpt</h2>
${
  finding.excerpt === null
    ? html`<p class="soft">This workspace redacts excerpts.</p>`
    : html`<pre class="excerpt" tabindex="0">${marked(finding.excerpt, mark)}</pre>`
}
<p class="soft">On <strong>${words(finding.surface)}</strong> of the step
<a href="${runLink}#${finding.stepSpanId}">${finding.stepName === '' ? 'without a name' : finding.stepName}</a>,
asked about as ${finding.field}.</p></section>
<div class="grid">
<section class="panel"><h2>Rule</h2>${facts([
      ['Rule', html`<a href="/app/rules/${finding.ruleId}">${finding.ruleId}</a>`],
      ['Condition', finding.conditionDescription],
      ['Status', `${finding.ruleStatus}, version ${finding.ruleVersion}`],
      ['Category', words(finding.category)],
      ['Subcategory', finding.subcategory === null ? null : words(finding.subcategory)],
      ['Corpus', finding.corpusVersion],
    ])}</section>
<section class="panel"><h2>Run</h2>${facts([
      ['Run', html`<a href="${runLink}"><code>${finding.runId}</code></a>`],
      ['Agent', run?.agentName],
      ['Service', run?.serviceName],
      ['Model', run?.model],
      ['Session', run?.sessionId],
      ['User', run?.userId],
      ['State', run?.state],
    ])}</section>
</div>
<section class="panel"><h2>What the rule's author recommends</h2>
${
  finding.recommendedActions.length === 0
    ? html`<p class="soft">Nothing.</p>`
    : html`<ul>${finding.recommendedActions.map((action) => html`<li>${words(action)}</li>`)}</ul>`
}
<p class="soft">Recorded for reading. Sluice never acts on its own.</p></section>`,
  });
}
