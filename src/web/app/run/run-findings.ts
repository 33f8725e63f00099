/** The findings of a run in the order of its steps, and the form that decides them together. */
import type { Finding } from '../../../model/findings.ts';
import type { ShownSteps } from '../../../model/run-page.ts';
import type { RunWait } from '../../../model/run-wait.ts';
import type { RunSummary } from '../../../model/runs.ts';
import { surfaceLabel } from '../../../model/steps.ts';
import { FINDING_STATES, NOTE_CHARS_MAX } from '../../../model/triage.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { changeText } from '../findings/list-address.ts';
import { findingLink, stepName } from '../findings.ts';
import { count, words } from '../format.ts';
import { withoutFindings } from '../run-check.ts';
import { waitLine } from '../run-wait.ts';
import { option, severityBadge, type Viewer, writeForm, writeTo } from '../shell.ts';
import { stateBadge } from '../triage/triage-panel.ts';

/** Findings above the timeline; the others are folded. */
const FIRST = 3;

interface RunFindings {
  readonly run: RunSummary;
  readonly wait: RunWait | null;
  readonly shown: Pick<ShownSteps, 'places'>;
  readonly findings: readonly Finding[];
  readonly titleOf: (ruleId: string) => string;
  readonly query: string;
}

export function inStepOrder(
  findings: readonly Finding[],
  places: ShownSteps['places'],
): readonly (Finding & { readonly step: number })[] {
  return findings
    .map((finding) => ({ ...finding, step: places.get(finding.id) ?? finding.place.step }))
    .sort((one, other) => one.step - other.step);
}

function row(finding: ReturnType<typeof inStepOrder>[number], titleOf: RunFindings['titleOf']) {
  const { id, step, severity, ruleId, state, surface } = finding;
  return html`<li class="hit"><input type="checkbox" name="finding-${id}" checked autocomplete="off" aria-label="Select ${titleOf(ruleId)}, step ${count(step)}">
<a href="${findingLink(finding)}" title="${stepName(finding)}">Step ${count(step)}</a> ${severityBadge(severity)}
<a href="/app/findings/${id}">${titleOf(ruleId)}</a> <span class="soft">${surfaceLabel(surface)}</span>${state !== 'new' && html` ${stateBadge(state)}`}</li>`;
}

const form = html`<details><summary>Triage</summary><div class="bulk"><label><span>Set selected to</span> <select name="state">${FINDING_STATES.map((state) => option(state, words(state), 'acknowledged'))}</select></label>
<label><span>Note (optional)</span> <input name="note" maxlength="${NOTE_CHARS_MAX}"></label>
<button>Set state</button> <button class="quiet" name="assign" value="me">Assign to me</button></div></details>`;

export function runFindings(data: RunFindings, viewer: Viewer): HtmlValue {
  const { findings, titleOf, run, wait, shown, query } = data;
  if (findings.length === 0) {
    return wait === null ? withoutFindings(run) : waitLine(wait);
  }
  const rows = inStepOrder(findings, shown.places).map((one) => row(one, titleOf));
  const rest = rows.slice(FIRST);
  const changed = changeText(query);
  const list = html`<ol class="plain">${rows.slice(0, FIRST)}</ol>
${rest.length > 0 && html`<details><summary>${count(rest.length)} more</summary><ol class="plain">${rest}</ol></details>`}`;
  const fields: Html = html`<input type="hidden" name="run" value="${run.runId}">${list}${form}`;
  return html`<section class="panel run-panel" id="findings"><h2>Findings <span class="soft">${count(findings.length)}</span></h2>
${changed !== null && html`<p class="done" role="status">${changed}</p>`}
${writeForm(writeTo('/app/findings/triage', viewer), fields, 'run-findings')}</section>`;
}
