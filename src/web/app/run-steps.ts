/** A page of a run's steps: the timeline, the texts with their matches marked, and the way to more. */
import type { Finding } from '../../model/findings.ts';
import {
  OPEN_UNITS_MAX,
  type ShownStep,
  type ShownSteps,
  type ShownText,
  type TextView,
} from '../../model/run-page.ts';
import type { StepOutline } from '../../model/steps.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { excerptView } from './finding.ts';
import { findingLink } from './findings.ts';
import { count, duration } from './format.ts';
import { severityBadge } from './shell.ts';
import { AT_ID, FOUND_ID, markedText } from './text.ts';

const NANOS_PER_MS = 1_000_000n;
/** Units that one click adds to a text that is read. */
const MORE_UNITS = 16 * 1024;
/** Pages on either side of the current one that have a link. */
const NEAR_PAGES = 3;

export interface StepsPage {
  readonly runId: string;
  readonly shown: ShownSteps;
  /** the text that is read */
  readonly open: TextView | null;
  /** the finding that the page was opened at */
  readonly finding: Finding | null;
  /** of the run */
  readonly findings: readonly Finding[];
  readonly titleOf: (ruleId: string) => string;
  /** the workspace redacts: texts are not shown */
  readonly isRedacted: boolean;
}

const msOf = (nanos: bigint): number => Number(nanos / NANOS_PER_MS);

/** The step's time within the run, as a bar. */
function bar(outline: StepOutline, { startUnixNano, endUnixNano }: ShownSteps): HtmlValue {
  const from = BigInt(startUnixNano);
  const length = BigInt(endUnixNano) - from;
  if (length <= 0n) return null;
  const share = (nanos: bigint) => Number((nanos * 1000n) / length) / 10;
  const start = Math.min(99, Math.max(0, share(BigInt(outline.startUnixNano) - from)));
  const width = share(BigInt(outline.endUnixNano) - BigInt(outline.startUnixNano));
  return html`<svg class="span-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="6"/><rect x="${start}" width="${Math.max(0.6, Math.min(100 - start, width))}" height="6"/></svg>`;
}

function when(outline: StepOutline, { startUnixNano }: ShownSteps): Html {
  const start = BigInt(outline.startUnixNano);
  const begins = msOf(start - BigInt(startUnixNano));
  if (outline.source === 'log')
    return html`<span class="soft">log record, at ${duration(begins)}</span>`;
  const took = msOf(BigInt(outline.endUnixNano) - start);
  return html`<span class="soft">${begins > 0 && `at ${duration(begins)}, `}${duration(took)}</span>`;
}

/** The link to a part of a text; reading continues at `at`. */
function partLink(
  { runId, open }: StepsPage,
  step: ShownStep,
  text: ShownText,
  { from, to, at }: { readonly from: number; readonly to: number; readonly at: number },
): string {
  const own = new URLSearchParams(
    step.open === text.index && open !== null && open.findingId !== null
      ? { finding: open.findingId }
      : { step: String(step.number), text: String(text.index) },
  );
  for (const [name, value] of Object.entries({ from, to, at })) own.set(name, String(value));
  if (open?.query) own.set('q', open.query);
  return `/app/runs/${runId}?${own}#${AT_ID}`;
}

function textView(step: ShownStep, text: ShownText, data: StepsPage): Html {
  const { surface, length, start, marks } = text;
  const isOpen = step.open === text.index;
  const end = start + text.text.length;
  const before = {
    from: Math.max(0, start - MORE_UNITS),
    to: Math.min(end, start - MORE_UNITS + OPEN_UNITS_MAX),
    at: start,
  };
  const to = Math.min(length, end + MORE_UNITS);
  const after = { from: Math.max(start, to - OPEN_UNITS_MAX), to, at: end };
  const sought = isOpen ? (data.open?.at ?? null) : null;
  const at = sought === null ? null : sought - start;
  const name = surfaceLabel(surface);
  return html`<details${(isOpen || marks.length > 0) && html` open`}><summary>${name}
<span class="soft">${count(length)} characters</span></summary>
${start > 0 && html`<p class="more"><a href="${partLink(data, step, text, before)}">Show more before</a> <span class="soft">${count(start)} characters</span></p>`}
<pre class="excerpt" tabindex="0" role="region" aria-label="${name}">${markedText(text.text, marks, { soughtId: data.finding?.id ?? null, at })}</pre>
${end < length && html`<p class="more"><a href="${partLink(data, step, text, after)}">Show more after</a> <span class="soft">${count(length - end)} characters</span></p>`}</details>`;
}

/** The note about texts of a step that are not shown. */
function leftOut({ outline, texts, number }: ShownStep, data: StepsPage): HtmlValue {
  if (data.isRedacted) return null;
  const more = outline.surfaces.reduce((sum, one) => sum + one.texts, 0) - texts.length;
  const isSought = data.shown.sought === number;
  return [
    more > 0 && html`<p class="soft">${count(more)} more texts are not shown.</p>`,
    outline.isCut &&
      html`<p class="soft">This step is too large to show in full: only the beginning of each text is shown.
${!isSought && html`<a href="/app/runs/${data.runId}?step=${number}#step-${number}">Show more of this step</a>`}</p>`,
  ];
}

/** A finding at its step: where its match is, or the excerpt where the text is not shown. */
function hitView(finding: Finding, step: ShownStep, data: StepsPage): Html {
  const { isRedacted, titleOf } = data;
  const isSought = data.finding?.id === finding.id;
  const mark = step.texts
    .flatMap(({ marks }) => marks)
    .find(({ findingId }) => findingId === finding.id);
  const isElsewhere = mark === undefined && !isRedacted;
  return html`<div class="hit"${isSought && isRedacted && html` id="${FOUND_ID}"`}><p>${severityBadge(finding.severity)}
<a href="/app/findings/${finding.id}">${titleOf(finding.ruleId)}</a> <span class="soft">in ${surfaceLabel(finding.surface)}</span>
${isElsewhere && !isSought && html`<a href="${findingLink(finding)}">Show in text</a>`}</p>
${mark !== undefined && mark.readAs !== null && html`<p class="soft">The rule matched the normalised text: <q class="read-as">${mark.readAs}</q></p>`}
${finding.place === null && mark !== undefined && html`<p class="soft">${PLACE_NOT_RECORDED} The first text with its excerpt is marked, not the match alone.</p>`}
${isElsewhere && isSought && finding.excerpt !== null && notInText(finding)}</div>`;
}

/** Of findings of before migration 11. */
const PLACE_NOT_RECORDED =
  'The exact place of this finding was not recorded: an earlier version of Sluice found it.';

function notInText(finding: Finding): Html {
  return html`<p class="soft">${finding.place === null ? `${PLACE_NOT_RECORDED} Its excerpt:` : 'The matched part of the text is not shown here. Excerpt of the finding:'}</p>
${excerptView(finding, true)}`;
}

function stepView(step: ShownStep, data: StepsPage): Html {
  const { outline, number, depth } = step;
  const own = data.findings.filter(({ id }) => step.findings.includes(id));
  return html`<li class="step depth-${depth}${own.length > 0 && ' found'}" id="step-${number}" tabindex="-1">
<div class="step-head"><span class="step-number soft">${number}</span><span class="kind">${outline.kind}</span>
<h3>${outline.name === null ? '(name redacted)' : outline.name || '(no name)'}</h3>
${outline.statusCode === 2 && html`<span class="badge critical">error</span>`}
${when(outline, data.shown)}</div>
${bar(outline, data.shown)}
${own.map((finding) => hitView(finding, step, data))}
${step.texts.map((text) => textView(step, text, data))}${leftOut(step, data)}</li>
`;
}

/** Links to the pages of the steps, and a field for the number of a step. */
function pages({ runId, shown }: StepsPage, label: string): HtmlValue {
  const { steps, count: all, pageSteps } = shown;
  const last = Math.ceil(all / pageSteps);
  if (last <= 1) return null;
  const current = Math.ceil((steps[0]?.number ?? 1) / pageSteps);
  const link = (page: number, text: HtmlValue, rel: string | null = null) =>
    html`<a class="button quiet" href="/app/runs/${runId}?page=${page}#steps"${rel !== null && html` rel="${rel}"`}${page === current && html` aria-current="page"`}>${text}</a>`;
  const near = Array.from({ length: last }, (_, index) => index + 1).filter(
    (page) => page === 1 || page === last || Math.abs(page - current) <= NEAR_PAGES,
  );
  return html`<nav class="pager" aria-label="${label}">
${current > 1 && link(current - 1, 'Previous', 'prev')}
${near.map((page, index) => [page - (near[index - 1] ?? 0) > 1 && html`<span class="soft">…</span>`, link(page, page)])}
${current < last && link(current + 1, 'Next', 'next')}
<form method="get" action="/app/runs/${runId}"><label>Step <input type="number" name="step" min="1" max="${all}" required></label> <button class="quiet">Go</button></form></nav>`;
}

function lostReason({ finding, shown }: StepsPage): string {
  if (shown.count === 0 || finding?.place != null)
    return 'The step of this finding is no longer stored.';
  return finding?.stepSpanId == null
    ? `${PLACE_NOT_RECORDED} It was found in a log record of this run.`
    : `${PLACE_NOT_RECORDED} No step with its span was found: it may no longer be stored.`;
}

/** The finding that the page was opened at, where its step is not on the page. */
function lostFinding(data: StepsPage): HtmlValue {
  const { finding, shown, isRedacted } = data;
  if (finding === null || shown.steps.some(({ findings }) => findings.includes(finding.id))) {
    return null;
  }
  return html`<div class="notice"${(isRedacted || finding.excerpt === null) && html` id="${FOUND_ID}"`}><p>${lostReason(data)}</p>
${finding.excerpt !== null && excerptView(finding, true)}</div>`;
}

/** The steps of a page. @param total steps of the run, those on no page included */
export function stepsView(data: StepsPage, total: number): Html {
  const { steps, count: all } = data.shown;
  const first = steps[0]?.number ?? 0;
  const last = steps.at(-1)?.number ?? 0;
  return html`<h2 id="steps">Steps${all > steps.length && html` <span class="soft">${count(first)} to ${count(last)} of ${count(all)}</span>`}</h2>
${lostFinding(data)}
${pages(data, 'Pages of steps')}
${
  steps.length === 0
    ? html`<p class="soft">The steps of this run are no longer stored.</p>`
    : html`<ol class="steps">${steps.map((step) => stepView(step, data))}</ol>`
}
${pages(data, 'Pages of steps, below')}
${steps.length > 0 && total > all && html`<p class="notice">${count(total - all)} more steps are not shown.</p>`}`;
}
