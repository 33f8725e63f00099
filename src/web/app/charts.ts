/**
 * Charts as SVG that needs no script: bars stacked by severity, a line over time, bars of counts.
 * Positions are attributes, never styles, which the pages' security policy would not let through.
 */
import { SEVERITIES, type Severity } from '../../model.ts';
import { type Html, html } from '../html.ts';
import { count } from './format.ts';

const WIDTH = 560;
const HEIGHT = 150;
/** Room for the axis' words below, and for the greatest value above. */
const BELOW = 20;
const ABOVE = 16;

/** One place on the axis. */
export interface Slot {
  /** written below it, where there is room */
  readonly label: string;
}

export interface SeveritySlot extends Slot {
  readonly counts: Readonly<Partial<Record<Severity, number>>>;
}

export interface ValueSlot extends Slot {
  readonly value: number;
}

const inner = HEIGHT - BELOW - ABOVE;

/** About five words fit. */
function labels(slots: readonly Slot[], width: number): Html[] {
  const every = Math.max(1, Math.ceil(slots.length / 5));
  return slots.flatMap(({ label }, index) =>
    index % every === 0
      ? [html`<text x="${(index * width).toFixed(1)}" y="${HEIGHT - 4}">${label}</text>`]
      : [],
  );
}

function frame(title: string, most: number, content: readonly Html[]): Html {
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
<line class="axis" x1="0" x2="${WIDTH}" y1="${HEIGHT - BELOW}" y2="${HEIGHT - BELOW}"/>
<text x="${WIDTH}" y="11" text-anchor="end">${count(most)}</text>
${content}</svg>`;
}

/** Bars, each stacked by severity, the gravest at the bottom. */
export function severityBars(title: string, slots: readonly SeveritySlot[]): Html {
  const total = (slot: SeveritySlot) =>
    SEVERITIES.reduce((sum, severity) => sum + (slot.counts[severity] ?? 0), 0);
  const most = Math.max(1, ...slots.map(total));
  const width = WIDTH / Math.max(1, slots.length);
  const bars = slots.flatMap((slot, index) => {
    let from = HEIGHT - BELOW;
    return SEVERITIES.flatMap((severity) => {
      const value = slot.counts[severity] ?? 0;
      if (value === 0) return [];
      const height = (value / most) * inner;
      from -= height;
      return [
        html`<rect class="bar-${severity}" x="${(index * width + 1).toFixed(1)}" y="${from.toFixed(1)}" width="${Math.max(1, width - 2).toFixed(1)}" height="${height.toFixed(1)}"><title>${slot.label}: ${value} ${severity}</title></rect>`,
      ];
    });
  });
  return frame(title, most, [...bars, ...labels(slots, width)]);
}

/** A line with the area below it. */
export function line(title: string, slots: readonly ValueSlot[]): Html {
  const most = Math.max(1, ...slots.map(({ value }) => value));
  const width = WIDTH / Math.max(1, slots.length - 1);
  const points = slots.map(({ value }, index) => {
    const y = HEIGHT - BELOW - (value / most) * inner;
    return `${(index * width).toFixed(1)},${y.toFixed(1)}`;
  });
  const bottom = HEIGHT - BELOW;
  const area = `0,${bottom} ${points.join(' ')} ${WIDTH},${bottom}`;
  return frame(title, most, [
    html`<polygon class="area" points="${area}"/><polyline class="line" points="${points.join(' ')}"/>`,
    ...labels(slots, width),
  ]);
}

/** Counts beside each other, the greatest first: a table whose bars show at a glance. */
export function countBars(
  title: string,
  rows: readonly { readonly label: string; readonly href: string; readonly value: number }[],
): Html {
  const most = Math.max(1, ...rows.map(({ value }) => value));
  return html`<table class="bars"><caption class="soft">${title}</caption><tbody>${rows.map(
    ({ label, href, value }) => html`<tr><th scope="row"><a href="${href}">${label}</a></th>
<td><svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="${((100 * value) / most).toFixed(1)}" height="8"/></svg></td>
<td class="number">${count(value)}</td></tr>`,
  )}</tbody></table>`;
}
