/**
 * Reads runs that are short together, which nearly all are: every row is found, measured and sent in
 * one go. The statement for any run (steps-statement.ts) finds narrow rows first and their documents
 * afterwards, which takes PostgreSQL two to three times as long.
 *
 * What is not short is noticed before its documents are read; nothing of the runs is read then.
 */
import pg from 'pg';

import type { Database } from '../database.ts';
import { partOf } from './late-steps.ts';
import { IN_TIME, joinOrigin, ORIGIN_COLUMNS, UNPACKED_BYTES, wholeRows } from './step-rows.ts';
import type { PlacedStepRow, StepRow } from './to-step.ts';

/** A run with more steps is not short: its rows would be sorted with their documents. */
const SHORT_STEPS_MAX = 2000;
/** What a step counts for beside its texts, so that the number of rows has a limit too. */
const ROW_BYTES = 512;

/**
 * found: every step of the runs, unless they have many. The condition at the end adds up what they have
 * stored, which needs no document, and only if that fits, what they hold: so a document that is
 * compressed is not decompressed before. It has no rows when the runs are not short together.
 */
const READ_SHORT = `
  WITH found AS MATERIALIZED (
    SELECT run_place, total, step.*
      FROM (SELECT t.*, coalesce(t.claimed, r.spans + r.repeated_spans + r.log_records) AS total, ${partOf('t.claimed')}
              FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[], $9::int[]) WITH ORDINALITY
                   AS t (workspace_id, run_id, first_on, last_on, claimed, run_place)
              JOIN runs AS r ON r.workspace_id = t.workspace_id AND r.run_id = t.run_id) AS run
      LEFT JOIN LATERAL (${wholeRows()}) AS step ON run.total <= $7
  )
  SELECT run_place::int - 1 AS place, total,
         CASE WHEN packed THEN ${UNPACKED_BYTES} ELSE stored END AS bytes,
         source, encode(span_id, 'hex') AS "spanId", encode(parent_span_id, 'hex') AS "parentSpanId",
         name, start, "end", status_code AS "statusCode", status_message AS "statusMessage",
         ${ORIGIN_COLUMNS.local}, attributes, events, body,
         dropped::float8, remote AS "hasRemoteParent", arrived_on::text AS "arrivedOn",
         place_stored::text AS "storedAt", stored::float8 AS stored
    FROM found ${joinOrigin('local', 'found')}
   WHERE CASE
     WHEN (SELECT max(total) <= $7 AND coalesce(sum(stored + ${ROW_BYTES}), 0) <= $8 FROM found)
     THEN (SELECT coalesce(sum(CASE WHEN packed THEN ${UNPACKED_BYTES} ELSE stored END), 0) <= $8
             FROM found)
   END
   ORDER BY run_place, ${IN_TIME}`;

/**
 * Leaves documents as text. They are parsed run by run, so that what one run needs is garbage before the
 * next one is read: of all runs together, the collector would copy it again and again.
 */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pg.types.builtins.JSON ? (text: string) => text : pg.types.getTypeParser(oid, format),
};
const parsed = (text: string | null) => (text === null ? null : JSON.parse(text));

type Document = 'attributes' | 'events' | 'body';
export interface ShortRow
  extends Omit<PlacedStepRow, 'source' | Document>,
    Record<Document, string | null> {
  readonly total: number;
  /** null for a run without steps */
  readonly source: StepRow['source'] | null;
}

export interface ShortRun {
  /** how many steps are stored; 0 for a run that retention has removed */
  total: number;
  bytes: number;
  readonly rows: ShortRow[];
}

/**
 * @param parameters `parametersOf` the runs, with the least of their limits in bytes
 * @param claimed how many rows the claim of each is for
 * @returns null when they are not short together
 */
export async function readShortRuns(
  database: Database,
  parameters: readonly unknown[],
  claimed: readonly (number | null)[],
): Promise<readonly ShortRun[] | null> {
  const [stepsMax, bytesMax] = parameters.slice(-2);
  const { rows } = await database.query<ShortRow>({
    text: READ_SHORT,
    values: [
      ...parameters.slice(0, -2),
      Math.min(Number(stepsMax), SHORT_STEPS_MAX),
      bytesMax,
      claimed,
    ],
    types: TYPES,
  });
  if (rows.length === 0) return null;
  const runs = claimed.map((): ShortRun => ({ total: 0, bytes: 0, rows: [] }));
  for (const row of rows) {
    const run = runs[row.place];
    if (run === undefined) throw new RangeError('a run that was not asked for');
    run.total = row.total;
    if (row.source === null) continue;
    run.bytes += row.bytes;
    run.rows.push(row);
  }
  return runs;
}

/** A row with its documents parsed. */
export function parseRow(row: ShortRow): StepRow {
  const { source, attributes, events, body } = row;
  if (source === null) throw new RangeError('not the row of a step');
  return {
    ...row,
    source,
    attributes: parsed(attributes),
    events: parsed(events),
    body: parsed(body),
  };
}
