/**
 * Reads the steps of a run back, in time order, within the limits of one evaluation.
 */
import type { JsonObject, JsonValue, RunRef, SpanEvent, Step } from '../model.ts';
import type { Database } from './database.ts';

export interface StepLimits {
  /** most steps of a run that one evaluation reads */
  readonly stepsMax: number;
  /** most bytes of attributes, events and bodies that one evaluation holds */
  readonly bytesMax: number;
}

const LIMITS: StepLimits = { stepsMax: 20_000, bytesMax: 256 * 1024 * 1024 };

interface StepRow {
  readonly source: 'span' | 'log';
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
  readonly total: number;
}

export interface StepsOfRun {
  readonly steps: readonly Step[];
  /** steps stored but past the limits */
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
  };
}

/**
 * The steps of a run: its spans and the log records that carry its trace id. The first step is read
 * whatever its size, so that a run is never empty because of its limits.
 */
export async function readSteps(
  database: Database,
  { workspaceId, runId }: RunRef,
  { stepsMax, bytesMax }: StepLimits = LIMITS,
): Promise<StepsOfRun> {
  const { rows } = await database.query<StepRow>({
    name: 'read-steps',
    text: `
      WITH step AS (
        SELECT 'span' AS source, start_unix_nano AS start, end_unix_nano AS "end", span_id,
               parent_span_id, name, status_code, status_message, resource_id, attributes, events,
               NULL::json AS body,
               octet_length(attributes::text) + coalesce(octet_length(events::text), 0) AS bytes
          FROM spans WHERE workspace_id = $1 AND trace_id = $2
        UNION ALL
        SELECT 'log', CASE WHEN time_unix_nano = 0 THEN observed_unix_nano ELSE time_unix_nano END,
               CASE WHEN time_unix_nano = 0 THEN observed_unix_nano ELSE time_unix_nano END,
               span_id, NULL, event_name, 0, NULL, resource_id, attributes, NULL, body,
               octet_length(attributes::text) + coalesce(octet_length(body::text), 0)
          FROM log_records WHERE workspace_id = $1 AND trace_id = $2
      ), counted AS (
        SELECT *, count(*) OVER () AS total, row_number() OVER in_time AS place,
               sum(bytes) OVER in_time AS bytes_so_far
          FROM step WINDOW in_time AS (ORDER BY start, "end" DESC, span_id, source DESC)
      )
      SELECT source, encode(span_id, 'hex') AS "spanId",
             encode(parent_span_id, 'hex') AS "parentSpanId", name, start, "end",
             status_code AS "statusCode", status_message AS "statusMessage",
             scope_name AS "scopeName", service_name AS "serviceName",
             counted.attributes, events, body, total::int
        FROM counted LEFT JOIN resources r ON r.workspace_id = $1 AND r.id = resource_id
       WHERE place = 1 OR (place <= $3 AND bytes_so_far <= $4)
       ORDER BY place`,
    values: [workspaceId, runId, stepsMax, bytesMax],
  });
  const total = rows[0]?.total ?? 0;
  return { steps: rows.map(toStep), unread: total - rows.length };
}
