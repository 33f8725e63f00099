/** Reads metrics of a workspace: which there are, and one of them by hour and attribute. Bounded; a cut range is named. */
import type { ReadChoice } from '../db/replica/read-choice.ts';
import { UnreadableBlockError } from '../db/telemetry/block-codec.ts';
import { type DayBlock, timeOfId } from '../db/telemetry/day-blocks.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
import {
  hourlySeries,
  hoursOf,
  METRIC_KINDS,
  type MetricKind,
  type MetricPoint,
  type MetricRange,
  type MetricReader,
  type MetricSummary,
  type MetricsRead,
  statisticOf,
} from '../model/shown/metrics.ts';
import { isObject, toDouble } from '../otlp/fields.ts';
import { type Frame, RecordFinder } from '../otlp/lines/record-finder.ts';
import { serviceNameIn } from '../otlp/origin.ts';
import type { Pieces } from '../otlp/pieces.ts';
import { storedAttributes } from '../otlp/stored-values.ts';
import { newestSlices, PageBudget } from './newest-blocks.ts';
import type { PieceWork } from './piece-work.ts';
import type { ReportBlock } from './read-records.ts';
import { parseRecord } from './read-step.ts';

/** Metrics of a list. */
const METRICS_MAX = 1000;
/** Points of a chart. */
const POINTS_MAX = 200_000;
/** Values of an attribute that a chart shows. */
const SERIES_MAX = 12;
/** Keys and services that are named of a metric. */
const NAMES_MAX = 20;
/** Characters of a name, a unit, or the value of an attribute. */
const NAME_CHARS_MAX = 256;
/** Points that are parsed without a pause. */
const PIECE_POINTS = 200;

const NANOS_OF_MS = 1e6;
/** `AGGREGATION_TEMPORALITY_CUMULATIVE` */
const CUMULATIVE = new Set<unknown>([2, 'AGGREGATION_TEMPORALITY_CUMULATIVE']);
/** Bit 0 of a point's flags: no recorded value. */
const NO_RECORDED_VALUE = 1;

/** The metric of points in a row. */
interface Origin
  extends Omit<MetricSummary, 'lastValue' | 'lastSeen' | 'points' | 'services' | 'attributes'> {
  readonly service: string | null;
  /** of the resource and the scope, as sent */
  readonly head: string;
  readonly resource: JsonObject;
}

interface Point {
  readonly origin: Origin;
  readonly attributes: JsonObject;
  readonly atMs: number;
  readonly value: number;
  readonly count: number;
}

const nameOf = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value.slice(0, NAME_CHARS_MAX).toWellFormed() : '';

const COLON = 0x3a;

/** Parses an object without its points, or with an empty object in place of the one that has them. */
const headOf = ({ head, tail }: Frame): JsonObject =>
  parseRecord(Buffer.concat([head, Buffer.from(head.at(-1) === COLON ? `{}${tail}` : tail)]));

function originOf(data: Frame): Origin {
  const [metric, scope, resource] = [data.parent, data.parent?.parent, data.parent?.parent?.parent];
  if (!metric || !scope || !resource) throw new RangeError('a point outside of a metric');
  const own = headOf(metric);
  const form = headOf(data);
  const { resource: sender } = headOf(resource);
  const attributes = isObject(sender) ? sender.attributes : undefined;
  const kind = METRIC_KINDS.find((one) => isObject(own[one]));
  if (kind === undefined) throw new RangeError('a metric without a kind');
  return {
    name: nameOf(own.name),
    unit: nameOf(own.unit),
    description: nameOf(own.description),
    kind,
    isCumulative: CUMULATIVE.has(form.aggregationTemporality),
    isMonotonic: form.isMonotonic === true,
    service: serviceNameIn(attributes),
    head: `${resource.head.toString('latin1')}${scope.head.toString('latin1')}`,
    resource: storedAttributes(attributes),
  };
}

function measuredIn(kind: MetricKind, point: JsonObject): Pick<Point, 'value' | 'count'> | null {
  if ((Number(point.flags ?? 0) & NO_RECORDED_VALUE) !== 0) return null;
  const isNumber = kind === 'gauge' || kind === 'sum';
  const value = isNumber ? (point.asDouble ?? point.asInt) : (point.sum ?? 0);
  const number = typeof value === 'string' ? Number(value) : toDouble(value ?? null);
  const count = isNumber ? 1 : Number(point.count ?? 0);
  return number === null || !Number.isFinite(number) ? null : { value: number, count };
}

/** Reads the points of a block. @param wanted whether those of a metric are read */
function* pointsIn(
  text: Buffer,
  wanted: (name: string) => boolean,
  take: (point: Point) => void,
): Pieces<void> {
  const finder = new RecordFinder('metrics', text, null);
  let frame: Frame | null = null;
  let origin: Origin | null = null;
  let read = 0;
  for (let at = 0; at < text.length; ) {
    for (const record of yield* finder.find(at)) {
      if (record.frame !== frame || origin === null) origin = originOf(record.frame);
      frame = record.frame;
      if (!wanted(origin.name)) continue;
      read += 1;
      if (read % PIECE_POINTS === 0) yield;
      const point = parseRecord(text.subarray(record.start, record.end));
      const value = measuredIn(origin.kind, point);
      if (value === null) continue;
      const atMs = Number(point.timeUnixNano ?? 0) / NANOS_OF_MS;
      take({ origin, attributes: storedAttributes(point.attributes), atMs, ...value });
    }
    const end = text.indexOf('\n', at);
    at = end < 0 ? text.length : end + 1;
  }
}

type Draft = { -readonly [Key in keyof MetricSummary]: MetricSummary[Key] };

class Metrics {
  readonly #known = new Map<string, Draft>();
  readonly #names = new Map<Draft, { services: Set<string>; keys: Set<string> }>();
  readonly #leftOut = new Set<string>();

  note({ origin, attributes, atMs, value, count }: Point): void {
    const { service, head: _head, resource: _resource, ...own } = origin;
    const key = JSON.stringify([own.name, own.unit, own.kind, own.isCumulative, own.isMonotonic]);
    const draft = this.#known.get(key) ?? this.#add(key, own);
    if (draft === null) return;
    const names = this.#names.get(draft);
    if (service !== null) addName(names?.services, service);
    for (const name of Object.keys(attributes)) addName(names?.keys, name);
    draft.points += 1;
    if (atMs < draft.lastSeen.getTime()) return;
    draft.lastSeen = new Date(atMs);
    draft.lastValue = count === 0 ? null : value / count;
  }

  #add(
    key: string,
    own: Omit<MetricSummary, 'lastValue' | 'lastSeen' | 'points' | 'services' | 'attributes'>,
  ) {
    if (this.#known.size >= METRICS_MAX) {
      if (this.#leftOut.size < METRICS_MAX) this.#leftOut.add(key);
      return null;
    }
    const empty = {
      lastValue: null,
      lastSeen: new Date(0),
      points: 0,
      services: [],
      attributes: [],
    };
    const draft: Draft = { ...own, ...empty };
    this.#known.set(key, draft);
    this.#names.set(draft, { services: new Set(), keys: new Set() });
    return draft;
  }

  get leftOut(): number {
    return this.#leftOut.size;
  }

  list(): MetricSummary[] {
    return [...this.#known.values()]
      .map((draft) => {
        const { services = [], keys = [] } = this.#names.get(draft) ?? {};
        return { ...draft, services: [...services].sort(), attributes: [...keys].sort() };
      })
      .sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
  }
}

function addName(names: Set<string> | undefined, name: string): void {
  if (names !== undefined && names.size < NAMES_MAX) names.add(nameOf(name));
}

const textOf = (value: JsonValue | undefined): string | null =>
  value === undefined || value === null
    ? null
    : (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, NAME_CHARS_MAX);

export function createMetricReader(
  { read }: Pick<ReadChoice, 'read'>,
  { turns, report }: { readonly turns: PieceWork; readonly report: ReportBlock },
): MetricReader {
  /** Reads the points of a range, the newest blocks first. @param isFull ends the reading */
  const readPoints = async (
    workspaceId: number,
    { until, hours }: MetricRange,
    wanted: (name: string) => boolean,
    take: (point: Point) => void,
    isFull: () => boolean,
    signal: AbortSignal | undefined,
  ): Promise<MetricsRead> => {
    const budget = new PageBudget(report);
    const since = hoursOf({ until, hours })[0];
    const range = {
      workspaceId,
      signal: 'metrics',
      since,
      until,
      cursor: null,
      hashes: [],
      only: null,
    } as const;
    const takeBlock = async (day: string, block: DayBlock): Promise<void> => {
      const text = budget.take(day, block);
      if (text === null) return;
      const work = pointsIn(text, wanted, take);
      await turns.takeInPieces(workspaceId, work, text.length).catch((error: unknown) => {
        if (!(error instanceof RangeError)) throw error;
        budget.lose(day, block, new UnreadableBlockError(block.blockId, error.message));
      });
    };
    const { unreadable } = budget;
    for await (const { day, blocks, next } of newestSlices(read, range, signal)) {
      for (const block of blocks) {
        await takeBlock(day, block);
        const isLast = next === null && block === blocks.at(-1);
        if (isLast || !(budget.isOver || isFull())) continue;
        return { readTo: timeOfId(block.blockId), unreadable };
      }
    }
    return { readTo: null, unreadable };
  };

  return {
    list: async (workspaceId, range, signal) => {
      const metrics = new Metrics();
      const note = (point: Point) => metrics.note(point);
      const found = await readPoints(
        workspaceId,
        range,
        () => true,
        note,
        () => false,
        signal,
      );
      return { metrics: metrics.list(), leftOut: metrics.leftOut, ...found };
    },
    chart: async (workspaceId, { name, by }, range, signal) => {
      const hours = hoursOf(range);
      const metrics = new Metrics();
      const points: MetricPoint[] = [];
      const note = (point: Point) => {
        const { origin, attributes, ...rest } = point;
        metrics.note(point);
        const stream = `${origin.head}${JSON.stringify(attributes)}`;
        const group = by === null ? null : textOf(attributes[by] ?? origin.resource[by]);
        points.push({ ...rest, stream, group });
      };
      const isOfName = (one: string) => one === name;
      const isFull = () => points.length >= POINTS_MAX;
      const found = await readPoints(workspaceId, range, isOfName, note, isFull, signal);
      const [metric] = metrics.list().sort((one, other) => other.points - one.points);
      const series = metric === undefined ? [] : hourlySeries(points, metric, hours);
      return {
        metric: metric ?? null,
        statistic: metric === undefined ? null : statisticOf(metric),
        by,
        hours,
        series: series.slice(0, SERIES_MAX),
        leftOut: Math.max(0, series.length - SERIES_MAX),
        ...found,
      };
    },
  };
}
