/** One finding: its excerpt with the hit marked, its rule, what to do about it, its place in the run. */
import type { Finding, FindingGroup, FindingNeighbours } from '../../model/findings.ts';
import { RUN_NAME_ROWS, type RunSummary } from '../../model/runs.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { FINDINGS_PATH, findingPath, listPath } from './findings/finding-filters.ts';
import { EVIDENCE_HINT, findingLink, stepName } from './findings.ts';
import { count, term, time, words } from './format.ts';
import { corpusName } from './rule-counts.ts';
import { stateText } from './runs.ts';
import {
  aboutLink,
  appPage,
  crumb,
  facts,
  keysHelp,
  type Look,
  severityBadge,
  type Viewer,
} from './shell.ts';
import { excerptView } from './text.ts';
import { exceptedBadge, stateBadge, type TriagePanel, triagePanel } from './triage/triage-panel.ts';

export interface OpenedFrom extends FindingNeighbours {
  /** of the list's address */
  readonly query: string;
  /** the finding is still in it */
  readonly isListed: boolean;
}

export interface FindingPage extends TriagePanel {
  readonly finding: Finding;
  /** null when it was not opened from a list */
  readonly list: OpenedFrom | null;
  readonly title: string;
  /** ids of what the rule refers to */
  readonly references: readonly string[];
  /** null when it is no longer kept */
  readonly run: RunSummary | null;
  /** of the run, at most `RUN_FINDINGS_MAX`, the most severe first; this one is among them */
  readonly ofRun: readonly Finding[];
  /** of the rule, the agent and the text, this one included; null when none was among the newest */
  readonly repeated: FindingGroup | null;
  /** the newest other repetition that is no longer new */
  readonly decided: Finding | null;
  readonly titleOf: (ruleId: string) => string;
  readonly nowMs: number;
}

/** Other findings of the run that a finding's page lists. */
export const RUN_FINDINGS_MAX = 8;

function excerpt({ finding }: FindingPage): Html {
  if (finding.excerpt === null) {
    return html`<p class="soft">No excerpt: this workspace redacts excerpts, or has redacted them before.</p>`;
  }
  return excerptView(finding, false);
}

/** The rule's other matches in the run: an exception has to cover them all. */
function otherMatches({ others }: Finding): HtmlValue {
  if (others == null) return null;
  const { isCut, isPartlyExcepted } = others;
  const times = `${isCut ? 'at least ' : ''}${count(others.count)}`;
  return html`<p class="soft">The rule has ${times} other distinct ${others.count === 1 ? 'match' : 'matches'} in this run. An ${term('exception', 'exception')} hides the finding only if all are covered.${
    isPartlyExcepted && html` Exceptions cover the first match; this one is not covered.`
  }${isCut && html` There are more than are kept, so no exception for a text or a tool covers them all.`}</p>`;
}

/** Leads to the findings of everything with this name. */
const named = (name: string, value: string): Html =>
  html`<a href="${FINDINGS_PATH}?${name}=${encodeURIComponent(value)}">${value}</a>`;

function runFacts({ finding, run }: FindingPage): Html {
  const link = html`<a href="/app/runs/${finding.runId}"><code>${finding.runId}</code></a>`;
  if (run === null) return html`<p class="soft">${link} is no longer stored.</p>`;
  return facts([
    [term('run', 'Run'), link],
    ...RUN_NAME_ROWS.map(({ key, name, label }): readonly [string, HtmlValue] => {
      const own = run[key];
      return [label, own !== null && html`${named(name, own)}${aboutLink(key, own)}`];
    }),
    ['State', stateText(run)],
  ]);
}

/** Shows related findings: repetitions of this finding, and what else was found in its run. */
function related({ finding, ofRun, repeated, decided, titleOf, nowMs }: FindingPage): Html {
  const others = ofRun.filter(({ id }) => id !== finding.id);
  const times = repeated?.findings ?? 1;
  const repetitions =
    repeated === null || times < 2
      ? 'none among the newest 5,000 findings'
      : html`<a href="${FINDINGS_PATH}?same_as=${finding.id}&amp;state=all">${count(times)} findings</a> in ${count(repeated.runs)} ${repeated.runs === 1 ? 'run' : 'runs'},
first ${time(repeated.firstSeenAt, nowMs)}, last ${time(repeated.lastSeenAt, nowMs)}`;
  const list = html`<ul class="plain">${others
    .slice(0, RUN_FINDINGS_MAX)
    .map(
      (other) =>
        html`<li>${severityBadge(other.severity)} <a href="${FINDINGS_PATH}/${other.id}">${titleOf(other.ruleId)}</a> ${other.state !== 'new' && stateBadge(other.state)}</li>`,
    )}</ul>${others.length > RUN_FINDINGS_MAX && html`<p><a href="${FINDINGS_PATH}?run_id=${finding.runId}&amp;state=all">All findings of this run</a></p>`}`;
  return html`<section class="panel"><h2>Related</h2>${facts([
    ['Same rule, agent and text', repetitions],
    [
      'Decided before',
      decided !== null &&
        html`${stateBadge(decided.state)} <a href="${FINDINGS_PATH}/${decided.id}">the one found ${time(decided.createdAt, nowMs)}</a>`,
    ],
    ['Others in this run', others.length === 0 ? 'none' : list],
  ])}</section>`;
}

function actions({ recommendedActions }: Finding): Html {
  return html`<section class="panel"><h2>Recommended actions</h2>
${
  recommendedActions.length === 0
    ? html`<p>None.</p>`
    : html`<ul>${recommendedActions.map((action) => html`<li>${words(action)}</li>`)}</ul>`
}
<p class="soft">From the rule’s author. Sluice only reports: it does not block or change anything.</p></section>`;
}

/** Each leads to the findings of all rules that refer to it. */
function referenceLinks(ids: readonly string[]): HtmlValue {
  if (ids.length === 0) return null;
  return ids.map(
    (id) => html`<a href="/app/findings?reference=${encodeURIComponent(id)}">${id}</a> `,
  );
}

/** Back to the list, at this finding's row or the one that is there now; and to its neighbours. */
function way({ finding, list }: FindingPage): Html {
  if (list === null) return crumb(FINDINGS_PATH, 'Findings');
  const { query, previous, next, isListed } = list;
  const row = isListed ? finding.id : (next ?? previous);
  const to = (id: string | null, key: string, text: string): Html =>
    id === null
      ? html`<span class="soft" aria-disabled="true">${text}</span>`
      : html`<a href="${findingPath(id, query)}" data-on-key="${key}" title="${text} (${key})">${text}</a>`;
  return html`<div class="way">${crumb(listPath(query, row), 'Findings')}
<nav class="neighbours" aria-label="Findings of the list">${to(previous, 'k', 'Previous')} ${to(next, 'j', 'Next')}</nav></div>`;
}

/** The script acts on elements with `data-on-key`. */
function keys({ list, run, triage, exceptions }: FindingPage, { isAdmin, email }: Viewer): Html {
  const isOwn = triage.assignee?.email === email;
  const mayExcept = isAdmin && exceptions.length === 0;

  return keysHelp([
    ...(list === null ? [] : [[['j', 'k'], 'next, previous finding of the list'] as const]),
    ...(run === null ? [] : [[['r'], 'show in run'] as const]),
    [['s'], 'state'],
    [['n'], 'note'],
    ...(isOwn ? [] : [[['a'], 'assign to me'] as const]),
    ...(mayExcept ? [[['e'], 'add an exception'] as const] : []),
  ]);
}

export function findingPage(look: Look, viewer: Viewer, data: FindingPage): Html {
  const { finding, title, nowMs } = data;
  return appPage(look, viewer, {
    title,
    current: '/app/findings',
    main: html`${way(data)}
<div class="head"><h1>${title}</h1>${keys(data, viewer)}</div>
<p class="lead">${severityBadge(finding.severity)} ${stateBadge(data.triage.state)} ${finding.isExcepted && exceptedBadge()} ${words(finding.category)} · ${term('finding', 'found')} ${time(finding.createdAt, nowMs)}</p>
<section class="panel"><h2>Excerpt</h2>${excerpt(data)}${otherMatches(finding)}
${facts([
  [
    'Found in',
    html`${surfaceLabel(finding.surface)} <span class="soft">(${term('surface', 'surface')})</span>`,
  ],
  [
    term('step', 'Step'),
    html`${stepName(finding)} <span class="soft">(step ${finding.place.step})</span>`,
  ],
  ['Rule field', html`<code>${finding.field}</code>`],
])}
<p>${data.run !== null && html`<a class="button" href="${findingLink(finding)}" data-on-key="r">Show in run</a> `}<a class="button quiet" href="${FINDINGS_PATH}/${finding.id}/evidence.tar" download title="${EVIDENCE_HINT}">Download evidence</a></p></section>
${triagePanel(finding.id, data, viewer, nowMs, data.list)}
${related(data)}
<div class="grid wide">
<section class="panel"><h2>Rule</h2>${facts([
      [
        term('rule-and-corpus', 'Rule'),
        html`<a href="/app/rules/${finding.ruleId}">${finding.ruleId}</a>`,
      ],
      ['Condition', finding.conditionDescription],
      ['Status', `${finding.ruleStatus}, version ${finding.ruleVersion}`],
      ['Category', words(finding.category)],
      ['Subcategory', finding.subcategory === null ? null : words(finding.subcategory)],
      ['Refers to', referenceLinks(data.references)],
      ['Corpus', corpusName(finding.corpusVersion, finding.corpusIdentity)],
      [
        'More',
        html`<a href="/app/findings?rule_id=${finding.ruleId}">All findings of this rule</a>`,
      ],
    ])}</section>
<section class="panel"><h2>Run</h2>${runFacts(data)}</section>
</div>
${actions(finding)}`,
  });
}
