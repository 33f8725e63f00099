/**
 * The tree of a run with times as bars on one axis: a link for each step, and for steps in one row. The
 * script folds it and moves through it by the keyboard.
 */
import type { Finding } from '../../../model/findings.ts';
import { SEVERITIES, type Severity } from '../../../model/rules.ts';
import type { ShownStep, ShownSteps } from '../../../model/run-page.ts';
import type { HiddenSteps, TreeRow } from '../../../model/run-tree.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { count, duration, many } from '../format.ts';
import { ROW_ID, seenText } from '../text.ts';
import {
  costText,
  errorBadge,
  kindClass,
  kindTag,
  msBetween,
  stepTitle,
  tokensText,
} from './step-head.ts';

/** Deeper rows are indented as rows of this depth. */
const INDENT_MAX = 12;
const TICKS = [0, 1, 2, 3, 4];

interface Times {
  readonly startUnixNano: string;
  readonly endUnixNano: string;
}

function barOf(times: Times, shown: Times, classes: string): HtmlValue {
  const length = msBetween(shown.startUnixNano, shown.endUnixNano);
  if (length <= 0) return null;
  const share = (ms: number): number => Math.round((ms / length) * 1000) / 10;
  const begin = share(msBetween(shown.startUnixNano, times.startUnixNano));
  const start = Math.min(99, Math.max(0, begin));
  const width = share(msBetween(times.startUnixNano, times.endUnixNano));
  const drawn = Math.max(0.6, Math.min(100 - start, width));
  return html`<svg class="span-bar ${classes}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="6"/><rect x="${start}" width="${drawn}" height="6"/></svg>`;
}

export function bar({ outline }: ShownStep, shown: ShownSteps): HtmlValue {
  const failed = outline.statusCode === 2 ? ' failed' : '';
  return barOf(outline, shown, `${kindClass(outline)}${failed}`);
}

function markOf(number: number, severity: Severity | null): HtmlValue {
  if (number === 0) return null;
  return html`<span class="mark ${severity ?? 'high'}" title="${many(number, 'finding')}">${count(number)}<span class="hidden"> ${number === 1 ? 'finding' : 'findings'}</span></span>`;
}

function findingMark(step: ShownStep, findings: readonly Finding[]): HtmlValue {
  const own = findings.filter(({ id }) => step.findings.includes(id));
  const severity = SEVERITIES.find((one) => own.some((finding) => finding.severity === one));
  return markOf(own.length, severity ?? null);
}

function hiddenMarks({ findings, errors }: HiddenSteps): HtmlValue {
  return html`${markOf(findings, null)}${errors > 0 && html`<span class="badge critical">${many(errors, 'error')}</span>`}`;
}

export interface TreeView {
  readonly runId: string;
  readonly shown: ShownSteps;
  readonly tree: readonly TreeRow[];
  readonly findings: readonly Finding[];
  readonly current: number | null;
}

type RowOf<Kind extends TreeRow['kind']> = Extract<TreeRow, { kind: Kind }>;

const hrefOf = (runId: string, number: number): string =>
  `/app/runs/${runId}?step=${number}#step-${number}`;

const indent = (depth: number) => html`in-${Math.min(depth, INDENT_MAX)}`;

/** Tokens and cost; a narrow tree leaves the cost to the step. */
function usageText(usage: ShownStep['usage']): HtmlValue {
  const tokens = tokensText(usage).replace(' tokens', '');
  const cost = costText(usage.costUsd);
  return html`${tokens}${cost !== '' && html`<span class="cost">${tokens !== '' && ' · '}${cost}</span>`}`;
}

function stepRow(step: ShownStep, { depth, below }: RowOf<'step'>, view: TreeView): Html {
  const { runId, shown, findings, current } = view;
  const { outline, number, usage } = step;
  const took = msBetween(outline.startUnixNano, outline.endUnixNano);
  const title = stepTitle(outline);
  const hidden = below !== null && many(below.steps, 'step');
  const isCurrent = number === current;
  return html`<li class="${indent(depth)}" data-depth="${depth}"${isCurrent && html` id="${ROW_ID}"`}><a href="${hrefOf(runId, number)}" data-step="${number}"${isCurrent && html` aria-current="true"`}>
<span class="what">${kindTag(outline)} <span class="name">${title}</span>${findingMark(step, findings)}${errorBadge(outline)}${step.snippet !== null && html` <span class="snippet">${seenText(step.snippet)}</span>`}${below !== null && html`<span class="soft more">+${hidden}</span>${hiddenMarks(below)}`}</span>
<span class="tokens soft" title="input and output tokens, cost">${usageText(usage)}</span> <span class="took soft">${outline.source === 'span' && duration(took)}</span>
${bar(step, shown)}</a>${below !== null && html`<a class="fold" href="${hrefOf(runId, number)}" data-open aria-label="Show ${hidden} below ${title}">▸</a>`}</li>
`;
}

/** Several steps in one row, which leads to the first of them, or to the first with a finding. */
function gapRow(first: ShownStep | undefined, row: RowOf<'gap'>, { runId, shown }: TreeView): Html {
  const { depth, number, hidden, siblings, isRepeated } = row;
  const name = isRepeated && first !== undefined ? `× ${stepTitle(first.outline)}` : 'steps';
  const more = hidden.steps - siblings;
  const below = more > 0 && html` <span class="soft">and ${count(more)} below them</span>`;
  return html`<li class="gap ${indent(depth)}" data-depth="${depth}"><a href="${hrefOf(runId, number)}" data-open>
<span class="what"><span class="name">${count(siblings)} ${name}${below}</span>${hiddenMarks(hidden)}</span>
<span class="tokens soft"></span> <span class="took soft">${duration(msBetween(row.startUnixNano, row.endUnixNano))}</span>
${barOf(row, shown, 'k-other')}</a></li>
`;
}

export function treeView(view: TreeView): Html {
  const { startUnixNano, endUnixNano, steps } = view.shown;
  const length = msBetween(startUnixNano, endUnixNano);
  const byNumber = new Map(steps.map((step) => [step.number, step]));
  const rowView = (row: TreeRow): HtmlValue => {
    const step = byNumber.get(row.number);
    if (row.kind === 'gap') return gapRow(step, row, view);
    return step !== undefined && stepRow(step, row, view);
  };
  return html`<div class="tree" data-tree tabindex="0" role="region" aria-label="Timeline">
<div class="axis"><button type="button" class="quiet small" data-fold-all data-script hidden aria-pressed="false">Fold all</button><span class="ticks" aria-hidden="true">${TICKS.map((tick) => html`<span>${duration((length * tick) / 4)}</span>`)}</span></div>
<ol class="rows">${view.tree.map(rowView)}</ol></div>`;
}
