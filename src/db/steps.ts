/**
 * Reads the steps of a run back, in time order, within the limits of one evaluation.
 *
 * A run may have a million steps, so they are put in order by narrow rows, and documents are
 * fetched for the first ones only: reading a document costs more than everything else together.
 */
import type { JsonObject, JsonValue, SpanEvent, Step } from '../model.ts';
import type { Database } from './database.ts';
import type { ClaimedRun } from './evaluation-queue.ts';

export interface StepLimits {
  /** most steps of a run that one evaluation reads */
  readonly stepsMax: number;
  /** most bytes of attributes, events and bodies that one evaluation holds */
  readonly bytesMax: number;
}

const LIMITS: StepLimits = { stepsMax: 20_000, bytesMax: 64 * 1024 * 1024 };

interface StepRow {
  readonly source: Step['source'];
  readonly spanId: string | null;
  readonly parentSpanId: string | null;
  readonly name: string | null;
  readonly start: string;
  readonly end: string;
  readonly statusCode: number;
  readonly statusMessage: string | null;
  readonly scopeName: string | null;
  readonly serviceName: string | null;
  readonly attributes: JsonObject;
  readonly events: readonly { name?: string; attributes?: JsonObject }[] | null;
  readonly body: JsonValue;
  readonly dropped: number;
  readonly hasRemoteParent: boolean;
}

/** What the run itself says, beside one of its steps; `source` is null when there is no step. */
type AnswerRow = { readonly total: number } & (StepRow | { readonly source: null });

export interface StepsOfRun {
  readonly steps: readonly Step[];
  /** steps stored but not read: past the limits, or no longer kept */
  readonly unread: number;
}

function toStep(row: StepRow): Step {
  return {
    source: row.source,
    spanId: row.spanId,
    parentSpanId: row.parentSpanId,
    name: row.name ?? '',
    startUnixNano: row.start,
    endUnixNano: row.end,
    statusCode: row.statusCode,
    statusMessage: row.statusMessage ?? '',
    scopeName: row.scopeName ?? '',
    serviceName: row.serviceName,
    attributes: row.attributes,
    events: (row.events ?? []).map(
      ({ name, attributes }): SpanEvent => ({ name: name ?? '', attributes: attributes ?? {} }),
    ),
    body: row.body,
    dropped: row.dropped,
    hasRemoteParent: row.hasRemoteParent,
  };
}

/**
 * The order of steps. What follows the span's id only keeps the order the same every time; a row is
 * never updated, so its place in its day's table is as good as an id.
 */
const IN_TIME = 'start, "end" DESC, span_id, source DESC, arrived_on, place_stored';

/**
 * The rows of a run by arrival day, so that other days' partitions are not opened.
 * @param run what names the run: each of these columns has an index, several together have none
 */
const ofRun = (table: string, run = `${table}.trace_id`): string =>
  `${table}.workspace_id = $1 AND ${run} = $2
   AND ${table}.arrived_on BETWEEN $3::date - 1 AND $4::date + 1`;

const LOG_TIME = 'CASE WHEN time_unix_nano = 0 THEN observed_unix_nano ELSE time_unix_nano END';

/** OTLP `SpanFlags`: it is known whether the parent is remote, and it is. */
const REMOTE_PARENT = 0x300;

/** A document's bytes in its table: never more than its text has, and known without reading it. */
const stored = (column: string): string => `coalesce(pg_column_size(${column}) - 4, 0)`;
const bytes = (column: string): string => `coalesce(octet_length(${column}::text), 0)`;

/**
 * narrow: the first steps in time. kept: those that may fit into the bytes, by what is stored.
 * document: those, in full.
 *
 * LATERAL with LIMIT 1 fixes how documents and resources are fetched, row by row: left to itself the
 * planner, which cannot know how many steps come, has compared every step with every other.
 */
const READ_STEPS = `
  WITH narrow AS (
    SELECT 'span' AS source, start_unix_nano AS start, end_unix_nano AS "end", span_id,
           arrived_on, ctid AS place_stored, ${stored('attributes')} + ${stored('events')} AS stored
      FROM spans WHERE ${ofRun('spans')}
    UNION ALL
    SELECT 'log', ${LOG_TIME}, ${LOG_TIME}, span_id, arrived_on, ctid,
           ${stored('attributes')} + ${stored('body')}
      FROM log_records AS log WHERE ${ofRun('log')}
    UNION ALL
    SELECT 'log', ${LOG_TIME}, ${LOG_TIME}, span_id, arrived_on, ctid,
           ${stored('attributes')} + ${stored('body')}
      FROM log_records AS log WHERE ${ofRun('log', 'log.run_id')}
    ORDER BY ${IN_TIME} LIMIT $5
  ), numbered AS (
    SELECT *, row_number() OVER in_time AS place, sum(stored) OVER in_time AS stored_so_far
      FROM narrow WINDOW in_time AS (ORDER BY ${IN_TIME})
  ), kept AS (
    SELECT * FROM numbered WHERE place = 1 OR stored_so_far <= $6
  ), document AS (
    SELECT *, sum(bytes) OVER (ORDER BY place) AS bytes_so_far
      FROM kept CROSS JOIN LATERAL (
        SELECT parent_span_id, name, status_code, status_message, resource_id, attributes, events,
               NULL::json AS body,
               coalesce(dropped_attributes, 0) + coalesce(dropped_events, 0) AS dropped,
               coalesce(flags, 0) & ${REMOTE_PARENT} = ${REMOTE_PARENT} AS remote,
               ${bytes('attributes')} + ${bytes('events')} AS bytes
          FROM spans
         WHERE kept.source = 'span' AND ${ofRun('spans')}
           AND spans.arrived_on = kept.arrived_on AND spans.ctid = kept.place_stored
        UNION ALL
        SELECT NULL, event_name, 0, NULL, resource_id, attributes, NULL,
               body, coalesce(dropped_attributes, 0), false,
               ${bytes('attributes')} + ${bytes('body')}
          FROM log_records AS log
         WHERE kept.source = 'log' AND ${ofRun('log', 'coalesce(log.run_id, log.trace_id)')}
           AND log.arrived_on = kept.arrived_on AND log.ctid = kept.place_stored
         LIMIT 1
      ) AS in_full
  ), step AS (
    SELECT place, source, encode(span_id, 'hex') AS "spanId",
           encode(parent_span_id, 'hex') AS "parentSpanId", name, start, "end",
           status_code AS "statusCode", status_message AS "statusMessage",
           scope_name AS "scopeName", service_name AS "serviceName", attributes, events, body,
           dropped::float8, remote AS "hasRemoteParent"
      FROM document LEFT JOIN LATERAL (
        SELECT scope_name, service_name FROM resources
         WHERE workspace_id = $1 AND id = document.resource_id LIMIT 1
      ) AS resource ON true
     WHERE place = 1 OR bytes_so_far <= $6
  )
  SELECT spans + log_records AS total, step.*
    FROM runs LEFT JOIN step ON true WHERE workspace_id = $1 AND run_id = $2 ORDER BY place`;

/**
 * The steps of a run: its spans and the log records that carry its trace id, or were put into it
 * (`log-runs.ts`). The first step is read whatever its size, so that a run is never empty because of
 * its limits.
 *
 * Not a named statement: a plan made for any run opens every partition and knows no sizes.
 *
 * @param run its arrival days bound the days looked into, with a day to spare on either side for
 *   clocks that differ
 */
export async function readSteps(
  database: Database,
  { workspaceId, runId, firstArrivalOn, lastArrivalOn }: Omit<ClaimedRun, 'attempt' | 'state'>,
  { stepsMax, bytesMax }: StepLimits = LIMITS,
): Promise<StepsOfRun> {
  const { rows } = await database.query<AnswerRow>(READ_STEPS, [
    workspaceId,
    runId,
    firstArrivalOn,
    lastArrivalOn,
    stepsMax,
    bytesMax,
  ]);
  const steps = rows.flatMap((row) => (row.source === null ? [] : [toStep(row)]));
  return { steps, unread: (rows[0]?.total ?? 0) - steps.length };
}
