/**
 * Compiles at load time, per table, the functions that write a scanned or plain row as COPY bytes:
 * one statement per column, in the order of `src/model/columns.ts`. Their source consists of the
 * statements below, slots and field names; it must never contain anything that a client sent.
 *
 * A loop over the columns takes at least 4 % longer per span and 7 % per data point (Node 20.20,
 * 2 busy cores, 2026-11).
 */
import type { TelemetryPlacement } from '../db/placement.ts';
import type { LogRun, SessionRow } from '../db/telemetry/log-runs.ts';
import type { Columns, Encoding } from '../model/columns.ts';
import type { RowLayout } from '../otlp/fast/row-layout.ts';
import type { ScannedRow } from '../otlp/fast/scanned-row.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import { bytesSource, type RowBytes } from './row-bytes.ts';

/** Values outside the scanned row: constant for a request, or written later. */
export interface RowPlaces {
  readonly workspaceId: number;
  /** days since 2000 */
  readonly day: number;
  /** collects the positions where resource ids are to be written */
  readonly resources: number[];
}

export type RowWriter = (out: RowBytes, row: ScannedRow, places: RowPlaces) => void;

/** An upper bound for the fixed fields of a row of any table. */
const FIXED_BYTES = 320;
const NO_ID = new DataView(new ArrayBuffer(16));
const EMPTY_OBJECT = bytesSource('{}');

/** Values outside the plain row. */
export interface PlainContext {
  readonly workspaceId: number;
  readonly arrivedAtMs: number;
  /** the runs of rows that do not belong to their trace */
  readonly logRuns: ReadonlyMap<SessionRow, LogRun>;
}

export type PlainWriter<Row> = (out: CopyBuffer, row: Row, context: PlainContext) => void;

/** @param slot of the column @param id the offset of its id (`RowLayout`) */
type Statement = (slot: number, id: number) => string;

const time: Statement = (slot) => `out.int64(numbers[${slot}], numbers[${slot + 1}])`;
const unless = (isAbsent: string, statement: string): string =>
  `if (${isAbsent}) out.null(); else ${statement}`;
const text = (arena: string, slot: number): string =>
  `out.text(${arena}, ranges[${slot}], ranges[${slot + 1}])`;
const isEmpty = (slot: number): string => `ranges[${slot}] === ranges[${slot + 1}]`;

const SCANNED: Readonly<Record<Encoding, Statement>> = {
  time,
  int16: (slot) => `out.int16(numbers[${slot}])`,
  counter: (slot) => `out.counter(numbers[${slot}])`,
  traceId: (_, id) => `out.id(ids, ${id}, 16)`,
  optionalTraceId: (slot, id) => unless(`numbers[${slot}] === 0`, `out.id(ids, ${id}, 16)`),
  spanId: (_, id) => `out.id(ids, ${id}, 8)`,
  optionalSpanId: (slot, id) => unless(`numbers[${slot}] === 0`, `out.id(ids, ${id}, 8)`),
  text: (slot) => text('texts', slot),
  optionalText: (slot) => unless(isEmpty(slot), text('texts', slot)),
  optionalJson: (slot) => unless(isEmpty(slot), text('texts', slot)),
  composedJson: (slot) => unless(isEmpty(slot), text('lists', slot)),
  attributes: (slot) =>
    `if (${isEmpty(slot)}) out.text(EMPTY_OBJECT, 0, 2); else ${text('texts', slot)}`,
  workspace: () => 'out.int32(workspaceId)',
  arrivalDay: () => 'out.int32(day)',
  // Records of products with sessions fall back to the plain decoder.
  sessionRun: () => 'out.null()',
  resource: () => 'resources.push(out.end + 4); out.id(NO_ID, 0, 16)',
};

/**
 * The run of a row that is distributed by it: of its trace or, of a log record without one, an id made
 * of its times, which belongs to no run and lets such records spread over all shards.
 */
function scannedRun(layout: RowLayout): string {
  const ofTrace = `out.id(ids, ${layout.idOffset('trace_id')}, 16)`;
  if (!('observed_unix_nano' in layout.columns)) return ofTrace;
  const numbers = ['time_unix_nano', 'observed_unix_nano'].flatMap((name) => {
    const slot = layout.slot(name);
    return [`numbers[${slot}]`, `numbers[${slot + 1}]`];
  });
  const isWithout = `numbers[${layout.slot('trace_id')}] === 0`;
  return `if (${isWithout}) out.timesId(${numbers}); else ${ofTrace}`;
}

/** The function that writes rows of a layout. */
export function compileRowWriter(
  layout: RowLayout,
  placement: TelemetryPlacement = 'local',
): RowWriter {
  const { columns, slots, idOffsets } = layout;
  const statements = Object.values(columns).map(([, encoding], column) =>
    encoding === 'sessionRun' && placement === 'distributed'
      ? scannedRun(layout)
      : SCANNED[encoding](slots[column] as number, idOffsets[column] as number),
  );
  const source = `return (out, row, places) => {
    const { numbers, ranges, ids, texts, lists } = row;
    const { workspaceId, day, resources } = places;
    out.row(${statements.length}, ${FIXED_BYTES} + texts.end + lists.end);
    ${statements.join(';\n')};
  }`;
  const create = new Function('EMPTY_OBJECT', 'NO_ID', source);
  return create(EMPTY_OBJECT, NO_ID) as RowWriter;
}

/** @param value the row's field */
type PlainStatement = (value: string) => string;

const plain =
  (method: string): PlainStatement =>
  (value) =>
    `out.${method}(${value})`;
const optional =
  (method: string): PlainStatement =>
  (value) =>
    unless(`${value} === null || ${value} === ''`, `out.${method}(${value})`);

/** Looking up a row without a session would only cost time. */
const SESSION_RUN = 'const run = row.session === null ? undefined : context.logRuns.get(row)';

const PLAIN: Readonly<Record<Encoding, PlainStatement>> = {
  time: plain('int64'),
  int16: plain('int16'),
  counter: plain('counter'),
  traceId: plain('uuid'),
  optionalTraceId: optional('uuid'),
  spanId: plain('spanId'),
  optionalSpanId: optional('spanId'),
  text: plain('text'),
  optionalText: optional('text'),
  attributes: plain('text'),
  optionalJson: optional('text'),
  composedJson: optional('text'),
  workspace: () => 'out.int32(context.workspaceId)',
  arrivalDay: () => 'out.date(context.arrivedAtMs)',
  sessionRun: () => `${SESSION_RUN}; ${unless('run === undefined', 'out.uuid(run.runId)')}`,
  resource: plain('uuid'),
};

/** As `scannedRun`. */
function plainRun(columns: Columns): string {
  const ofTrace = 'out.uuid(row.traceId)';
  const ofTimes = 'out.timesId(row.timeUnixNano, row.observedUnixNano)';
  const ofRow =
    'observed_unix_nano' in columns ? `if (row.traceId === null) ${ofTimes}; else ` : '';
  return `${SESSION_RUN}; if (run !== undefined) out.uuid(run.runId); else ${ofRow}${ofTrace}`;
}

/** The function that writes plain rows of a layout. */
export function compilePlainWriter<Row>(
  { columns }: RowLayout,
  placement: TelemetryPlacement = 'local',
): PlainWriter<Row> {
  const statements = Object.values(columns).map(([, encoding, field]) =>
    encoding === 'sessionRun' && placement === 'distributed'
      ? plainRun(columns)
      : PLAIN[encoding](`row.${field}`),
  );
  const source = `out.row(${statements.length});\n${statements.join(';\n')};`;
  return new Function('out', 'row', 'context', source) as PlainWriter<Row>;
}
