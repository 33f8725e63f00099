/** The statement that reads the steps of runs in full, within limits for each run and for all together. */
import type { Database } from '../database.ts';
import { byPlacement, type TelemetryPlacement } from '../placement.ts';
import { partOf } from './late-steps.ts';
import { IN_TIME, inFull, joinOrigin, narrowRows, ORIGIN_COLUMNS } from './step-rows.ts';
import type { PlacedStepRow } from './to-step.ts';

/** The run's own row, before the rows of its steps. */
interface RunRow {
  readonly source: null;
  readonly total: number;
  /** true if a step is stored; rows of steps follow if the run was read */
  readonly hasSteps: boolean;
}

/** `place` is the index of the run in the request. */
export type AnswerRow = ({ readonly place: number } & RunRow) | PlacedStepRow;

/** The columns whose length the sender decides. */
const TEXTS = 'name, start, "end", status_code AS "statusCode", status_message AS "statusMessage"';
const DOCUMENTS = 'attributes, events, body';

/**
 * The runs, with how many steps of each are stored. A statement that runs on a worker cannot read the
 * table of runs, which is on the coordinator: it is given the numbers.
 */
const RUNS: Readonly<Record<TelemetryPlacement, string>> = {
  local: `SELECT t.*, coalesce(t.claimed, r.spans + r.repeated_spans + r.log_records) AS total, ${partOf('t.claimed')}
      FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[], $11::int[]) WITH ORDINALITY
           AS t (workspace_id, run_id, first_on, last_on, claimed, run_place)
      JOIN runs AS r ON r.workspace_id = t.workspace_id AND r.run_id = t.run_id`,
  distributed: `SELECT *
      FROM (SELECT workspace_id, run_id, first_on, last_on, total, run_place, claimed_to,
                   claimed_without::timestamptz[], evaluated_to, evaluated_without::timestamptz[]
              FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[], $11::int[],
                     $12::timestamptz[], $13::text[], $14::timestamptz[], $15::text[]) WITH ORDINALITY
                   AS t (workspace_id, run_id, first_on, last_on, total, claimed_to,
                         claimed_without, evaluated_to, evaluated_without, run_place)) AS t`,
};

/**
 * narrow: each run's first steps in time. begun: the runs that have any. kept: the steps that may fit
 * by their stored bytes, of the first runs that fit together; runs that are too large by themselves
 * are skipped. document: the rows of `kept` in full.
 *
 * LATERAL with LIMIT makes the planner fetch rows, documents and resources one after the other, and
 * steps are not joined to their runs: the planner, which does not know how many steps there are, has
 * compared every step with every other, and read all documents again for every run.
 */
const readingSteps = (placement: TelemetryPlacement): string => `
  WITH run AS (
    ${RUNS[placement]}
  ), narrow AS (
    SELECT run.*, step.* FROM run CROSS JOIN LATERAL (
      ${narrowRows(placement, '', '', 'part')}
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
      FROM kept CROSS JOIN LATERAL (${inFull(placement, [['parent_span_id', 'NULL']])}) AS in_full
  ), measured AS (
    SELECT *, sum(bytes) OVER (PARTITION BY run_place) AS bytes_of_run
      FROM document WHERE place = 1 OR bytes_so_far <= $8
  ), together AS (
    SELECT *, sum(bytes) OVER (ORDER BY run_place) AS bytes_together
      FROM measured WHERE bytes_of_run <= $10
  ), step AS (
    SELECT run_place, place AS step_place, source, encode(span_id, 'hex') AS "spanId",
           encode(parent_span_id, 'hex') AS "parentSpanId", ${TEXTS},
           ${ORIGIN_COLUMNS[placement]},
           ${DOCUMENTS},
           dropped::float8, remote AS "hasRemoteParent", arrived_on::text AS "arrivedOn",
           place_stored::text AS "storedAt", stored::float8 AS stored, bytes::float8 AS bytes
      FROM together ${joinOrigin(placement, 'together')}
     WHERE run_place = (SELECT min(run_place) FROM begun) OR bytes_together <= $9
  )
  SELECT run_place::int - 1 AS place, NULL AS total, NULL AS "hasSteps", step.* FROM step
  UNION ALL
  SELECT run.run_place - 1, run.total, begun.run_place IS NOT NULL, run.run_place, NULL, NULL, NULL, NULL,
         NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM run LEFT JOIN begun ON begun.run_place = run.run_place
   ORDER BY place, step_place NULLS FIRST`;

const READ_STEPS = byPlacement(readingSteps);

/**
 * Reads the rows of runs and of their steps, run by run.
 *
 * @param values $1 to $8 are `parametersOf`, $9 and $10 the limits of all runs and of each, in bytes, $11
 *   how many rows the claim of each is for; of distributed runs also the parts of their claims ($12 to $15)
 */
export async function readStepRows(
  database: Database,
  placement: TelemetryPlacement,
  values: readonly unknown[],
): Promise<AnswerRow[]> {
  return (await database.query<AnswerRow>(READ_STEPS[placement], [...values])).rows;
}
