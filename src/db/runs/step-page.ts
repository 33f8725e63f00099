/**
 * Reads a page of a run's steps, in time order, for display. The page is found by the number of its
 * first step, or by a step that it must contain, in the run's tree (`run-tree.ts`), so only the rows of
 * the page are read. Steps above a size are cut in PostgreSQL, so that a page never exceeds its limits.
 */
import { compareInt64, type Hex8, type Int64 } from '../../model/json.ts';
import type { TreeStep } from '../../model/run-tree.ts';
import type { Step } from '../../model/steps.ts';
import type { Database } from '../database.ts';
import { byPlacement, placementOf, type TelemetryPlacement } from '../placement.ts';
import { parametersOf, type RunToRead, type StepLimits } from './run-to-read.ts';
import { DOCUMENTS_CUT, TEXTS_CUT } from './step-cut.ts';
import { inFull, joinOrigin, LOG_TIME, ORIGIN_COLUMNS, withOrigins } from './step-rows.ts';
import { type StepRow, toStep } from './to-step.ts';

export interface StepPageLimits extends Pick<StepLimits, 'bytesMax'> {
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

/** The step that a page must contain; members that are null or left out match any step. */
export interface SoughtStep {
  /** of several steps that match, the one with the nearest number counts */
  readonly number: number;
  readonly source?: Step['source'] | null;
  readonly startUnixNano?: Int64 | null;
  /** empty for a step without a span id */
  readonly spanId?: Hex8 | '' | null;
  /** UTC day */
  readonly arrivedOn?: string | null;
  /** number of steps before it with its source, start, span id and day of arrival */
  readonly twin?: number | null;
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
  /** spans of the run that were sent again, and are on no page */
  readonly repeats: number;
  /** rows are no longer where the tree has them: it must be read again */
  readonly isOutdated: boolean;
}

/** Deeper steps are shown at this depth. */
const DEPTH_MAX = 6;
/** A span is read for its kind only, which short attributes show. */
const OWNER_BYTES = 4096;

interface DocumentRow
  extends Omit<StepRow, 'source' | 'spanId' | 'parentSpanId' | 'start' | 'end' | 'arrivedOn'> {
  readonly number: number;
  readonly isOwner: boolean;
  readonly isCut: boolean;
  /** rows that were found, of this page or past its limits */
  readonly found: number;
}

const STRUCTURES = ['attributes', 'events', 'body']
  .map(
    (column) =>
      `coalesce(length(${column}::text) - length(translate(${column}::text, '{}[],:', '')), 0)`,
  )
  .join(' + ');

/**
 * $1 to $6 are as in `parametersOf`. kept: the rows to read. document: these in full; a place is used
 * again after its row was removed, so the row must be of this run and have the same start. LATERAL with
 * LIMIT as in `steps-statement.ts`.
 */
const readingDocuments = (placement: TelemetryPlacement): string => `
  WITH run AS (
    SELECT * FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[])
           AS t (workspace_id, run_id, first_on, last_on)
  ), kept AS (
    SELECT run.workspace_id, run.run_id, step.*
      FROM run CROSS JOIN unnest($9::int[], $10::text[], $11::tid[], $12::date[], $13::bigint[],
             $14::boolean[], $15::int[], $16::int[])
             AS step (place, source, place_stored, arrived_on, start, is_owner, cut_bytes, whole_bytes)
  ), document AS (
    SELECT *, CASE WHEN bytes <= cut_bytes THEN false WHEN bytes > whole_bytes THEN true
                   ELSE ${STRUCTURES} > $8::int END AS is_cut
      FROM kept CROSS JOIN LATERAL (${inFull(placement, [
        ['workspace_id AS of_workspace', 'workspace_id'],
        ['coalesce(run_id, trace_id) AS of_run', 'coalesce(run_id, trace_id)'],
        ['start_unix_nano AS begun', LOG_TIME],
      ])}) AS in_full
     WHERE of_workspace = workspace_id AND of_run = run_id AND begun = start
  ), measured AS (
    SELECT *, count(*) OVER ()::int AS found, sum(CASE WHEN is_cut THEN cut_bytes ELSE bytes END)
                OVER (ORDER BY is_owner, place) AS bytes_so_far FROM document
  )
  SELECT measured.place AS number, is_owner AS "isOwner", found, ${TEXTS_CUT},
         ${ORIGIN_COLUMNS[placement]},
         ${DOCUMENTS_CUT},
         dropped::float8, remote AS "hasRemoteParent", bytes::float8 AS bytes, is_cut AS "isCut"
    FROM measured ${joinOrigin(placement, 'measured')}
   WHERE is_owner OR measured.place = $17::int OR bytes_so_far <= $7
   ORDER BY is_owner, measured.place`;

const READ_DOCUMENTS = byPlacement(readingDocuments);

/** The number of the step that is sought; null when the run has none like it. */
function placeOf(tree: readonly TreeStep[], sought: SoughtStep): number | null {
  const { source = null, startUnixNano = null, spanId = null } = sought;
  const { twin = null, arrivedOn = null } = sought;
  let nearest: number | null = null;
  const distance = (number: number): number => Math.abs(number - sought.number);
  for (const step of tree) {
    const isLike =
      (source === null || step.source === source) &&
      (startUnixNano === null || step.startUnixNano === startUnixNano) &&
      (spanId === null || (step.spanId ?? '') === spanId) &&
      (twin === null || step.twin === twin) &&
      (arrivedOn === null || step.arrivedOn === arrivedOn);
    if (isLike && (nearest === null || distance(step.number) < distance(nearest))) {
      nearest = step.number;
    }
  }
  return nearest;
}

/** The first steps of those listed that fit by their stored bytes; the step `begin` in any case. */
function fitting(
  listed: readonly TreeStep[],
  begin: number,
  stepBytes: number,
  bytesMax: number,
): TreeStep[] {
  let bytes = 0;
  return listed.filter(({ number, stored }) => {
    bytes += Math.min(stored, stepBytes);
    return number === begin || bytes <= bytesMax;
  });
}

/** The first span of each id that the steps need. */
function spansOf(
  tree: readonly TreeStep[],
  needed: ReadonlySet<Hex8 | null>,
): Map<Hex8 | null, TreeStep> {
  const spans = new Map<Hex8 | null, TreeStep>();
  if (needed.size === 0) return spans;
  for (const step of tree) {
    const { source, spanId } = step;
    if (source !== 'span' || !needed.has(spanId) || spans.has(spanId)) continue;
    spans.set(spanId, step);
    if (spans.size === needed.size) break;
  }
  return spans;
}

const aboveOf = ({ source, spanId, parentSpanId }: TreeStep): Hex8 | null =>
  source === 'log' ? spanId : parentSpanId;

/** The spans above steps, at most `DEPTH_MAX` levels of them. */
function spansAbove(
  tree: readonly TreeStep[],
  page: readonly TreeStep[],
): Map<Hex8 | null, TreeStep> {
  const spans = new Map<Hex8 | null, TreeStep>();
  let level = page;
  for (let depth = 0; depth < DEPTH_MAX && level.length > 0; depth += 1) {
    const needed = new Set(level.map(aboveOf).filter((id) => id !== null && !spans.has(id)));
    const found = spansOf(tree, needed);
    for (const [id, span] of found) spans.set(id, span);
    level = [...found.values()];
  }
  return spans;
}

function depthOf(step: TreeStep, spans: ReadonlyMap<Hex8 | null, TreeStep>): number {
  let depth = 0;
  let above = spans.get(aboveOf(step));
  for (; above !== undefined && depth < DEPTH_MAX; depth += 1) above = spans.get(aboveOf(above));
  return depth;
}

type Extent = Pick<StepPage, 'startUnixNano' | 'endUnixNano' | 'repeats'>;

/** Of trees, which do not change: a search reads several pages of one. */
const EXTENTS = new WeakMap<readonly TreeStep[], Extent>();

function extentOf(tree: readonly TreeStep[]): Extent {
  const extent = EXTENTS.get(tree) ?? measureExtent(tree);
  EXTENTS.set(tree, extent);
  return extent;
}

/** The start of the first step, the latest end, and how many spans are left out. */
function measureExtent(tree: readonly TreeStep[]): Extent {
  let endUnixNano = tree[0]?.endUnixNano ?? '0';
  let repeats = 0;
  for (const step of tree) {
    repeats += step.repeats;
    if (compareInt64(step.endUnixNano, endUnixNano) > 0) endUnixNano = step.endUnixNano;
  }
  return { startUnixNano: tree[0]?.startUnixNano ?? '0', endUnixNano, repeats };
}

/** The spans of log records of a page that are not on it themselves, each once. */
function ownersOf(
  page: readonly TreeStep[],
  spans: ReadonlyMap<string | null, TreeStep>,
): readonly TreeStep[] {
  const shown = new Set(page.map(({ number }) => number));
  const owners = page.flatMap((step) => {
    const span = step.source === 'log' ? spans.get(step.spanId) : undefined;
    return span === undefined || shown.has(span.number) ? [] : [span];
  });
  return [...new Set(owners)];
}

/** Which steps of a run are read. */
export interface ChosenSteps {
  /** number of a step of the page, 1 if left out; after the last step, the last page is read */
  readonly from?: number;
  /**
   * a step whose page is read instead; `slice` reads the steps from `from` on, each of them whole if the
   * limits allow it, and none after the last step
   */
  readonly sought?: SoughtStep | 'slice' | null;
  /**
   * the steps to read instead of a page; those beside the one that is sought are read for their kinds,
   * tokens and names
   */
  readonly numbers?: readonly number[] | null;
}

/** A step to read, and how much of it. */
interface KeptStep {
  readonly step: TreeStep;
  /** read only for a log record on the page */
  readonly isOwner: boolean;
  /** a larger one is cut to so many bytes */
  readonly cut: number;
  readonly whole: number;
}

/**
 * A page of a run's steps. Pages have `pageSteps` steps, fewer only where they exceed `bytesMax`; the
 * first step of a page is read whatever its size.
 *
 * @param tree all steps of the run (`readTree`)
 */
export async function readStepPage(
  database: Database,
  run: RunToRead,
  tree: readonly TreeStep[],
  limits: StepPageLimits,
  { from = 1, sought = null, numbers = null }: ChosenSteps = {},
): Promise<StepPage> {
  const { pageSteps, cutBytes, ordinaryBytes, wholeBytes, structuresMax, bytesMax } = limits;
  const isSlice = sought === 'slice';
  const place = sought === null || isSlice ? null : placeOf(tree, sought);
  const opened = place ?? Math.min(from, Math.max(tree.length, 1));
  const inPage = Math.floor((opened - 1) / pageSteps) * pageSteps + 1;
  const begin = numbers !== null ? opened : isSlice ? from : inPage;
  const listed =
    numbers === null
      ? tree.slice(begin - 1, begin - 1 + pageSteps)
      : numbers.flatMap((number) => tree[number - 1] ?? []);
  const page = fitting(listed, begin, isSlice ? wholeBytes : ordinaryBytes, bytesMax);
  const whole = { count: tree.length, ...extentOf(tree) };
  if (page.length === 0) {
    return { ...whole, steps: [], owners: [], sought: null, isOutdated: false };
  }

  const spans = spansAbove(tree, page);
  const owners = ownersOf(page, spans);
  const kept = [
    ...page.map((step): KeptStep => {
      const isFull = numbers === null || step.number === place;
      const whole = isSlice || step.number === place ? wholeBytes : ordinaryBytes;
      return { step, isOwner: false, cut: isFull ? cutBytes : OWNER_BYTES, whole };
    }),
    ...owners.map(
      (step): KeptStep => ({ step, isOwner: true, cut: OWNER_BYTES, whole: OWNER_BYTES }),
    ),
  ];
  const read = await database.query<DocumentRow>(READ_DOCUMENTS[await placementOf(database)], [
    ...parametersOf([run], { stepsMax: 0, bytesMax: 0 }).slice(0, 6),
    bytesMax,
    structuresMax,
    kept.map(({ step }) => step.number),
    kept.map(({ step }) => step.source),
    kept.map(({ step }) => step.storedAt),
    kept.map(({ step }) => step.arrivedOn),
    kept.map(({ step }) => step.startUnixNano),
    kept.map(({ isOwner }) => isOwner),
    kept.map(({ cut }) => cut),
    kept.map(({ whole }) => whole),
    begin,
  ]);
  const rows = (await withOrigins(database, run.workspaceId, read.rows)).flatMap((row) => {
    const one = tree[row.number - 1];
    return one === undefined ? [] : [{ one, row, step: stepOf(one, row) }];
  });
  return {
    steps: rows.flatMap(({ one: { number, twin }, one, row: { isOwner, isCut }, step }) =>
      isOwner ? [] : [{ step, number, twin, depth: depthOf(one, spans), isCut }],
    ),
    owners: rows.flatMap(({ row, step }) => (row.isOwner ? [step] : [])),
    ...whole,
    sought: place,
    isOutdated: (read.rows[0]?.found ?? 0) < kept.length,
  };
}

function stepOf(
  { source, spanId, parentSpanId, startUnixNano, endUnixNano, arrivedOn }: TreeStep,
  row: DocumentRow,
): Step {
  const place = { source, spanId, parentSpanId, arrivedOn };
  return toStep({ ...row, ...place, start: startUnixNano, end: endUnixNano });
}
