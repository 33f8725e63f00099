/**
 * Reads the steps of runs, in time order, within limits for each run and for each statement.
 *
 * A run may have a million steps, so they are sorted without their documents, and documents are
 * fetched for the first ones only: reading a document costs more than everything else together.
 * One statement reads several runs, because planning, which opens every partition and index, takes
 * longer than reading a short run.
 */
import type { Int64, JsonObject, JsonValue } from '../../model/json.ts';
import { inTimeOrder, numberSteps } from '../../model/step-order.ts';
import type { SpanEvent, Step } from '../../model/steps.ts';
import type { Database } from '../database.ts';
import type { ClaimedRun } from './evaluation-queue.ts';

export interface StepLimits {
  /** most steps of a run that one evaluation reads */
  readonly stepsMax: number;
  /** most bytes of names, messages, attributes, events and bodies that one evaluation holds */
  readonly bytesMax: number;
}

const MIB = 1024 * 1024;
const LIMITS: StepLimits = { stepsMax: 20_000, bytesMax: 64 * MIB };
/**
 * Most such bytes of several runs read at a time: some seconds of matching at its slowest. If the
 * first run has more, it is read alone.
 */
export const TOGETHER_BYTES_MAX = 8 * MIB;

export interface StepRow {
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
  readonly events:
    | readonly { name?: string; attributes?: JsonObject; timeUnixNano?: Int64 }[]
    | null;
  readonly body: JsonValue;
  readonly dropped: number;
  readonly hasRemoteParent: boolean;
  readonly arrivedOn: string;
  readonly bytes: number;
}

/** A run's key and the days of its arrival. */
export type RunToRead = Pick<
  ClaimedRun,
  'workspaceId' | 'runId' | 'firstArrivalOn' | 'lastArrivalOn'
>;

/** The run's own row, before the rows of its steps. */
interface RunRow {
  readonly source: null;
  readonly total: number;
  /** whether any step is stored; of a run that was read, rows of steps follow */
  readonly hasSteps: boolean;
}

/** `place` is the index of the run in the request. */
type AnswerRow = { readonly place: number } & (RunRow | StepRow);

export interface StepsOfRun {
  readonly steps: readonly Step[];
  /** most bytes of the steps' names, messages, attributes, events and bodies */
  readonly bytes: number;
  /** steps stored but not read: past the limits, or no longer kept */
  readonly unread: number;
}

/** A run that retention has removed since it was claimed. */
const REMOVED_RUN = { hasSteps: false, total: 0 };

export function toStep(row: StepRow): Step {
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
      ({ name, attributes, timeUnixNano }): SpanEvent => ({
        name: name ?? '',
        attributes: attributes ?? {},
        ...(timeUnixNano === undefined ? {} : { timeUnixNano }),
      }),
    ),
    body: row.body,
    dropped: row.dropped,
    hasRemoteParent: row.hasRemoteParent,
    arrivedOn: row.arrivedOn,
  };
}

/** The order of steps that start at the same time, on one level. */
export const AT_ONE_TIME = '"end" DESC, span_id, source DESC, arrived_on, place_stored';

/**
 * The order in which steps are counted against the limits; `inTimeOrder` decides among steps that start
 * at the same time. The columns after the span's id make it deterministic; a row is never updated, so
 * its ctid in its day's table identifies it.
 */
export const IN_TIME = `start, ${AT_ONE_TIME}`;

/**
 * The days on which any of the runs may have arrived: known when the statement is planned, so that
 * other days' partitions are not opened.
 */
const inDays = (table: string): string =>
  `${table}.arrived_on BETWEEN $5::date - 1 AND $6::date + 1`;

/**
 * The rows of a run by arrival day.
 * @param of what names the run: each of these columns has an index, several together have none. A row
 *   whose `run_id` names a run belongs to that one only.
 */
export const ofRun = (table: string, of: 'trace_id' | 'run_id'): string =>
  `${table}.workspace_id = run.workspace_id AND ${table}.${of} = run.run_id
   ${of === 'trace_id' ? `AND ${table}.run_id IS NULL` : ''}
   AND ${table}.arrived_on BETWEEN run.first_on - 1 AND run.last_on + 1 AND ${inDays(table)}`;

/**
 * The row of a narrow row, by its ctid alone, which is unique in one snapshot. With a further condition
 * the planner might use that one's index, and read the whole run for every step.
 */
const atPlace = (table: string): string =>
  `${table}.ctid = kept.place_stored AND ${table}.arrived_on = kept.arrived_on
   AND ${inDays(table)}`;

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
export const bytes = (columns: readonly string[]): string =>
  columns.map((column) => `coalesce(octet_length(${column}::text), 0)`).join(' + ');

/**
 * SQL that reads the step `kept` in full.
 *
 * @param spanColumns further columns of spans; null for log records
 */
export const inFull = (spanColumns: readonly string[] = []): string => `
        SELECT ${spanColumns.map((column) => `${column}, `).join('')}
               name, status_code, status_message, resource_id, attributes, events,
               NULL::json AS body,
               coalesce(dropped_attributes, 0) + coalesce(dropped_events, 0) AS dropped,
               coalesce(flags, 0) & ${REMOTE_PARENT} = ${REMOTE_PARENT} AS remote,
               ${bytes(SPAN_TEXTS)} AS bytes
          FROM spans
         WHERE kept.source = 'span' AND ${atPlace('spans')}
        UNION ALL
        SELECT ${spanColumns.map(() => 'NULL, ').join('')}
               event_name, 0, NULL, resource_id, attributes, NULL,
               body, coalesce(dropped_attributes, 0), false,
               ${bytes(LOG_TEXTS)}
          FROM log_records AS log
         WHERE kept.source = 'log' AND ${atPlace('log')}
         LIMIT 1`;

/**
 * Most characters of a service's or scope's name. They are stored once and read with every step: a
 * name of a megabyte would be read twenty thousand times. Conventions are recognized by prefixes.
 */
const ORIGIN_CHARS_MAX = 256;
export const cut = (column: string): string => `left(${column}, ${ORIGIN_CHARS_MAX})`;

/** The columns whose length the sender decides. */
const TEXTS = 'name, start, "end", status_code AS "statusCode", status_message AS "statusMessage"';
const DOCUMENTS = 'attributes, events, body';

/**
 * narrow: each run's first steps in time. begun: the runs that have any. kept: the steps that may fit
 * by their stored bytes, of the first runs that fit together; runs that are too large by themselves
 * are skipped. document: the rows of `kept` in full.
 *
 * LATERAL with LIMIT makes the planner fetch rows, documents and resources one after the other, and
 * steps are not joined to their runs: the planner, which does not know how many steps there are, has
 * compared every step with every other, and read all documents again for every run.
 */
const READ_STEPS = `
  WITH run AS (
    SELECT t.*, r.spans + r.log_records AS total
      FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[]) WITH ORDINALITY
           AS t (workspace_id, run_id, first_on, last_on, run_place)
      JOIN runs AS r ON r.workspace_id = t.workspace_id AND r.run_id = t.run_id
  ), narrow AS (
    SELECT run.*, step.* FROM run CROSS JOIN LATERAL (
      SELECT 'span' AS source, start_unix_nano AS start, end_unix_nano AS "end", span_id,
             arrived_on, ctid AS place_stored, ${stored(SPAN_TEXTS)} AS stored
        FROM spans WHERE ${ofRun('spans', 'trace_id')}
      UNION ALL
      SELECT 'span', start_unix_nano, end_unix_nano, span_id, arrived_on, ctid,
             ${stored(SPAN_TEXTS)}
        FROM spans WHERE ${ofRun('spans', 'run_id')}
      UNION ALL
      SELECT 'log', ${LOG_TIME}, ${LOG_TIME}, span_id, arrived_on, ctid,
             ${stored(LOG_TEXTS)}
        FROM log_records AS log WHERE ${ofRun('log', 'trace_id')}
      UNION ALL
      SELECT 'log', ${LOG_TIME}, ${LOG_TIME}, span_id, arrived_on, ctid,
             ${stored(LOG_TEXTS)}
        FROM log_records AS log WHERE ${ofRun('log', 'run_id')}
      ORDER BY ${IN_TIME} LIMIT $7
    ) AS step
  ), numbered AS (
    SELECT *, row_number() OVER in_time AS place, sum(stored) OVER in_time
             AS stored_so_far
      FROM narrow WINDOW in_time AS (PARTITION BY run_place ORDER BY ${IN_TIME})
  ), begun AS MATERIALIZED (
    SELECT DISTINCT run_place FROM numbered
  ), fitting AS (
    SELECT *, sum(stored) OVER (PARTITION BY run_place) AS stored_of_run
      FROM numbered WHERE place = 1 OR stored_so_far <= $8
  ), kept AS (
    SELECT * FROM (
      SELECT *, sum(stored) OVER (ORDER BY run_place) AS stored_together
        FROM fitting WHERE stored_of_run <= $10
    ) AS small
     WHERE run_place = (SELECT min(run_place) FROM begun) OR stored_together <= $9
  ), document AS (
    SELECT *, sum(bytes) OVER (
             PARTITION BY run_place ORDER BY place) AS bytes_so_far
      FROM kept CROSS JOIN LATERAL (${inFull(['parent_span_id'])}) AS in_full
  ), measured AS (
    SELECT *, sum(bytes) OVER (PARTITION BY run_place) AS bytes_of_run
      FROM document WHERE place = 1 OR bytes_so_far <= $8
  ), together AS (
    SELECT *, sum(bytes) OVER (ORDER BY run_place) AS bytes_together
      FROM measured WHERE bytes_of_run <= $10
  ), step AS (
    SELECT run_place, place AS step_place, source, encode(span_id, 'hex') AS "spanId",
           encode(parent_span_id, 'hex') AS "parentSpanId", ${TEXTS},
           ${cut('scope_name')} AS "scopeName", ${cut('service_name')} AS "serviceName",
           ${DOCUMENTS},
           dropped::float8, remote AS "hasRemoteParent", arrived_on::text AS "arrivedOn",
           bytes::float8 AS bytes
      FROM together LEFT JOIN LATERAL (
        SELECT scope_name, service_name FROM resources
         WHERE workspace_id = together.workspace_id AND id = together.resource_id LIMIT 1
      ) AS resource ON true
     WHERE run_place = (SELECT min(run_place) FROM begun) OR bytes_together <= $9
  )
  SELECT run_place::int - 1 AS place, NULL AS total, NULL AS "hasSteps", step.* FROM step
  UNION ALL
  SELECT run.run_place - 1, run.total, begun.run_place IS NOT NULL, run.run_place, NULL, NULL, NULL, NULL,
         NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM run LEFT JOIN begun ON begun.run_place = run.run_place
   ORDER BY place, step_place NULLS FIRST`;

/**
 * The steps of runs: each run's spans and log records, which carry its trace id or were put into it
 * (`log-runs.ts`). A run's first step is read whatever its size, so that a run is never empty
 * because of its limits.
 *
 * Not a prepared statement: a generic plan opens every partition and knows no sizes.
 *
 * @param runs at least one; each is looked for on the days of its arrival, with a day to spare on
 *   either side for clocks that differ
 * @param runBytesMax larger runs are not read together with others
 * @returns the first of the runs, as many as fit into `togetherBytesMax`, but at least one; null
 *   for a run that is too large
 */
export async function readStepsOfRuns(
  database: Database,
  runs: readonly RunToRead[],
  { stepsMax, bytesMax }: StepLimits = LIMITS,
  togetherBytesMax: number = TOGETHER_BYTES_MAX,
  runBytesMax: number = Number.MAX_SAFE_INTEGER,
): Promise<(StepsOfRun | null)[]> {
  const { rows } = await database.query<AnswerRow>(READ_STEPS, [
    ...parametersOf(runs, { stepsMax, bytesMax }),
    togetherBytesMax,
    runBytesMax,
  ]);
  const answers: AnswerRow[][] = runs.map(() => []);
  for (const row of rows) answers[row.place]?.push(row);
  const read = answers.map(([run, ...its]): StepsOfRun | null => {
    const { hasSteps, total } = run?.source === null ? run : REMOVED_RUN;
    if (hasSteps && its.length === 0) return null;
    const own = its.flatMap((row) => (row.source === null ? [] : [row]));
    const bytes = own.reduce((sum, row) => sum + row.bytes, 0);
    return { steps: inTimeOrder(numberSteps(own.map(toStep))), bytes, unread: total - own.length };
  });
  return withoutRest(read);
}

/**
 * A run without rows was too large by itself, or did not fit beside the others. Those that did not fit
 * come last, and the first run that is not too large is always read. So a run before one with rows was
 * too large, and so was the first run if none has rows.
 */
function withoutRest(read: (StepsOfRun | null)[]): (StepsOfRun | null)[] {
  const last = read.findLastIndex((one) => one !== null && one.steps.length > 0);
  const open = read.findIndex((one, place) => one === null && place > last);
  if (open === -1) return read;
  return read.slice(0, last === -1 ? open + 1 : open);
}

/** The parameters $1 to $8. */
export function parametersOf(
  runs: readonly RunToRead[],
  { stepsMax, bytesMax }: StepLimits,
): unknown[] {
  const firstDays = runs.map(({ firstArrivalOn }) => firstArrivalOn);
  const lastDays = runs.map(({ lastArrivalOn }) => lastArrivalOn);
  return [
    runs.map(({ workspaceId }) => workspaceId),
    runs.map(({ runId }) => runId),
    firstDays,
    lastDays,
    [...firstDays].sort()[0],
    [...lastDays].sort().at(-1),
    stepsMax,
    bytesMax,
  ];
}
