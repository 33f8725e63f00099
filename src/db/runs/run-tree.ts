/** Reads the steps of a run for its tree: all of them, without names and documents. */
import type { TreeStep } from '../../model/run-tree.ts';
import type { Database } from '../database.ts';
import { placementOf, type TelemetryPlacement } from '../placement.ts';
import { numberedSteps } from './step-page.ts';
import { parametersOf, type RunToRead } from './steps.ts';

/** OTLP's STATUS_CODE_ERROR. */
const STATUS_ERROR = 2;

/** $1 to $7 are `parametersOf`. */
const readingTree = (placement: TelemetryPlacement): string => `${numberedSteps(
  placement,
  `status_code = ${STATUS_ERROR} AS is_error, hashtext(name) AS name_key,`,
  "false, hashtext(coalesce(event_name, '')),",
)}
  SELECT place AS number, source, encode(span_id, 'hex') AS "spanId",
         encode(parent_span_id, 'hex') AS "parentSpanId", start AS "startUnixNano",
         "end" AS "endUnixNano", arrived_on::text AS "arrivedOn", twin, is_error AS "isError",
         name_key AS "nameKey"
    FROM narrow ORDER BY place`;

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
  const { rows } = await database.query<TreeStep>(statement, parameters);
  return rows;
}
