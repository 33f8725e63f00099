/** One finding: its excerpt with the hit marked, its rule, what to do about it, its place in the run. */
import type { Finding } from '../../model/findings.ts';
import type { RunSummary } from '../../model/runs.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { stepLink, stepName } from './findings.ts';
import { time, words } from './format.ts';
import { appPage, crumb, facts, type Look, severityBadge, type Viewer } from './shell.ts';

/** Where something was found, in UTF-16 units of the text shown. */
export interface MarkedRange {
  readonly start: number;
  readonly end: number;
}

export interface FindingPage {
  readonly finding: Finding;
  readonly title: string;
  /** null when it is no longer kept */
  readonly run: RunSummary | null;
  /** null when the hit cannot be located */
  readonly mark: MarkedRange | null;
  readonly nowMs: number;
}

/** A text with what was found in it marked. @param marks in any order; they may overlap */
export function marked(text: string, marks: readonly MarkedRange[]): HtmlValue {
  let at = 0;
  const parts: HtmlValue[] = [];
  for (const { start, end } of [...marks].sort((a, b) => a.start - b.start)) {
    const from = Math.max(at, start);
    if (end <= from) continue;
    parts.push(text.slice(at, from), html`<mark>${text.slice(from, end)}</mark>`);
    at = end;
  }
  return [...parts, text.slice(at)];
}

function excerpt({ finding, mark }: FindingPage): Html {
  if (finding.excerpt === null) {
    return html`<p class="soft">There is none: this workspace redacts excerpts, or did so after this was found.</p>`;
  }
  return html`<pre class="excerpt" tabindex="0" role="region" aria-label="Excerpt">${marked(finding.excerpt, mark === null ? [] : [mark])}</pre>
${mark === null && html`<p class="soft">The hit is longer than the excerpt, or shows only within the whole text: it is not marked.</p>`}`;
}

function runFacts({ finding, run }: FindingPage): Html {
  const link = html`<a href="/app/runs/${finding.runId}"><code>${finding.runId}</code></a>`;
  if (run === null) return html`<p class="soft">${link} is no longer kept.</p>`;
  return facts([
    ['Run', link],
    ['Agent', run.agentName],
    ['Service', run.serviceName],
    ['Model', run.model],
    ['Session', run.sessionId],
    ['User', run.userId],
    ['State', words(run.state)],
  ]);
}

function actions({ recommendedActions }: Finding): Html {
  return html`<section class="panel"><h2>What the rule’s author recommends</h2>
${
  recommendedActions.length === 0
    ? html`<p>Nothing in particular.</p>`
    : html`<ul>${recommendedActions.map((action) => html`<li>${words(action)}</li>`)}</ul>`
}
<p class="soft">Recorded for reading: nothing is blocked, and Sluice never acts on its own.</p></section>`;
}

export function findingPage(look: Look, viewer: Viewer, data: FindingPage): Html {
  const { finding, title, nowMs } = data;
  return appPage(look, viewer, {
    title,
    current: '/app/findings',
    main: html`${crumb('/app/findings', 'Findings')}
<h1>${title}</h1>
<p class="lead">${severityBadge(finding.severity)} ${words(finding.category)} · found ${time(finding.createdAt, nowMs)}</p>
<section class="panel"><h2>Excerpt</h2>${excerpt(data)}
<p>In the <strong>${words(finding.surface)}</strong> of the step
<a href="${stepLink(finding)}">${stepName(finding)}</a>.
<span class="soft">The rule reads the field <code>${finding.field}</code>.</span></p></section>
<div class="grid wide">
<section class="panel"><h2>Rule</h2>${facts([
      ['Rule', html`<a href="/app/rules/${finding.ruleId}">${finding.ruleId}</a>`],
      ['Condition', finding.conditionDescription],
      ['Status', `${finding.ruleStatus}, version ${finding.ruleVersion}`],
      ['Category', words(finding.category)],
      ['Subcategory', finding.subcategory === null ? null : words(finding.subcategory)],
      ['Corpus', finding.corpusVersion],
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
