/**
 * Reads a page of a run's steps, in time order, for display. The page is found by the number of its
 * first step, or by a step that it must contain. Steps above a size are cut in PostgreSQL, so that a
 * page never exceeds its limits.
 */
import type { Hex8, Int64 } from '../../model/json.ts';
import { LEVELS_MAX } from '../../model/step-order.ts';
import type { Step } from '../../model/steps.ts';
import type { Database } from '../database.ts';
import { placementOf, type TelemetryPlacement } from '../placement.ts';
import { DOCUMENTS_CUT, TEXTS_CUT } from './step-cut.ts';
import {
  AT_ONE_TIME,
  IN_TIME,
  inFull,
  joinOrigin,
  narrowRows,
  ORIGIN_COLUMNS,
  withOrigins,
} from './step-rows.ts';
import { parametersOf, type RunToRead, type StepLimits, type StepRow, toStep } from './steps.ts';

export interface StepPageLimits extends StepLimits {
  /** most steps of a page */
  readonly pageSteps: number;
  /** a larger step is cut to this size */
  readonly cutBytes: number;
  /** a step is read whole up to this size, unless it has too many structures */
  readonly ordinaryBytes: number;
  /** the same for the step that is sought */
  readonly wholeBytes: number;
  /** most brackets, commas and colons of a step that is read whole; in texts they count, too */
  readonly structuresMax: number;
}

/** The step that a page must contain; members that are null match any step. */
export interface SoughtStep {
  /** of several steps that match, the one with the nearest number counts */
  readonly number: number;
  readonly source: Step['source'] | null;
  readonly startUnixNano: Int64 | null;
  /** empty for a step without a span id */
  readonly spanId: Hex8 | '' | null;
  /** UTC day */
  readonly arrivedOn: string | null;
  /** number of steps before it with its source, start, span id and day of arrival */
  readonly twin: number | null;
}

export interface PagedStep {
  readonly step: Step;
  /** in the order of `numberSteps`, from 1 */
  readonly number: number;
  /** number of steps of the run before it with its source, start, span id and day of arrival */
  readonly twin: number;
  /** spans of the run above it, at most `DEPTH_MAX` */
  readonly depth: number;
  /** the step is too large to be read whole */
  readonly isCut: boolean;
}

export interface StepPage {
  readonly steps: readonly PagedStep[];
  /** spans on other pages to which log records of this page belong; a record's kind is its span's */
  readonly owners: readonly Step[];
  /** number of steps on all pages */
  readonly count: number;
  /** number of the step that was sought; null when none was, or the run has none like it */
  readonly sought: number | null;
  /** of all steps, not only of this page */
  readonly startUnixNano: Int64;
  readonly endUnixNano: Int64;
}

/** Deeper steps are shown at this depth. */
const DEPTH_MAX = 6;
/** A span is read for its kind only, which short attributes show. */
const OWNER_BYTES = 4096;

interface PageRow extends StepRow {
  readonly number: number;
  readonly twin: number;
  readonly depth: number | null;
  readonly isOwner: boolean;
  readonly isCut: boolean;
  readonly count: number;
  readonly sought: number | null;
  readonly firstStart: Int64;
  readonly lastEnd: Int64;
}

const STRUCTURES = ['attributes', 'events', 'body']
  .map(
    (column) =>
      `coalesce(length(${column}::text) - length(translate(${column}::text, '{}[],:', '')), 0)`,
  )
  .join(' + ');

/**
 * $1 to $8 are `parametersOf`. read: the steps of the run, without their documents. level: how many
 * steps with the same start are above a step that has any beside it; looked up in one value, because the
 * planner, which does not know how many there are, might compare every step with every other. narrow: the steps with their
 * numbers, which are those of `numberSteps`. page: the page's, as many as fit by their stored bytes.
 * owner: see `StepPage.owners`; without a log record on the page, spans are not looked through. above: the way from each step of the page to the top. document: the
 * rows in full. LATERAL with LIMIT as in `steps.ts`.
 */
export const numberedSteps = (placement: TelemetryPlacement, span = '', log = ''): string => `
  WITH RECURSIVE run AS (
    SELECT * FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[])
           AS t (workspace_id, run_id, first_on, last_on)
  ), read AS MATERIALIZED (
    SELECT run.workspace_id, step.*, row_number() OVER (ORDER BY ${IN_TIME})::int AS id,
           count(*) OVER (PARTITION BY start) > 1 AS is_tied
      FROM run CROSS JOIN LATERAL (
      ${narrowRows(placement, `${span} parent_span_id,`, `${log} NULL AS parent_span_id,`)}
    ) AS step
  ), tied AS (
    SELECT jsonb_object_agg(start || encode(span_id, 'hex'), parent ORDER BY parent DESC) AS parents
      FROM (SELECT *, coalesce(encode(parent_span_id, 'hex'), '') AS parent FROM read) AS span
     WHERE is_tied AND source = 'span'
  ), level AS (
    SELECT id, start, 0 AS level,
           encode(CASE source WHEN 'log' THEN span_id ELSE parent_span_id END, 'hex') AS above
      FROM read WHERE is_tied
    UNION ALL
    SELECT id, start, level + 1, parent FROM level CROSS JOIN LATERAL (
      SELECT (SELECT parents FROM tied) ->> (start || above) AS parent OFFSET 0
    ) AS next WHERE level < ${LEVELS_MAX} AND parent IS NOT NULL
  ), levels AS (
    SELECT jsonb_object_agg(id, level) AS by_id
      FROM (SELECT id, max(level) AS level FROM level WHERE level > 0 GROUP BY id) AS highest
  ), numbered AS (
    SELECT *, row_number() OVER (
             ORDER BY start, CASE WHEN is_tied
               THEN coalesce(((SELECT by_id FROM levels) ->> id::text)::int, 0) END, ${AT_ONE_TIME})::int AS place
      FROM read
  ), narrow AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY start, source, span_id, arrived_on ORDER BY place)::int - 1
             AS twin FROM numbered
  )`;

const readingPage = (
  placement: TelemetryPlacement,
): string => `${numberedSteps(placement)}, whole AS (
    SELECT count(*)::int AS count, min(start) AS first_start, max("end") AS last_end FROM narrow
  ), sought AS (
    SELECT place FROM narrow
     WHERE $10::int IS NOT NULL AND ($11::text IS NULL OR source = $11)
       AND ($12::bigint IS NULL OR start = $12)
       AND ($13::text IS NULL OR span_id IS NOT DISTINCT FROM decode(nullif($13, ''), 'hex'))
       AND ($19::int IS NULL OR twin = $19) AND ($20::date IS NULL OR arrived_on = $20)
     ORDER BY abs(place - $10), place LIMIT 1
  ), begin AS (
    SELECT (coalesce((SELECT place FROM sought), least($9::int, greatest(count, 1))) - 1)
             / $14::int * $14::int + 1 AS place FROM whole WHERE NOT $18::boolean AND $22::int[] IS NULL
    UNION ALL SELECT $10::int WHERE $22::int[] IS NOT NULL
    UNION ALL SELECT $9::int WHERE $18::boolean
  ), listed AS (
    SELECT *, sum(least(stored, CASE WHEN $18::boolean THEN $16::int ELSE $21::int END)) OVER (ORDER BY place) AS stored_so_far FROM narrow
     WHERE CASE WHEN $22::int[] IS NOT NULL THEN place = ANY ($22::int[])
                ELSE place BETWEEN (SELECT place FROM begin)
                               AND (SELECT place FROM begin) + $14::int - 1 END
  ), page AS (
    SELECT * FROM listed WHERE place = (SELECT place FROM begin) OR stored_so_far <= $8
  ), span AS MATERIALIZED (
    SELECT DISTINCT ON (span_id) * FROM narrow WHERE source = 'span' ORDER BY span_id, place
  ), owner AS (
    SELECT * FROM span
     WHERE (SELECT bool_or(source = 'log') FROM page)
       AND span_id IN (SELECT span_id FROM page WHERE source = 'log')
       AND place NOT IN (SELECT place FROM page)
  ), above AS (
    SELECT place, CASE source WHEN 'log' THEN span_id ELSE parent_span_id END AS span_id, 0 AS depth
      FROM page
    UNION ALL
    SELECT above.place, span.parent_span_id, depth + 1
      FROM above JOIN span ON span.span_id = above.span_id WHERE depth < ${DEPTH_MAX}
  ), deep AS (
    SELECT place, max(depth) AS depth FROM above GROUP BY place
  ), kept AS (
    SELECT page.*, false AS is_owner,
           CASE WHEN $22::int[] IS NULL OR place = (SELECT place FROM sought) THEN $15::int
                ELSE ${OWNER_BYTES} END AS cut_bytes,
           CASE WHEN $18::boolean OR place = (SELECT place FROM sought) THEN $16::int
                ELSE $21::int END AS whole_bytes
      FROM page
    UNION ALL
    SELECT *, 0, true, ${OWNER_BYTES}, ${OWNER_BYTES} FROM owner
  ), document AS (
    SELECT *, CASE WHEN bytes <= cut_bytes THEN false WHEN bytes > whole_bytes THEN true
                   ELSE ${STRUCTURES} > $17::int END AS is_cut
      FROM kept CROSS JOIN LATERAL (${inFull(placement)}) AS in_full
  ), measured AS (
    SELECT *, sum(CASE WHEN is_cut THEN cut_bytes ELSE bytes END)
                OVER (ORDER BY is_owner, place) AS bytes_so_far FROM document
  )
  SELECT measured.place AS number, twin, deep.depth, is_owner AS "isOwner", source,
         encode(span_id, 'hex') AS "spanId",
         encode(parent_span_id, 'hex') AS "parentSpanId", ${TEXTS_CUT},
         ${ORIGIN_COLUMNS[placement]},
         ${DOCUMENTS_CUT},
         dropped::float8, remote AS "hasRemoteParent", arrived_on::text AS "arrivedOn",
         bytes::float8 AS bytes, is_cut AS "isCut",
         whole.count, (SELECT place FROM sought) AS sought, first_start AS "firstStart",
         last_end AS "lastEnd"
    FROM whole CROSS JOIN measured ${joinOrigin(placement, 'measured')} LEFT JOIN deep ON deep.place = measured.place AND NOT is_owner
   WHERE is_owner OR measured.place = (SELECT place FROM begin) OR bytes_so_far <= $8
   ORDER BY is_owner, measured.place`;

const READ_PAGE: Readonly<Record<TelemetryPlacement, string>> = {
  local: readingPage('local'),
  distributed: readingPage('distributed'),
};

const NO_STEPS: StepPage = {
  steps: [],
  owners: [],
  count: 0,
  sought: null,
  startUnixNano: '0',
  endUnixNano: '0',
};

/**
 * A page of a run's steps. Pages have `pageSteps` steps, fewer only where they exceed `bytesMax`; the
 * first step of a page is read whatever its size.
 *
 * @param from number of a step of the page; after the last step, the last page is read
 * @param sought null to read the page of `from`; `slice` to read the steps from `from` on, each of
 *   them whole if the limits allow it, and none after the last step
 * @param numbers the steps to read instead of a page; those beside the one that is sought are read for
 *   their kinds, tokens and names
 */
export async function readStepPage(
  database: Database,
  run: RunToRead,
  { pageSteps, cutBytes, ordinaryBytes, wholeBytes, structuresMax, ...limits }: StepPageLimits,
  from = 1,
  sought: SoughtStep | 'slice' | null = null,
  numbers: readonly number[] | null = null,
): Promise<StepPage> {
  const step = sought === 'slice' ? null : sought;
  const read = await database.query<PageRow>(READ_PAGE[await placementOf(database)], [
    ...parametersOf([run], limits),
    from,
    step?.number ?? null,
    step?.source ?? null,
    step?.startUnixNano ?? null,
    step?.spanId ?? null,
    pageSteps,
    cutBytes,
    wholeBytes,
    structuresMax,
    sought === 'slice',
    step?.twin ?? null,
    step?.arrivedOn ?? null,
    ordinaryBytes,
    numbers,
  ]);
  const rows = await withOrigins(database, run.workspaceId, read.rows);
  const [first] = rows;
  if (first === undefined) return NO_STEPS;
  return {
    steps: rows.flatMap((row) => {
      const { isOwner, number, twin, depth, isCut } = row;
      return isOwner ? [] : [{ step: toStep(row), number, twin, depth: depth ?? 0, isCut }];
    }),
    owners: rows.flatMap((row) => (row.isOwner ? [toStep(row)] : [])),
    count: first.count,
    sought: first.sought,
    startUnixNano: first.firstStart,
    endUnixNano: first.lastEnd,
  };
}
