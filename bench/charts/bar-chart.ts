/** Horizontal bars, one per name: a single figure, or several beside or behind one another. */
import { at, legend, SERIES_MAX, svgFile, textAt } from './svg.ts';

export interface BarChart {
  readonly title: string;
  /** of the figures, as read after a number */
  readonly unit: string;
  /** one to four series; with one, no legend is drawn */
  readonly series: readonly string[];
  /** bars of a group are drawn end to end (a sum) or one below the other */
  readonly arrangement: 'stacked' | 'grouped';
  readonly groups: readonly { readonly name: string; readonly values: readonly number[] }[];
  readonly show: (value: number) => string;
}

const WIDTH = 760;
const LABEL_WIDTH = 250;
const VALUE_WIDTH = 110;
const BARS_WIDTH = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
const BAR_HEIGHT = 16;
const GROUP_GAP = 14;

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);

function describe({ groups, series, unit, show }: BarChart): string {
  return groups
    .map(({ name, values }) => {
      const figures = values.map((value, index) =>
        series.length > 1 ? `${series[index]} ${show(value)}` : show(value),
      );
      return `${name}: ${figures.join(', ')} ${unit}`;
    })
    .join('; ');
}

/** The chart as an SVG file. @throws RangeError when there are more series than colours */
export function barChart(chart: BarChart): string {
  const { groups, series, arrangement, show, title, unit } = chart;
  if (series.length > SERIES_MAX) throw new RangeError(`at most ${SERIES_MAX} series`);
  const isStacked = arrangement === 'stacked';
  const most = Math.max(
    ...groups.map(({ values }) => (isStacked ? sum(values) : Math.max(...values))),
    Number.MIN_VALUE,
  );
  const length = (value: number): number => (value / most) * BARS_WIDTH;
  const bar = (index: number, x: number, y: number, value: number): string =>
    `<rect class="s${index}" x="${at(x)}" y="${at(y)}" width="${at(Math.max(1, length(value)))}" height="${BAR_HEIGHT}" rx="2"/>`;
  const value = (x: number, y: number, figure: number): string =>
    textAt(x + 8, y + BAR_HEIGHT - 4, show(figure), { className: 'value' });
  const elements = [textAt(20, 48, unit, { className: 'soft' })];
  if (series.length > 1) elements.push(...legend(LABEL_WIDTH, 48, series));
  let y = 64;
  for (const { name, values } of groups) {
    const bars = isStacked ? 1 : values.length;
    elements.push(
      textAt(LABEL_WIDTH - 10, y + bars * BAR_HEIGHT * 0.5 + 5, name, { anchor: 'end' }),
    );
    let x = LABEL_WIDTH;
    for (const [index, figure] of values.entries()) {
      if (figure > 0) elements.push(bar(index, x, y, figure));
      if (isStacked) x += length(figure);
      else {
        elements.push(value(x + length(figure), y, figure));
        y += BAR_HEIGHT + 1;
      }
    }
    if (isStacked) {
      elements.push(value(x, y, sum(values)));
      y += BAR_HEIGHT;
    }
    y += GROUP_GAP;
  }
  return svgFile(
    { width: WIDTH, height: Math.ceil(y + 6), title, description: describe(chart) },
    elements,
  );
}
