/**
 * Charts as SVG, without a script: bars over time, sparklines in a table, shares of a whole. Each has a
 * text description, and its numbers in a table below. Positions are attributes, not styles, which the
 * content security policy forbids; text is HTML beside the drawing, because the drawing is stretched.
 */
import { type Html, type HtmlValue, html } from '../html.ts';
import { count } from './format.ts';

const HEIGHT = 120;
/** Width of a slot and of the gap beside it, in units of the drawing. */
const SLOT = 20;
const GAP = 3;
/** Labels below the axis: more do not fit on a phone. */
const LABELS = 4;
/** Any value above zero is visible. */
const HEIGHT_MIN = 2;

export interface Series {
  readonly name: string;
  /** class of its bars and of its mark in the legend */
  readonly look: string;
  /** per slot; null where it is not known */
  readonly values: readonly (number | null)[];
}

export interface BarChart {
  readonly title: string;
  /** the unit of a slot: `Day`, `Hour (UTC)` */
  readonly slot: string;
  readonly labels: readonly string[];
  /** per slot, when it begins: the script adds the viewer's own time */
  readonly times?: readonly string[];
  readonly series: readonly Series[];
  /** on top of each other; else from the axis, the first one behind */
  readonly isStacked: boolean;
  /** how a value is written; as a count when left out */
  readonly format?: (value: number) => string;
  /** a sentence below: what exactly is counted */
  readonly note?: HtmlValue;
}

const valueAt = ({ values }: Series, index: number): number => values[index] ?? 0;

function mostOf({ labels, series, isStacked }: BarChart): number {
  const heights = labels.map((_, index) => {
    const values = series.map((one) => valueAt(one, index));
    return isStacked ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
  });
  return Math.max(0, ...heights);
}

/** As `12 high, 3 low`; zeros are left out. */
function describe({ series, format = count }: BarChart, index: number): string {
  const parts = series.flatMap((one) => {
    const value = valueAt(one, index);
    return value === 0 ? [] : [series.length > 1 ? `${format(value)} ${one.name}` : format(value)];
  });
  if (series.every(({ values }) => (values[index] ?? null) === null)) return 'not known';
  return parts.length === 0 ? 'none' : parts.join(', ');
}

function slotBars(chart: BarChart, index: number, most: number): Html {
  let base = HEIGHT;
  const rects = chart.series.flatMap((one) => {
    const value = valueAt(one, index);
    if (value <= 0) return [];
    const height = Math.max(HEIGHT_MIN, (value / most) * HEIGHT);
    const y = (chart.isStacked ? base : HEIGHT) - height;
    if (chart.isStacked) base = y;
    return [
      html`<rect class="${one.look}" x="${index * SLOT + GAP / 2}" y="${Math.max(0, y).toFixed(1)}" width="${SLOT - GAP}" height="${height.toFixed(1)}"/>`,
    ];
  });
  const time = chart.times?.[index];
  return html`<g${time !== undefined && html` data-at="${time}"`}><title>${chart.labels[index]}: ${describe(chart, index)}</title><rect class="reach" x="${index * SLOT}" width="${SLOT}" height="${HEIGHT}"/>${rects}</g>`;
}

function legend({ series }: BarChart): HtmlValue {
  return (
    series.length > 1 &&
    html`<ul class="legend">${series.map(
      ({ name, look }) =>
        html`<li><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="${look}" width="10" height="10"/></svg>${name}</li>`,
    )}</ul>`
  );
}

function label({ labels, times }: BarChart, index: number): HtmlValue {
  const time = times?.[index];
  if (time === undefined) return labels[index];
  return html`<time datetime="${time}" data-slot>${labels[index]}</time>`;
}

/** The first, the last, and some between. */
function axis(chart: BarChart): Html {
  const { labels } = chart;
  const last = labels.length - 1;
  const shown = Array.from({ length: LABELS }, (_, index) =>
    Math.round((index * last) / (LABELS - 1)),
  );
  return html`<div class="axis" aria-hidden="true">${[...new Set(shown)].map((index) => html`<span>${label(chart, index)}</span>`)}</div>`;
}

function numbers(chart: BarChart): Html {
  const { labels, series, slot, format = count } = chart;
  const write = (value: number | null | undefined) =>
    value === null || value === undefined ? '–' : format(value);
  return html`<details class="numbers"><summary>Numbers</summary><div class="scroll" tabindex="0" role="region" aria-label="${chart.title}, numbers"><table>
<thead><tr><th scope="col">${slot}</th>${series.map(({ name }) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
<tbody>${labels.map((_, index) => html`<tr><th scope="row">${label(chart, index)}</th>${series.map(({ values }) => html`<td class="number">${write(values[index])}</td>`)}</tr>`)}</tbody></table></div></details>`;
}

export function barChart(chart: BarChart): Html {
  const { title, labels, format = count } = chart;
  const most = mostOf(chart);
  const bars = labels.map((_, index) => slotBars(chart, index, most));
  const width = labels.length * SLOT;
  const summary =
    most === 0
      ? `${title}: nothing from ${labels[0]} to ${labels.at(-1)}`
      : `${title}, from ${labels[0]} to ${labels.at(-1)}; most at once ${format(most)}`;
  return html`<figure class="chart"><figcaption><h2>${title}</h2>${legend(chart)}</figcaption>
<p class="scale soft" aria-hidden="true">${most === 0 ? 'nothing' : format(most)}</p>
<svg class="chart" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${summary}">${bars}</svg>
${axis(chart)}
${chart.note !== undefined && html`<p class="soft note">${chart.note}</p>`}${numbers(chart)}</figure>`;
}

interface CourseRow {
  readonly label: string;
  readonly href: string;
  /** per slot */
  readonly values: readonly number[];
}

const COURSE_HEIGHT = 24;
/** A single finding is no full bar. */
const SPARK_MOST_MIN = 4;

/**
 * The course of one thing over time as small bars, on its own scale.
 * @param describe what it shows, for who does not see it
 */
export function sparkline(values: readonly number[], describe: string): Html {
  const most = Math.max(SPARK_MOST_MIN, ...values);
  const bars = values.map((value, index) => {
    const height = value === 0 ? 1 : Math.max(HEIGHT_MIN, (value / most) * COURSE_HEIGHT);
    const look = value === 0 ? 'whole' : 'share';
    return html`<rect class="${look}" x="${index * SLOT + GAP / 2}" y="${(COURSE_HEIGHT - height).toFixed(1)}" width="${SLOT - GAP}" height="${height.toFixed(1)}"/>`;
  });
  return html`<svg class="spark" viewBox="0 0 ${values.length * SLOT} ${COURSE_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${describe}"><title>${describe}</title>${bars}</svg>`;
}

/** Several series over time, each as small bars on one common scale. */
export function courses(
  caption: string,
  what: string,
  labels: readonly string[],
  rows: readonly CourseRow[],
): Html {
  const most = Math.max(1, ...rows.flatMap(({ values }) => values));
  const bars = (values: readonly number[]) =>
    values.map((value, index) => {
      const height = value === 0 ? 0 : Math.max(HEIGHT_MIN, (value / most) * COURSE_HEIGHT);
      return html`<g><title>${labels[index]}: ${count(value)}</title><rect class="reach" x="${index * SLOT}" width="${SLOT}" height="${COURSE_HEIGHT}"/>
<rect class="share" x="${index * SLOT + GAP / 2}" y="${(COURSE_HEIGHT - height).toFixed(1)}" width="${SLOT - GAP}" height="${height.toFixed(1)}"/></g>`;
    });
  return html`<table class="bars"><caption class="hidden">${caption}</caption>
<thead><tr><th scope="col">${what}</th><th scope="col">${labels[0]} to ${labels.at(-1)}</th><th scope="col" class="number">Sum</th></tr></thead>
<tbody>${rows.map(
    ({ label, href, values }) => html`<tr><th scope="row"><a href="${href}">${label}</a></th>
<td><svg class="course" viewBox="0 0 ${values.length * SLOT} ${COURSE_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="per day: ${values.map(count).join(', ')}">${bars(values)}</svg></td>
<td class="number">${count(values.reduce((sum, value) => sum + value, 0))}</td></tr>`,
  )}</tbody></table>`;
}

interface ShareRow {
  readonly label: string;
  /** null for no link */
  readonly href: string | null;
  readonly value: number;
}

/** Parts beside each other, each as a bar of its share. */
export function shares(
  caption: string,
  what: string,
  whole: number,
  rows: readonly ShareRow[],
): Html {
  return html`<table class="bars"><caption class="hidden">${caption}</caption>
<thead class="hidden"><tr><th scope="col">${what}</th><th scope="col">Share</th><th scope="col">Number</th></tr></thead>
<tbody>${rows.map(
    ({
      label,
      href,
      value,
    }) => html`<tr><th scope="row">${href === null ? label : html`<a href="${href}">${label}</a>`}</th>
<td><svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="8"/><rect class="share" width="${((100 * value) / Math.max(1, whole)).toFixed(1)}" height="8"/></svg></td>
<td class="number">${count(value)}</td></tr>`,
  )}</tbody></table>`;
}
