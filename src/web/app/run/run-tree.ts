/**
 * The tree of a page of steps with their times as bars on one axis, a link each: children below their
 * parents, in time order. The script folds it and moves through it by the keyboard.
 */
import type { Finding } from '../../../model/findings.ts';
import { SEVERITIES } from '../../../model/rules.ts';
import type { ShownStep, ShownSteps } from '../../../model/run-page.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { count, duration } from '../format.ts';
import { errorBadge, kindClass, kindTag, msBetween, stepTitle, tokensText } from './step-head.ts';

/** Deeper rows are indented as rows of this depth. */
const INDENT_MAX = 12;
/** Marks of the time axis. */
const TICKS = [0, 1, 2, 3, 4];

export interface TreeRow {
  readonly step: ShownStep;
  /** of the tree of this page, from 0 */
  readonly depth: number;
}

/**
 * The steps in the order of the tree. A step whose parent is not among them begins a tree of its own,
 * at its depth in the run; so does one of a cycle.
 */
export function treeOf(steps: readonly ShownStep[]): TreeRow[] {
  const spans = new Map<string, ShownStep>();
  for (const step of steps) {
    const { source, spanId } = step.outline;
    if (source === 'span' && spanId !== null && !spans.has(spanId)) spans.set(spanId, step);
  }
  const children = new Map<ShownStep | null, ShownStep[]>();
  for (const step of steps) {
    const { source, spanId, parentSpanId } = step.outline;
    const above = spans.get((source === 'log' ? spanId : parentSpanId) ?? '') ?? null;
    const parent = above === step ? null : above;
    children.set(parent, [...(children.get(parent) ?? []), step]);
  }
  const rows: TreeRow[] = [];
  const seen = new Set<ShownStep>();
  const add = (root: ShownStep): void => {
    const waiting: TreeRow[] = [{ step: root, depth: root.depth }];
    for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
      if (seen.has(row.step)) continue;
      seen.add(row.step);
      rows.push(row);
      const depth = row.depth + 1;
      const below = (children.get(row.step) ?? []).map((step) => ({ step, depth }));
      waiting.push(...below.toReversed());
    }
  };
  for (const root of children.get(null) ?? []) add(root);
  for (const step of steps) add(step);
  return rows;
}

/** A step's time within the run, as a bar. */
export function bar({ outline }: ShownStep, { startUnixNano, endUnixNano }: ShownSteps): HtmlValue {
  const length = msBetween(startUnixNano, endUnixNano);
  if (length <= 0) return null;
  const share = (ms: number): number => Math.round((ms / length) * 1000) / 10;
  const start = Math.min(99, Math.max(0, share(msBetween(startUnixNano, outline.startUnixNano))));
  const width = share(msBetween(outline.startUnixNano, outline.endUnixNano));
  const shown = Math.max(0.6, Math.min(100 - start, width));
  return html`<svg class="span-bar ${kindClass(outline)}${outline.statusCode === 2 && ' failed'}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="6"/><rect x="${start}" width="${shown}" height="6"/></svg>`;
}

function findingMark(step: ShownStep, findings: readonly Finding[]): HtmlValue {
  const own = findings.filter(({ id }) => step.findings.includes(id));
  const severity = SEVERITIES.find((one) => own.some((finding) => finding.severity === one));
  if (severity === undefined) return null;
  return html`<span class="mark ${severity}" title="${own.length === 1 ? '1 finding' : `${count(own.length)} findings`}">${own.length}<span class="hidden"> ${own.length === 1 ? 'finding' : 'findings'}</span></span>`;
}

export interface TreeView {
  readonly runId: string;
  readonly shown: ShownSteps;
  readonly findings: readonly Finding[];
  /** number of the step that is shown */
  readonly current: number | null;
}

function rowView({ step, depth }: TreeRow, { runId, shown, findings, current }: TreeView): Html {
  const { outline, number, usage } = step;
  const took = msBetween(outline.startUnixNano, outline.endUnixNano);
  return html`<li class="in-${Math.min(depth, INDENT_MAX)}" data-depth="${depth}"><a href="/app/runs/${runId}?step=${number}#step-${number}" data-step="${number}"${number === current && html` aria-current="true"`}>
<span class="what">${kindTag(outline)} <span class="name">${stepTitle(outline)}</span>${findingMark(step, findings)}${errorBadge(outline)}</span>
<span class="tokens soft" title="input and output tokens">${tokensText(usage).replace(' tokens', '')}</span> <span class="took soft">${outline.source === 'span' && duration(took)}</span>
${bar(step, shown)}</a></li>
`;
}

/** The tree of a page of steps. */
export function treeView(view: TreeView): Html {
  const { startUnixNano, endUnixNano, steps } = view.shown;
  const length = msBetween(startUnixNano, endUnixNano);
  return html`<div class="tree" data-tree tabindex="0" role="region" aria-label="Timeline">
<div class="axis"><button type="button" class="quiet small" data-fold-all data-script hidden aria-pressed="false">Fold all</button><span class="ticks" aria-hidden="true">${TICKS.map((tick) => html`<span>${duration((length * tick) / 4)}</span>`)}</span></div>
<ol class="rows">${treeOf(steps).map((row) => rowView(row, view))}</ol></div>`;
}
