/** Lines over a common x axis that begins at 0, as figures that are watched over time. */
import { at, legend, roundUp, SERIES_MAX, svgFile, textAt } from './svg.ts';

export interface LineChart {
  readonly title: string;
  readonly xUnit: string;
  readonly yUnit: string;
  readonly series: readonly {
    readonly name: string;
    readonly points: readonly (readonly [x: number, y: number])[];
  }[];
  readonly show: (value: number) => string;
}

const WIDTH = 760;
const HEIGHT = 300;
const LEFT = 70;
const RIGHT = WIDTH - 24;
const TOP = 66;
const BOTTOM = HEIGHT - 44;
const TICKS = 5;

function describe({ series, yUnit, xUnit, show }: LineChart): string {
  return series
    .map(({ name, points }) => {
      const [first] = points;
      const last = points.at(-1);
      if (first === undefined || last === undefined) return `${name}: nothing was measured`;
      const values = points.map(([, y]) => y);
      return (
        `${name}: ${show(first[1])} ${yUnit} at the beginning, ${show(last[1])} after ` +
        `${show(last[0])} ${xUnit}, between ${show(Math.min(...values))} and ${show(Math.max(...values))}`
      );
    })
    .join('; ');
}

/** The chart as an SVG file. @throws RangeError when there are more series than colours */
export function lineChart(chart: LineChart): string {
  const { series, title, xUnit, yUnit, show } = chart;
  if (series.length > SERIES_MAX) throw new RangeError(`at most ${SERIES_MAX} series`);
  const all = series.flatMap(({ points }) => points);
  const xMost = Math.max(...all.map(([x]) => x), Number.MIN_VALUE);
  const yMost = roundUp(Math.max(...all.map(([, y]) => y), 0));
  const placeX = (x: number): number => LEFT + (x / xMost) * (RIGHT - LEFT);
  const placeY = (y: number): number => BOTTOM - (y / yMost) * (BOTTOM - TOP);
  const elements = [textAt(20, 50, yUnit, { className: 'soft' })];
  if (series.length > 1)
    elements.push(
      ...legend(
        LEFT + 60,
        50,
        series.map(({ name }) => name),
      ),
    );
  for (let tick = 0; tick <= TICKS; tick += 1) {
    const share = tick / TICKS;
    const y = at(placeY(yMost * share));
    const x = placeX(xMost * share);
    elements.push(
      `<path class="${tick === 0 ? 'axis' : 'grid'}" d="M${LEFT} ${y}H${RIGHT}"/>`,
      textAt(LEFT - 8, Number(y) + 4, show(yMost * share), { anchor: 'end', className: 'soft' }),
      textAt(x, BOTTOM + 18, show(xMost * share), { anchor: 'middle', className: 'soft' }),
    );
  }
  elements.push(
    textAt((LEFT + RIGHT) / 2, HEIGHT - 8, xUnit, { anchor: 'middle', className: 'soft' }),
  );
  for (const [index, { points }] of series.entries()) {
    const path = points.map(
      ([x, y], place) => `${place === 0 ? 'M' : 'L'}${at(placeX(x))} ${at(placeY(y))}`,
    );
    elements.push(`<path class="line l${index}" d="${path.join('')}"/>`);
  }
  return svgFile({ width: WIDTH, height: HEIGHT, title, description: describe(chart) }, elements);
}
