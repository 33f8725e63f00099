/**
 * SQL that finds the rows of a run's steps: first narrow ones, without their documents, then some of
 * them in full.
 *
 * With `local` placement several runs are read by one statement. With `distributed` placement the runs of
 * a statement are on one shard of a Citus cluster, and every table is compared with them as constants: so
 * the whole statement runs on the worker that has the shard (docs/decisions/0046-citus.md).
 */
import type { Database } from '../database.ts';
import type { TelemetryPlacement } from '../placement.ts';
import { isInPart } from './late-steps.ts';

/**
 * The order in which steps are counted against the limits; `inTimeOrder` decides among steps that start
 * at the same time. The columns after the span's id make it deterministic; a row is never updated, so
 * its ctid in its day's table identifies it.
 */
export const IN_TIME = 'start, "end" DESC, span_id, source DESC, arrived_on, place_stored';

/**
 * The days on which any of the runs may have arrived: known when the statement is planned, so that
 * other days' partitions are not opened.
 */
const inDays = (table: string): string =>
  `${table}.arrived_on BETWEEN $5::date - 1 AND $6::date + 1`;

/** The shard of the statement's runs: only their constants say which it is. */
const onShard: Readonly<Record<TelemetryPlacement, (table: string) => string>> = {
  local: () => '',
  distributed: (table) => `AND ${table}.run_id = ANY ($2::uuid[])`,
};

/** What may name a row's run. Rows that are distributed all have a `run_id`. */
const NAMES: Readonly<Record<TelemetryPlacement, readonly ('trace_id' | 'run_id')[]>> = {
  local: ['trace_id', 'run_id'],
  distributed: ['run_id'],
};

/**
 * The rows of a run by arrival day.
 * @param of what names the run: each of these columns has an index, several together have none. A row
 *   whose `run_id` names a run belongs to that one only.
 */
const ofRun = (
  placement: TelemetryPlacement,
  table: string,
  of: 'trace_id' | 'run_id',
  rows: RowsRead,
): string =>
  `${table}.workspace_id = run.workspace_id AND ${table}.${of} = run.run_id
   ${of === 'trace_id' ? `AND ${table}.run_id IS NULL` : ''}
   AND ${table}.arrived_on BETWEEN run.first_on - 1 AND run.last_on + 1 AND ${inDays(table)}
   ${onShard[placement](table)} ${rows === 'part' ? `AND ${isInPart(table)}` : ''}`;

/** All rows of a run, or the part that its claim is for, if it has one. */
type RowsRead = 'all' | 'part';

/** A SELECT of the rows of `run`. */
export const rowsOfRun = (
  placement: TelemetryPlacement,
  table: 'spans' | 'log_records',
  columns: string,
  rows: RowsRead = 'all',
): string =>
  NAMES[placement]
    .map((of) => `SELECT ${columns} FROM ${table} WHERE ${ofRun(placement, table, of, rows)}`)
    .join(' UNION ALL ');

/** A value of at most so many bytes, its header included, has a header of one byte and not four. */
const SHORT_VALUE_MAX = 127;

/** The time of a log record. */
export const LOG_TIME =
  'CASE WHEN time_unix_nano = 0 THEN observed_unix_nano ELSE time_unix_nano END';

/** OTLP `SpanFlags`: CONTEXT_HAS_IS_REMOTE and CONTEXT_IS_REMOTE. */
const REMOTE_PARENT = 0x300;

/** Columns whose length the sender decides. */
export const SPAN_TEXTS = ['name', 'status_message', 'attributes', 'events'];
export const LOG_TEXTS = ['event_name', 'body', 'attributes'];
/** Bytes in the table: at most as many as the texts have, and known without reading them. */
export const stored = (columns: readonly string[]): string =>
  columns.map((column) => `coalesce(pg_column_size(${column}) - 4, 0)`).join(' + ');
const bytes = (columns: readonly string[]): string =>
  columns.map((column) => `coalesce(octet_length(${column}::text), 0)`).join(' + ');

/**
 * The narrow rows of `run`, of which $7 are read, in time order.
 *
 * @param spanColumns further columns of spans, each with a comma after it
 * @param logColumns the same of log records
 */
export const narrowRows = (
  placement: TelemetryPlacement,
  spanColumns = '',
  logColumns = '',
  rows: RowsRead = 'all',
): string => {
  const span = `'span' AS source, ${spanColumns} start_unix_nano AS start, end_unix_nano AS "end", span_id,
     arrived_on, ctid AS place_stored, ${stored(SPAN_TEXTS)} AS stored`;
  const log = `'log', ${logColumns} ${LOG_TIME}, ${LOG_TIME}, span_id,
     arrived_on, ctid, ${stored(LOG_TEXTS)}`;
  return `${rowsOfRun(placement, 'spans', span, rows)}
      UNION ALL ${rowsOfRun(placement, 'log_records', log, rows)}
      ORDER BY ${IN_TIME} LIMIT $7`;
};

/**
 * The row of a narrow row, by its ctid alone, which is unique in one snapshot. With a further condition
 * the planner might use that one's index, and read the whole run for every step. (No index begins with
 * the shard's column.)
 *
 * @param row has `place_stored` and `arrived_on`
 */
export const atPlace = (placement: TelemetryPlacement, table: string, row = 'kept'): string =>
  `${table}.ctid = ${row}.place_stored AND ${table}.arrived_on = ${row}.arrived_on
   AND ${inDays(table)} ${onShard[placement](table)}`;

/** The columns that a step needs beside the narrow ones. */
const SPAN_IN_FULL = `name, status_code, status_message, resource_id, attributes, events,
               NULL::json AS body,
               coalesce(dropped_attributes, 0) + coalesce(dropped_events, 0) AS dropped,
               coalesce(flags, 0) & ${REMOTE_PARENT} = ${REMOTE_PARENT} AS remote`;
const LOG_IN_FULL = `event_name, 0, NULL, resource_id, attributes, NULL,
               body, coalesce(dropped_attributes, 0), false`;

/** The bytes of texts that are not compressed; of one that is stored apart, four fewer. */
const plainBytes = (columns: readonly string[]): string =>
  columns
    .map((column) => {
      const size = `pg_column_size(${column})`;
      return `coalesce(${size} - CASE WHEN ${size} > ${SHORT_VALUE_MAX} THEN 4 ELSE 1 END, 0)`;
    })
    .join(' + ');
const isPacked = (columns: readonly string[]): string =>
  columns.map((column) => `pg_column_compression(${column}) IS NOT NULL`).join(' OR ');
/** Of a row of `wholeRows`. */
export const UNPACKED_BYTES = `(${bytes(['name', 'status_message', 'attributes', 'events', 'body'])})`;

/**
 * The rows of the part of `run`, in no order, with their documents.
 *
 * `stored`: the bytes of its texts, unless some are compressed, which is `packed`; known without reading
 * them.
 */
export const wholeRows = (): string => {
  const span = `'span' AS source, start_unix_nano AS start, end_unix_nano AS "end", span_id,
     parent_span_id, arrived_on, ctid AS place_stored, ${plainBytes(SPAN_TEXTS)} AS stored,
     ${isPacked(SPAN_TEXTS)} AS packed, workspace_id, ${SPAN_IN_FULL}`;
  const log = `'log', ${LOG_TIME}, ${LOG_TIME}, span_id, NULL, arrived_on, ctid,
     ${plainBytes(LOG_TEXTS)}, ${isPacked(LOG_TEXTS)}, workspace_id, ${LOG_IN_FULL}`;
  return `${rowsOfRun('local', 'spans', span, 'part')}
    UNION ALL ${rowsOfRun('local', 'log_records', log, 'part')}`;
};

/**
 * SQL that reads the step `kept` in full.
 *
 * @param columns further columns, of spans and of log records
 */
export const inFull = (
  placement: TelemetryPlacement,
  columns: readonly (readonly [ofSpan: string, ofLogRecord: string])[],
): string => `
        SELECT ${columns.map(([column]) => `${column}, `).join('')}
               ${SPAN_IN_FULL}, ${bytes(SPAN_TEXTS)} AS bytes
          FROM spans
         WHERE kept.source = 'span' AND ${atPlace(placement, 'spans')}
        UNION ALL
        SELECT ${columns.map(([, column]) => `${column}, `).join('')}
               ${LOG_IN_FULL}, ${bytes(LOG_TEXTS)}
          FROM log_records
         WHERE kept.source = 'log' AND ${atPlace(placement, 'log_records')}
         LIMIT 1`;

/**
 * Most characters of a service's or scope's name. They are stored once and read with every step: a
 * name of a megabyte would be read twenty thousand times. Conventions are recognized by prefixes.
 */
const ORIGIN_CHARS_MAX = 256;
const cut = (column: string): string => `left(${column}, ${ORIGIN_CHARS_MAX})`;
const ORIGIN = `${cut('scope_name')} AS "scopeName", ${cut('service_name')} AS "serviceName"`;

/** The columns of a step's origin; of one that is distributed, only which resource it is. */
export const ORIGIN_COLUMNS: Readonly<Record<TelemetryPlacement, string>> = {
  local: ORIGIN,
  distributed: 'resource_id AS "resourceId", NULL::text AS "serviceName"',
};

/**
 * Joins `resource`, where it is beside the steps.
 *
 * @param row has `workspace_id` and `resource_id`
 */
export const joinOrigin = (placement: TelemetryPlacement, row: string): string =>
  placement === 'distributed'
    ? ''
    : `LEFT JOIN LATERAL (
        SELECT scope_name, service_name FROM resources
         WHERE workspace_id = ${row}.workspace_id AND id = ${row}.resource_id LIMIT 1
      ) AS resource ON true`;

interface Origin {
  readonly scopeName: string;
  readonly serviceName: string | null;
}

/**
 * The rows of steps with their origins: of those that are distributed, looked up here.
 *
 * @param workspaceOf a row's workspace, or that of all rows
 */
export async function withOrigins<Row extends object>(
  database: Database,
  workspaceOf: number | ((row: Row) => number | undefined),
  rows: readonly Row[],
): Promise<Row[]> {
  const workspace = typeof workspaceOf === 'number' ? () => workspaceOf : workspaceOf;
  const keyOf = (row: Row): string => `${workspace(row)} ${Reflect.get(row, 'resourceId')}`;
  const of = rows.filter((row) => typeof Reflect.get(row, 'resourceId') === 'string');
  const keys = [...new Map(of.map((row) => [keyOf(row), row])).values()];
  if (keys.length === 0) return [...rows];
  const { rows: found } = await database.query<
    Origin & { workspaceId: number; resourceId: string }
  >(
    `SELECT workspace_id AS "workspaceId", id AS "resourceId", ${ORIGIN}
       FROM unnest($1::int[], $2::uuid[]) AS t (of_workspace, resource_id)
       JOIN resources ON workspace_id = of_workspace AND id = resource_id`,
    [keys.map(workspace), keys.map((row) => Reflect.get(row, 'resourceId'))],
  );
  const origins = new Map(
    found.map(({ workspaceId, resourceId, ...origin }) => [`${workspaceId} ${resourceId}`, origin]),
  );
  return rows.map((row) => ({ ...row, ...origins.get(keyOf(row)) }));
}
