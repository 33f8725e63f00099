/** One run as a timeline of its steps, with their texts by surface and its findings in place. */
import type { Finding } from '../../model/findings.ts';
import type { RunSummary } from '../../model/runs.ts';
import type { StepOutline, Surface } from '../../model/steps.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { type MarkedRange, marked } from './finding.ts';
import { stepLink, stepName } from './findings.ts';
import { count, duration, time, words } from './format.ts';
import { checkedLine, withoutFindings } from './run-check.ts';
import { lengthOf, nameOf } from './runs.ts';
import { appPage, crumb, facts, type Look, severityBadge, type Viewer } from './shell.ts';

const PATH = '/app/runs';
const NANOS_PER_MS = 1_000_000n;
const DEPTH_MAX = 6;
/** Marks of a cut at an excerpt's ends. */
const CUT_ENDS = /^…|…$/g;

/** A text of a step, cut to the part that is shown. */
interface RunText {
  readonly surface: Surface;
  readonly text: string;
  /** characters that are not shown */
  readonly more: number;
}

export interface ShownStep {
  readonly outline: StepOutline;
  readonly texts: readonly RunText[];
}

export interface RunPage {
  readonly run: RunSummary;
  readonly steps: readonly ShownStep[];
  readonly stepsLeftOut: number;
  readonly findings: readonly Finding[];
  readonly titleOf: (ruleId: string) => string;
  /** locates a finding's hit in its excerpt */
  readonly markOf: (finding: Finding) => MarkedRange | null;
  /** the workspace redacts: texts are not shown */
  readonly isRedacted: boolean;
  readonly nowMs: number;
}

/** The depth of each step below the topmost one shown. */
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

/** From the start of the run's first step to the end of its last. */
interface Extent {
  readonly from: bigint;
  readonly length: bigint;
}

function extentOf(steps: readonly ShownStep[]): Extent {
  let from: bigint | null = null;
  let to: bigint | null = null;
  for (const { outline } of steps) {
    const start = BigInt(outline.startUnixNano);
    const end = BigInt(outline.endUnixNano);
    if (from === null || start < from) from = start;
    if (to === null || end > to) to = end;
  }
  return { from: from ?? 0n, length: (to ?? 0n) - (from ?? 0n) };
}

const msOf = (nanos: bigint): number => Number(nanos / NANOS_PER_MS);

/** The step's time within the run, as a bar. */
function bar(outline: StepOutline, { from, length }: Extent): HtmlValue {
  if (length <= 0n) return null;
  const share = (nanos: bigint) => Number((nanos * 1000n) / length) / 10;
  const start = Math.min(99, Math.max(0, share(BigInt(outline.startUnixNano) - from)));
  const width = share(BigInt(outline.endUnixNano) - BigInt(outline.startUnixNano));
  return html`<svg class="span-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="6"/><rect x="${start}" width="${Math.max(0.6, Math.min(100 - start, width))}" height="6"/></svg>`;
}

function when(outline: StepOutline, { from }: Extent): Html {
  const start = BigInt(outline.startUnixNano);
  const begins = msOf(start - from);
  if (outline.source === 'log')
    return html`<span class="soft">log record, at ${duration(begins)}</span>`;
  const took = msOf(BigInt(outline.endUnixNano) - start);
  return html`<span class="soft">${begins > 0 && `at ${duration(begins)}, `}${duration(took)}</span>`;
}

/** Finds the excerpts of findings in a text of their step, and returns the ranges of their hits. */
function marksIn(
  text: string,
  findings: readonly Finding[],
  markOf: RunPage['markOf'],
): MarkedRange[] {
  if (findings.length === 0) return [];
  const onOneLine = text.replaceAll(/[\t\n\r\u2028\u2029]/g, ' ');
  return findings.flatMap((finding) => {
    const mark = markOf(finding);
    if (mark === null || finding.excerpt === null) return [];
    const cutAtStart = finding.excerpt.startsWith('…') ? 1 : 0;
    const at = onOneLine.indexOf(finding.excerpt.replaceAll(CUT_ENDS, ''));
    if (at < 0) return [];
    const start = at + mark.start - cutAtStart;
    const end = at + mark.end - cutAtStart;
    return start >= at ? [{ start, end }] : [];
  });
}

function textView({ surface, text, more }: RunText, own: readonly Finding[], data: RunPage): Html {
  const found = own.filter((one) => one.surface === surface);
  return html`<details${found.length > 0 && html` open`}><summary>${words(surface)}
<span class="soft">${count(text.length + more)} characters</span></summary>
<pre class="excerpt" tabindex="0" role="region" aria-label="${words(surface)}">${marked(text, marksIn(text, found, data.markOf))}${more > 0 && html`<span class="soft">… ${count(more)} more characters</span>`}</pre></details>`;
}

/** The note about texts of a step that are not shown. */
function leftOut({ outline, texts }: ShownStep, { isRedacted }: RunPage): HtmlValue {
  if (isRedacted) return null;
  const more = outline.surfaces.reduce((sum, one) => sum + one.texts, 0) - texts.length;
  return [
    more > 0 && html`<p class="soft">${count(more)} more texts are not shown.</p>`,
    outline.isCut &&
      html`<p class="soft">This step is too large to be shown whole: these are its beginnings.</p>`,
  ];
}

/**
 * Compares the span's id, and the name unless it is redacted: log records have the id of their span.
 */
function isOf({ stepSpanId, stepName: name }: Finding, { outline }: ShownStep): boolean {
  if (stepSpanId !== outline.spanId) return false;
  const isRedacted = stepSpanId !== null && (name === null || outline.name === null);
  return isRedacted || name === outline.name;
}

function stepView(step: ShownStep, depth: number, extent: Extent, data: RunPage): Html {
  const { outline, texts } = step;
  const own = data.findings.filter((finding) => isOf(finding, step));
  const id = outline.source === 'span' ? outline.spanId : null;
  return html`<li class="step depth-${depth}${own.length > 0 && ' found'}"${id !== null && html` id="${id}" tabindex="-1"`}>
<div class="step-head"><span class="kind">${outline.kind}</span>
<h3>${outline.name === null ? '(name redacted)' : outline.name || '(no name)'}</h3>
${outline.statusCode === 2 && html`<span class="badge critical">error</span>`}
${when(outline, extent)}</div>
${bar(outline, extent)}
${own.map(
  (finding) => html`<p class="hit">${severityBadge(finding.severity)}
<a href="/app/findings/${finding.id}">${data.titleOf(finding.ruleId)}</a> <span class="soft">on ${words(finding.surface)}</span></p>`,
)}
${texts.map((text) => textView(text, own, data))}${leftOut(step, data)}</li>
`;
}

/** All findings with links to their steps, so that none is missed in a long run. */
function findingList({ findings, steps, titleOf, run }: RunPage): HtmlValue {
  if (findings.length === 0) {
    return withoutFindings(run);
  }
  return html`<section class="panel"><h2>Findings</h2><ul class="plain">${findings.map(
    (finding) => {
      const isShown = steps.some((step) => isOf(finding, step));
      const name = stepName(finding);
      return html`<li class="hit">${severityBadge(finding.severity)} <a href="/app/findings/${finding.id}">${titleOf(finding.ruleId)}</a>
<span class="soft">${words(finding.surface)} of</span> ${isShown ? html`<a href="${stepLink(finding)}">${name}</a>` : html`<span class="soft">${name}, which is not shown</span>`}</li>`;
    },
  )}</ul></section>`;
}

function link(name: string, value: string): Html {
  return html`<a href="${PATH}?${name}=${encodeURIComponent(value)}">${value}</a>`;
}

function about({ run, findings }: RunPage): Html {
  return html`<section class="panel">${facts([
    ['Run', html`<code>${run.runId}</code>`],
    ['Service', run.serviceName === null ? null : link('service', run.serviceName)],
    ['Agent', run.agentName === null ? null : link('agent', run.agentName)],
    ['Model', run.model === null ? null : link('model', run.model)],
    ['Session', run.sessionId === null ? null : link('session_id', run.sessionId)],
    ['User', run.userId === null ? null : link('user_id', run.userId)],
    ['Steps', `${count(run.spans)} spans, ${count(run.logRecords)} log records`],
    ['Checked', checkedLine(run)],
    ['Findings', findings.length === 0 ? 'none' : count(findings.length)],
    ['Corpus', run.corpusVersion],
  ])}</section>`;
}

export function runPage(look: Look, viewer: Viewer, data: RunPage): Html {
  const { run, steps, stepsLeftOut, nowMs } = data;
  const extent = extentOf(steps);
  const deep = depths(steps);
  const length = lengthOf(run);
  return appPage(look, viewer, {
    title: nameOf(run),
    current: PATH,
    main: html`${crumb(PATH, 'Runs')}
<h1>${nameOf(run)}</h1>
<p class="lead">${words(run.state)}, ${words(run.evaluation)} · arrived ${time(run.firstArrivalAt, nowMs)}${length !== '' && ` · took ${length}`}</p>
${about(data)}
${findingList(data)}
${data.isRedacted && html`<p class="notice">This workspace redacts: the texts of steps, and names that a rule matched, are not shown.</p>`}
<h2>Steps</h2>
${
  steps.length === 0
    ? html`<p class="soft">Its steps are no longer kept.</p>`
    : html`<ol class="steps">${steps.map((step, index) => stepView(step, deep[index] ?? 0, extent, data))}</ol>`
}
${stepsLeftOut > 0 && html`<p class="notice">${count(stepsLeftOut)} more steps are not shown here.</p>`}`,
  });
}
