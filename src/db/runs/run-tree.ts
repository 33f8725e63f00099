/**
 * Reads the steps of a run for its tree and its pages: all of them, without names and documents, with
 * their numbers and with where their rows are.
 */
import type { TreeStep } from '../../model/run-tree.ts';
import { numberSteps } from '../../model/step-order.ts';
import type { Database } from '../database.ts';
import { placementOf, type TelemetryPlacement } from '../placement.ts';
import { IN_TIME, narrowRows } from './step-rows.ts';
import { parametersOf, type RunToRead } from './steps.ts';

/** OTLP's STATUS_CODE_ERROR. */
const STATUS_ERROR = 2;

/** $1 to $7 are `parametersOf`. */
const readingTree = (placement: TelemetryPlacement): string => `
  WITH run AS (
    SELECT * FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[])
           AS t (workspace_id, run_id, first_on, last_on)
  )
  SELECT source, encode(span_id, 'hex') AS "spanId", encode(parent_span_id, 'hex') AS "parentSpanId",
         start AS "startUnixNano", "end" AS "endUnixNano", arrived_on::text AS "arrivedOn",
         is_error AS "isError", name_key AS "nameKey", stored, place_stored::text AS "storedAt"
    FROM run CROSS JOIN LATERAL (
      ${narrowRows(
        placement,
        `parent_span_id, status_code = ${STATUS_ERROR} AS is_error, hashtext(name) AS name_key,`,
        "NULL AS parent_span_id, false, hashtext(coalesce(event_name, '')),",
      )}
    ) AS step ORDER BY ${IN_TIME}`;

const READ_TREE: Readonly<Record<TelemetryPlacement, string>> = {
  local: readingTree('local'),
  distributed: readingTree('distributed'),
};

/**
 * The first steps of a run in time order, with the numbers of its pages (`readStepPage`).
 *
 * @param stepsMax most of them
 */
export async function readTree(
  database: Database,
  run: RunToRead,
  stepsMax: number,
): Promise<TreeStep[]> {
  const parameters = parametersOf([run], { stepsMax, bytesMax: 0 }).slice(0, -1);
  const statement = READ_TREE[await placementOf(database)];
  const { rows } = await database.query<Omit<TreeStep, 'number' | 'twin'>>(statement, parameters);
  return numberSteps(rows);
}
