/**
 * Reads the spans or log records of a run as they are stored, slice by slice in the order of arrival,
 * for an export. Documents are read as text; a large one in parts, so that no answer of PostgreSQL is
 * large.
 */
import type { JsonText } from '../../model/json.ts';
import type { Database } from '../database.ts';
import { byPlacement, placementOf, type TelemetryPlacement } from '../placement.ts';
import { SPAN_CONTENT } from './repeated-spans.ts';
import { parametersOf, type RunToRead, type StepLimits } from './run-to-read.ts';
import { atPlace, LOG_TEXTS, rowsOfRun, SPAN_TEXTS, stored } from './step-rows.ts';

export type ExportedSignal = 'traces' | 'logs';

/** A row: plain members of OTLP's JSON, ready to send, and stored JSON, which is not. */
export interface StoredStep {
  readonly resourceId: string;
  /** members without the documents; what is unset is null */
  readonly members: Readonly<Record<string, unknown>>;
  readonly documents: Readonly<Record<string, JsonText>>;
  /** of a span, a digest of all of it */
  readonly content: string | null;
}

export interface StoredResource {
  readonly id: string;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly attributes: JsonText;
  readonly schemaUrl: string;
  readonly scope: Readonly<Record<string, unknown>>;
  readonly scopeAttributes: JsonText;
  readonly scopeSchemaUrl: string;
}

export interface StoredSlice {
  readonly steps: readonly StoredStep[];
  readonly resources: readonly StoredResource[];
  /** where the next slice begins; null after the last one */
  readonly next: StoredPlace | null;
}

export interface StoredPlace {
  readonly arrivedOn: string;
  readonly place: string;
}

/** A longer document is read in parts of this size. */
const DOCUMENT_UNITS = 512 * 1024;

interface Table {
  readonly name: 'spans' | 'log_records';
  readonly texts: readonly string[];
  /** member of OTLP's JSON → SQL; numbers of 64 bits as text */
  readonly members: Readonly<Record<string, string>>;
  /** columns of JSON and, for spans, the name, which may be as large */
  readonly documents: readonly string[];
}

const unlessZero = (column: string): string => `nullif(${column}, 0)`;
const hex = (column: string): string => `encode(${column}, 'hex')`;
const traceId = "replace(trace_id::text, '-', '')";

const TABLES: Readonly<Record<ExportedSignal, Table>> = {
  traces: {
    name: 'spans',
    texts: SPAN_TEXTS,
    members: {
      traceId,
      spanId: hex('span_id'),
      parentSpanId: hex('parent_span_id'),
      traceState: 'trace_state',
      flags: unlessZero('flags'),
      kind: 'kind',
      startTimeUnixNano: 'start_unix_nano::text',
      endTimeUnixNano: 'end_unix_nano::text',
      droppedAttributesCount: 'dropped_attributes',
      droppedEventsCount: 'dropped_events',
      droppedLinksCount: 'dropped_links',
    },
    documents: ['name', 'status', 'attributes', 'events', 'links'],
  },
  logs: {
    name: 'log_records',
    texts: LOG_TEXTS,
    members: {
      traceId,
      spanId: hex('span_id'),
      flags: unlessZero('flags'),
      timeUnixNano: 'time_unix_nano::text',
      observedTimeUnixNano: 'observed_unix_nano::text',
      severityNumber: 'severity_number',
      severityText: 'severity_text',
      droppedAttributesCount: 'dropped_attributes',
    },
    documents: ['event_name', 'body', 'attributes'],
  },
};

/** The text of a document: JSON as it is stored, anything else as JSON. */
function documentText(column: string): string {
  if (column === 'status')
    return "json_strip_nulls(json_build_object('code', nullif(status_code, 0), 'message', status_message))::text";
  if (column === 'name' || column === 'event_name') return `to_json(${column})::text`;
  return `${column}::text`;
}

/** $1 to $8 as `parametersOf`, $9 and $10 the place after which the slice begins. */
function sliceOf(
  { name, texts, members, documents }: Table,
  placement: TelemetryPlacement,
): string {
  const content = name === 'spans' ? SPAN_CONTENT : 'NULL';
  const narrow = `arrived_on, ctid AS place_stored, ${stored(texts)} AS stored`;
  const plain = Object.entries(members).map(([member, sql]) => `'${member}', ${sql}`);
  const parts = documents.map(
    (column) => `left(${documentText(column)}, ${DOCUMENT_UNITS}) AS "${column}",
                 coalesce(length(${documentText(column)}), 0) AS "${column}_length"`,
  );
  return `
  WITH run AS (
    SELECT * FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[])
           AS t (workspace_id, run_id, first_on, last_on)
  ), narrow AS (
    SELECT step.* FROM run CROSS JOIN LATERAL (
      ${rowsOfRun(placement, name, narrow)}
    ) AS step
     WHERE $9::date IS NULL OR (arrived_on, place_stored) > ($9::date, $10::tid)
     ORDER BY arrived_on, place_stored LIMIT $7
  ), summed AS (
    SELECT *, row_number() OVER in_order AS number, sum(stored) OVER in_order AS so_far
      FROM narrow WINDOW in_order AS (ORDER BY arrived_on, place_stored)
  ), kept AS (SELECT * FROM summed WHERE number = 1 OR so_far <= $8)
  SELECT kept.arrived_on::text AS "arrivedOn", kept.place_stored::text AS place, step.*
    FROM kept CROSS JOIN LATERAL (
      SELECT resource_id::text AS "resourceId", json_build_object(${plain.join(', ')}) AS members,
             ${content} AS content,
             ${parts.join(', ')}
        FROM ${name} WHERE ${atPlace(placement, name)}
       LIMIT 1) AS step
   ORDER BY kept.arrived_on, kept.place_stored`;
}

const slicesOf = (placement: TelemetryPlacement) => ({
  traces: sliceOf(TABLES.traces, placement),
  logs: sliceOf(TABLES.logs, placement),
});
const SLICES = byPlacement(slicesOf);

const RESOURCES = `
  SELECT id::text, attributes::text, schema_url AS "schemaUrl",
         json_build_object('droppedAttributesCount', nullif(dropped_attributes, 0)) AS resource,
         json_build_object('name', scope_name, 'version', scope_version,
           'droppedAttributesCount', nullif(scope_dropped_attributes, 0)) AS scope,
         scope_attributes::text AS "scopeAttributes", scope_schema_url AS "scopeSchemaUrl"
    FROM resources WHERE workspace_id = $1 AND id = ANY ($2::uuid[])`;

type SliceRow = StoredPlace & {
  readonly resourceId: string;
  readonly content: string | null;
  readonly members: Readonly<Record<string, unknown>>;
} & Readonly<Record<string, unknown>>;

/** A run's rows of one table, where they are. */
interface Source {
  readonly database: Database;
  readonly placement: TelemetryPlacement;
  readonly table: Table;
  readonly run: RunToRead;
}

/** The rest of a document, part by part. Rows are never updated: the place is still the row's. */
async function restOf(
  { database, placement, table, run }: Source,
  column: string,
  { arrivedOn, place }: StoredPlace,
  length: number,
): Promise<string> {
  const isDistributed = placement === 'distributed';
  const text = `SELECT substr(${documentText(column)}, $3::int, ${DOCUMENT_UNITS}) AS part
                  FROM ${table.name} WHERE ctid = $2::tid AND arrived_on = $1::date
                   ${isDistributed ? 'AND run_id = $4::uuid' : ''}`;
  const row = [arrivedOn, place];
  let rest = '';
  for (let from = DOCUMENT_UNITS + 1; from <= length; from += DOCUMENT_UNITS) {
    const values = isDistributed ? [...row, from, run.runId] : [...row, from];
    const { rows } = await database.query<{ part: string }>(text, values);
    rest += rows[0]?.part ?? '';
  }
  return rest;
}

async function toStored(source: Source, row: SliceRow): Promise<StoredStep> {
  const documents: Record<string, JsonText> = {};
  for (const column of source.table.documents) {
    const begun = row[column];
    if (typeof begun !== 'string') continue;
    const length = Number(row[`${column}_length`]);
    const isWhole = length <= DOCUMENT_UNITS;
    documents[column] = isWhole ? begun : begun + (await restOf(source, column, row, length));
  }
  const { resourceId, members, content } = row;
  return { resourceId, members, documents, content };
}

/** A slice of a run's rows: as many as fit the limits, at least one. @param after null to begin */
export async function readStoredSlice(
  database: Database,
  run: RunToRead,
  signal: ExportedSignal,
  limits: StepLimits,
  after: StoredPlace | null,
): Promise<StoredSlice> {
  const placement = await placementOf(database);
  const source = { database, placement, table: TABLES[signal], run };
  const { rows } = await database.query<SliceRow>(SLICES[placement][signal], [
    ...parametersOf([run], limits),
    after?.arrivedOn ?? null,
    after?.place ?? null,
  ]);
  const steps: StoredStep[] = [];
  for (const row of rows) steps.push(await toStored(source, row));
  const ids = [...new Set(steps.map(({ resourceId }) => resourceId))];
  const resources = await database.query<StoredResource>(RESOURCES, [run.workspaceId, ids]);
  const last = rows.at(-1);
  const next = last === undefined ? null : { arrivedOn: last.arrivedOn, place: last.place };
  return { steps, resources: resources.rows, next };
}
