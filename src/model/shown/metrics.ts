/** Metrics as a list and a chart by hour show them, and the values of the hours. Plain data and arithmetic. */
import type { UnreadableDayBlock } from './logs.ts';

export const METRIC_KINDS = [
  'gauge',
  'sum',
  'histogram',
  'exponentialHistogram',
  'summary',
] as const;
export type MetricKind = (typeof METRIC_KINDS)[number];

/**
 * The value of an hour: `sum` of the points of a counter that sends differences, or of the differences of one that sends
 * totals; `last` of a sum that also falls, added up over its senders; `average` of a gauge's points, or of what histograms
 * and summaries have measured.
 */
export const STATISTICS = ['sum', 'last', 'average'] as const;
export type Statistic = (typeof STATISTICS)[number];

/** The parts of a metric that decide how its points are added up. */
export interface MetricForm {
  readonly kind: MetricKind;
  /** totals since a start, not differences; false for gauges */
  readonly isCumulative: boolean;
  readonly isMonotonic: boolean;
}

export interface MetricSummary extends MetricForm {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  readonly services: readonly string[];
  readonly attributes: readonly string[];
  /** of the latest point; of a histogram the average of that point; null without a value */
  readonly lastValue: number | null;
  readonly lastSeen: Date;
  readonly points: number;
}

export interface MetricsRead {
  /** points that arrived before are not in it; null: all of the range is */
  readonly readTo: Date | null;
  readonly unreadable: readonly UnreadableDayBlock[];
}

export interface MetricList extends MetricsRead {
  readonly metrics: readonly MetricSummary[];
  readonly leftOut: number;
}

export interface MetricSeries {
  /** of the attribute; null for points without it, and for all points together */
  readonly value: string | null;
  /** by hour; null for an hour without points */
  readonly values: readonly (number | null)[];
}

export interface MetricChart extends MetricsRead {
  /** null if no point of the name was read, as the statistic */
  readonly metric: MetricSummary | null;
  readonly statistic: Statistic | null;
  readonly by: string | null;
  readonly hours: readonly Date[];
  /** those with the largest values first */
  readonly series: readonly MetricSeries[];
  /** further values of the attribute */
  readonly leftOut: number;
}

export interface MetricRange {
  readonly until: Date;
  /** whole hours before */
  readonly hours: number;
}

export interface MetricReader {
  readonly list: (
    workspaceId: number,
    range: MetricRange,
    signal?: AbortSignal | undefined,
  ) => Promise<MetricList>;
  readonly chart: (
    workspaceId: number,
    metric: { readonly name: string; readonly by: string | null },
    range: MetricRange,
    signal?: AbortSignal | undefined,
  ) => Promise<MetricChart>;
}

export interface MetricPoint {
  readonly atMs: number;
  /** equal for points of one sender with equal attributes */
  readonly stream: string;
  readonly group: string | null;
  /** of a number; of a histogram or summary its sum */
  readonly value: number;
  /** measurements of a histogram or summary; 1 for a number */
  readonly count: number;
}

export const HOUR_MS = 3_600_000;

export function statisticOf({ kind, isMonotonic, isCumulative }: MetricForm): Statistic {
  if (kind !== 'sum') return 'average';
  return isMonotonic || !isCumulative ? 'sum' : 'last';
}

export function hoursOf({ until, hours }: MetricRange): Date[] {
  const end = Math.ceil(until.getTime() / HOUR_MS) * HOUR_MS;
  return Array.from({ length: hours }, (_, index) => new Date(end - (hours - index) * HOUR_MS));
}

interface HourSum {
  value: number;
  count: number;
}

/** Totals since a start become differences from the point before; the first point of a stream has none. */
function differences(points: readonly MetricPoint[]): MetricPoint[] {
  const last = new Map<string, MetricPoint>();
  return points.flatMap((point) => {
    const before = last.get(point.stream);
    last.set(point.stream, point);
    if (before === undefined) return [];
    // The counter started again.
    if (point.value < before.value || point.count < before.count) return [point];
    const count = point.count - before.count;
    return [{ ...point, value: point.value - before.value, count }];
  });
}

/**
 * Adds points up by hour and group.
 *
 * @returns the groups with the largest values first
 */
export function hourlySeries(
  points: readonly MetricPoint[],
  form: MetricForm,
  hours: readonly Date[],
): MetricSeries[] {
  const statistic = statisticOf(form);
  const inOrder = [...points].sort((one, other) => one.atMs - other.atMs);
  const isTotal = form.isCumulative && statistic !== 'last';
  const counted = isTotal || form.kind === 'summary' ? differences(inOrder) : inOrder;
  const startMs = hours[0]?.getTime() ?? 0;
  const groups = new Map<string | null, (Map<string, HourSum> | undefined)[]>();
  for (const { atMs, stream, group, value, count } of counted) {
    const hour = Math.floor((atMs - startMs) / HOUR_MS);
    if (hour < 0 || hour >= hours.length) continue;
    const slots = groups.get(group) ?? Array<undefined>(hours.length).fill(undefined);
    groups.set(group, slots);
    const streams = slots[hour] ?? new Map<string, HourSum>();
    slots[hour] = streams;
    const sum = streams.get(stream);
    if (sum === undefined || statistic === 'last') streams.set(stream, { value, count });
    else {
      sum.value += value;
      sum.count += count;
    }
  }
  const series = [...groups].map(([value, slots]) => ({
    value,
    values: slots.map((streams) => (streams === undefined ? null : hourValue(streams, statistic))),
  }));
  const most = ({ values }: MetricSeries) =>
    Math.max(...values.map((value) => Math.abs(value ?? 0)));
  return series.sort((one, other) => most(other) - most(one));
}

function hourValue(streams: ReadonlyMap<string, HourSum>, statistic: Statistic): number | null {
  let value = 0;
  let count = 0;
  for (const sum of streams.values()) {
    value += sum.value;
    count += sum.count;
  }
  if (statistic !== 'average') return value;
  return count === 0 ? null : value / count;
}
