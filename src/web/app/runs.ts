/** Runs: the list with its filters, and one as a timeline of steps with their texts and findings. */
import {
  EVALUATION_STATES,
  type Finding,
  RUN_STATES,
  type RunSummary,
  SEVERITIES,
  type StepOutline,
  type Surface,
} from '../../model.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, duration, size, time, words } from './format.ts';
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

const PATH = '/app/runs';
const NANOS_PER_MS = 1_000_000n;

export interface RunsPage {
  readonly runs: readonly RunSummary[];
  readonly query: string;
  readonly next: string | null;
  readonly nowMs: number;
}

function filters(query: string): Html {
  const given = new URLSearchParams(query);
  return html`<form class="filters" method="get" action="${PATH}" role="search">
${choice('state', 'State', RUN_STATES, given.get('state'))}
${choice('evaluation', 'Evaluation', EVALUATION_STATES, given.get('evaluation'))}
${choice(
  'has_findings',
  'Findings',
  [
    ['true', 'with'],
    ['false', 'without'],
  ],
  given.get('has_findings'),
)}
${choice(
  'text_incomplete',
  'Text',
  [
    ['false', 'complete'],
    ['true', 'incomplete'],
  ],
  given.get('text_incomplete'),
)}
${field('agent', 'Agent', given.get('agent'))}
${field('service', 'Service', given.get('service'))}
${field('model', 'Model', given.get('model'))}
${field('session_id', 'Session', given.get('session_id'))}
${field('user_id', 'User', given.get('user_id'))}
<button>Filter</button> <a class="button quiet" href="${PATH}">Clear</a>
</form>`;
}

function lengthOf({ startUnixNano: start, endUnixNano: end }: RunSummary): string {
  if (start === null || end === null) return '';
  return duration(Number((BigInt(end) - BigInt(start)) / NANOS_PER_MS));
}

/** `runs` have no name when their root did not arrive. */
function nameOf(run: RunSummary): string {
  return run.agentName ?? run.name ?? run.serviceName ?? run.runId.slice(0, 8);
}

function gravest({ severities }: RunSummary): HtmlValue {
  const severity = SEVERITIES.find((one) => severities.includes(one));
  if (severity === undefined) return html`<span class="soft">none</span>`;
  return html`${severityBadge(severity)} ${severities.length > 1 && `${severities.length}`}`;
}

function textOf({ evaluation, texts, textGaps }: RunSummary): HtmlValue {
  if (evaluation === 'evaluation_failed') return html`<span class="critical">not evaluated</span>`;
  if (texts === null) return html`<span class="soft">waiting</span>`;
  if (texts === 0) return html`<span class="medium">none</span>`;
  const isWhole = textGaps === null || textGaps.length === 0;
  return isWhole
    ? count(texts)
    : html`${count(texts)} <span class="medium" title="${textGaps.map(words).join(', ')}">incomplete</span>`;
}

export function runsPage(look: Look, viewer: Viewer, { runs, query, next, nowMs }: RunsPage): Html {
  const rows = runs.map(
    (run) => html`<tr>
<td><a href="${PATH}/${run.runId}">${nameOf(run)}</a><br><span class="soft">${run.serviceName}</span></td>
<td>${words(run.state)}</td>
<td>${gravest(run)}</td>
<td class="number">${count(run.spans + run.logRecords)}</td>
<td>${textOf(run)}</td>
<td>${run.model}</td>
<td class="number">${lengthOf(run)}</td>
<td>${time(run.firstArrivalAt, nowMs)}</td></tr>`,
  );
  return appPage(look, viewer, {
    title: 'Runs',
    current: PATH,
    main: html`<h1>Runs</h1>
<p class="lead">One run of an agent: a trace, or what came of one prompt. Newest first.</p>
${filters(query)}
${
  runs.length === 0
    ? empty(
        query === '' ? 'No runs yet' : 'Nothing fits this filter',
        query === ''
          ? html`<p><a href="/app">How to send the first one</a></p>`
          : html`<p><a href="${PATH}">Show all runs</a></p>`,
      )
    : html`<div class="scroll"><table aria-label="Runs"><thead><tr><th>Agent</th><th>State</th><th>Findings</th>
<th class="number">Steps</th><th>Texts</th><th>Model</th><th class="number">Took</th><th>Arrived</th></tr></thead>
<tbody>${rows}</tbody></table></div>${pager(PATH, query, next)}`
}`,
  });
}

/** A text of a step, as far as it is shown. */
export interface ShownText {
  readonly surface: Surface;
  readonly text: string;
  /** characters that are not shown */
  readonly more: number;
}

export interface ShownStep {
  readonly outline: StepOutline;
  readonly texts: readonly ShownText[];
}

export interface RunPage {
  readonly run: RunSummary;
  readonly steps: readonly ShownStep[];
  readonly stepsLeftOut: number;
  readonly findings: readonly Finding[];
  readonly titleOf: (ruleId: string) => string;
  /** the workspace redacts: texts are not shown */
  readonly isRedacted: boolean;
  readonly nowMs: number;
}

const DEPTH_MAX = 8;

/** How deep each step stands below the topmost that is shown. */
function depths(steps: readonly ShownStep[]): number[] {
  const parents = new Map(
    steps.map(({ outline }) => [outline.source === 'span' ? outline.spanId : null, outline]),
  );
  return steps.map(({ outline }) => {
    let depth = outline.source === 'log' && outline.spanId !== null ? 1 : 0;
    let above =
      outline.source === 'log' ? parents.get(outline.spanId)?.parentSpanId : outline.parentSpanId;
    while (above !== null && above !== undefined && depth < DEPTH_MAX) {
      const parent = parents.get(above);
      if (parent === undefined) break;
      depth += 1;
      above = parent.parentSpanId;
    }
    return depth;
  });
}

/** When a step was, within the run: a bar that needs no style. */
function bar(outline: StepOutline, from: bigint, length: bigint): Html {
  const share = (nanos: bigint) => Number((nanos * 1000n) / length) / 10;
  const start = share(BigInt(outline.startUnixNano) - from);
  const width = share(BigInt(outline.endUnixNano) - BigInt(outline.startUnixNano));
  return html`<svg class="span-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect x="${Math.max(0, start)}" width="${Math.max(0.4, width)}" height="6"/></svg>`;
}

function stepView(step: ShownStep, depth: number, data: RunPage, place: Html): Html {
  const { outline, texts } = step;
  const own = data.findings.filter(
    ({ stepSpanId, stepName }) => stepSpanId === outline.spanId && stepName === outline.name,
  );
  const took = Number((BigInt(outline.endUnixNano) - BigInt(outline.startUnixNano)) / NANOS_PER_MS);
  return html`<li class="step depth-${depth}" id="${outline.source === 'span' ? outline.spanId : null}">
<div class="step-head"><span class="kind">${outline.kind}</span>
<strong>${outline.name === '' ? '(no name)' : outline.name}</strong>
${outline.statusCode === 2 && html`<span class="badge critical">error</span>`}
${outline.source === 'span' ? html`<span class="soft">${duration(took)}</span>` : html`<span class="soft">log record</span>`}</div>
${place}
${own.map(
  (finding) => html`<p class="notice error">${severityBadge(finding.severity)}
<a href="/app/findings/${finding.id}">${data.titleOf(finding.ruleId)}</a> on ${words(finding.surface)}</p>`,
)}
${texts.map(
  ({
    surface,
    text,
    more,
  }) => html`<details${own.some((one) => one.surface === surface) && html` open`}><summary>${words(surface)}
<span class="soft">${size(text.length + more)}</span></summary><pre class="excerpt" tabindex="0">${text}${more > 0 && `… ${count(more)} more characters`}</pre></details>`,
)}</li>`;
}

export function runPage(look: Look, viewer: Viewer, data: RunPage): Html {
  const { run, steps, stepsLeftOut, findings, nowMs } = data;
  const starts = steps.map(({ outline }) => BigInt(outline.startUnixNano));
  const ends = steps.map(({ outline }) => BigInt(outline.endUnixNano));
  const least = (values: readonly bigint[]) =>
    values.reduce((a, b) => (b < a ? b : a), values[0] ?? 0n);
  const most = (values: readonly bigint[]) =>
    values.reduce((a, b) => (b > a ? b : a), values[0] ?? 0n);
  const from = least(starts);
  const length = most(ends) - from;
  const deep = depths(steps);
  return appPage(look, viewer, {
    title: nameOf(run),
    current: PATH,
    main: html`<p><a href="${PATH}">Runs</a></p>
<h1>${nameOf(run)}</h1>
<p class="lead">${words(run.state)}, ${words(run.evaluation)} · arrived ${time(run.firstArrivalAt, nowMs)}
${lengthOf(run) !== '' && html` · took ${lengthOf(run)}`}</p>
<section class="panel">${facts([
      ['Run', html`<code>${run.runId}</code>`],
      ['Service', run.serviceName],
      ['Model', run.model],
      ['Session', run.sessionId === null ? null : link('session_id', run.sessionId)],
      ['User', run.userId === null ? null : link('user_id', run.userId)],
      ['Steps', `${count(run.spans)} spans, ${count(run.logRecords)} log records`],
      ['Late', late(run)],
      ['Text', textFacts(run)],
      ['Findings', findings.length === 0 ? 'none' : count(findings.length)],
      ['Corpus', run.corpusVersion],
    ])}</section>
${data.isRedacted && html`<p class="notice">This workspace redacts: the texts of steps are not shown.</p>`}
<h2>Steps</h2>
${
  steps.length === 0
    ? html`<p class="soft">Its steps are no longer kept.</p>`
    : html`<ol class="steps">${steps.map((step, index) =>
        stepView(
          step,
          deep[index] ?? 0,
          data,
          length > 0n ? bar(step.outline, from, length) : html``,
        ),
      )}</ol>`
}
${stepsLeftOut > 0 && html`<p class="soft">${count(stepsLeftOut)} more steps are not shown here.</p>`}`,
  });
}

function link(name: string, value: string): Html {
  return html`<a href="${PATH}?${name}=${encodeURIComponent(value)}">${value}</a>`;
}

function late({ evaluatedSteps, spans, logRecords }: RunSummary): HtmlValue {
  const steps = evaluatedSteps === null ? 0 : spans + logRecords - evaluatedSteps;
  return steps > 0 ? `${count(steps)} steps came after the evaluation and were not matched` : null;
}

function textFacts({ texts, truncatedTexts, textGaps, unreadSteps }: RunSummary): HtmlValue {
  if (texts === null) return 'not looked at yet';
  if (texts === 0) {
    return html`none that a rule could look at: <a href="/docs/instrumentations">what to switch on</a>`;
  }
  const notes = [
    ...(textGaps ?? []).map(words),
    ...((truncatedTexts ?? 0) > 0 ? [`${count(truncatedTexts ?? 0)} cut at the cap`] : []),
    ...((unreadSteps ?? 0) > 0 ? [`${count(unreadSteps ?? 0)} steps past the limits`] : []),
  ];
  return notes.length === 0 ? count(texts) : `${count(texts)} (${notes.join(', ')})`;
}
