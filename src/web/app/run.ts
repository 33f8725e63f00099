/** One run as a timeline of its steps, with their texts by surface and its findings in place. */
import type { RunSearch } from '../../model/run-page.ts';
import type { RunWait } from '../../model/run-wait.ts';
import type { RunSummary } from '../../model/runs.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { findingLink, stepName } from './findings.ts';
import { count, term, time, words } from './format.ts';
import { corpusName } from './rule-counts.ts';
import { checkedLine, withoutFindings } from './run-check.ts';
import { searchView } from './run-search.ts';
import { type StepsPage, stepsView } from './run-steps.ts';
import { waitLine } from './run-wait.ts';
import { lengthOf, nameOf } from './runs.ts';
import { appPage, crumb, facts, type Look, severityBadge, type Viewer } from './shell.ts';

const PATH = '/app/runs';

export interface RunPage extends Omit<StepsPage, 'runId'> {
  readonly run: RunSummary;
  /** null once it is evaluated */
  readonly wait: RunWait | null;
  /** null when nothing is searched for */
  readonly search: RunSearch | null;
  readonly nowMs: number;
}

/** All findings of the run, each with the link to its place. */
function findingList({ findings, titleOf, run, wait }: RunPage): HtmlValue {
  if (findings.length === 0) {
    return wait === null ? withoutFindings(run) : waitLine(wait);
  }
  return html`<section class="panel"><h2>Findings</h2><ul class="plain">${findings.map(
    (
      finding,
    ) => html`<li class="hit">${severityBadge(finding.severity)} <a href="/app/findings/${finding.id}">${titleOf(finding.ruleId)}</a>
<span class="soft">${surfaceLabel(finding.surface)} of</span> <a href="${findingLink(finding)}">${stepName(finding)}</a></li>`,
  )}</ul></section>`;
}

function link(name: string, value: string): Html {
  return html`<a href="${PATH}?${name}=${encodeURIComponent(value)}">${value}</a>`;
}

function about({ run, findings }: RunPage): Html {
  return html`<section class="panel">${facts([
    [term('run', 'Run id'), html`<code>${run.runId}</code>`],
    ['Service', run.serviceName === null ? null : link('service', run.serviceName)],
    ['Agent', run.agentName === null ? null : link('agent', run.agentName)],
    ['Model', run.model === null ? null : link('model', run.model)],
    ['Session', run.sessionId === null ? null : link('session_id', run.sessionId)],
    ['User', run.userId === null ? null : link('user_id', run.userId)],
    [term('step', 'Steps'), `${count(run.spans)} spans, ${count(run.logRecords)} log records`],
    [term('checked', 'Checked'), checkedLine(run)],
    [term('finding', 'Findings'), findings.length === 0 ? 'none' : count(findings.length)],
    [
      term('rule-and-corpus', 'Corpus'),
      run.corpusVersion === null ? null : corpusName(run.corpusVersion, run.corpusIdentity),
    ],
  ])}</section>`;
}

export function runPage(look: Look, viewer: Viewer, data: RunPage): Html {
  const { run, shown, nowMs } = data;
  const length = lengthOf(run);
  return appPage(look, viewer, {
    title: nameOf(run),
    current: PATH,
    main: html`${crumb(PATH, 'Runs')}
<h1>${nameOf(run)}</h1>
<p class="lead">${words(run.state)}, ${term('evaluation', words(run.evaluation))} · arrived ${time(run.firstArrivalAt, nowMs)}${length !== '' && ` · took ${length}`}</p>
${about(data)}
${findingList(data)}
${data.isRedacted && html`<p class="notice">This workspace redacts excerpts: the texts of steps, and step names that a rule matched, are not shown.</p>`}
${!data.isRedacted && shown.count > 0 && searchView(run.runId, data.search, data.open?.query ?? null)}
${stepsView({ ...data, runId: run.runId }, run.spans + run.logRecords)}`,
  });
}
