/**
 * Reads the steps of a run for its tree and its pages: all of them, without names and documents, with
 * their numbers and with where their rows are.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TreeStep } from '../../model/run-tree.ts';
import { type Numbered, numberSteps } from '../../model/step-order.ts';
import type { Database } from '../database.ts';
import { byPlacement, placementOf, type TelemetryPlacement } from '../placement.ts';
import { findRepeats } from './repeated-spans.ts';
import { parametersOf, type RunToRead } from './run-to-read.ts';
import { IN_TIME, narrowRows } from './step-rows.ts';

/** OTLP's STATUS_CODE_ERROR. */
const STATUS_ERROR = 2;

/** Steps that are parsed in one turn of the event loop. */
const PIECE_STEPS = 4_000;

/**
 * $1 to $7 are `parametersOf`. All steps are one text, a line each, of values without spaces: a row for each of
 * 20,000 steps would take twice the time here.
 */
const readingTree = (placement: TelemetryPlacement): string => `
  WITH run AS (
    SELECT * FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[])
           AS t (workspace_id, run_id, first_on, last_on)
  )
  SELECT string_agg(concat_ws(' ', source, coalesce(encode(span_id, 'hex'), '-'),
           coalesce(encode(parent_span_id, 'hex'), '-'), start, "end", arrived_on, is_error, name_key,
           stored, place_stored), E'\n') AS lines
    FROM (SELECT step.* FROM run CROSS JOIN LATERAL (
      ${narrowRows(
        placement,
        `parent_span_id, status_code = ${STATUS_ERROR} AS is_error, hashtext(name) AS name_key,`,
        "NULL AS parent_span_id, false, hashtext(coalesce(event_name, '')),",
      )}
    ) AS step ORDER BY ${IN_TIME}) AS step`;

const READ_TREE = byPlacement(readingTree);

const idOf = (value: string): string | null => (value === '-' ? null : value);

/** Reads the values of a line from left to right, without a list of them. */
class LineReader {
  #line = '';
  #at = 0;

  begin(line: string): void {
    this.#line = line;
    this.#at = 0;
  }

  next(): string {
    const end = this.#line.indexOf(' ', this.#at);
    const value = this.#line.slice(this.#at, end === -1 ? undefined : end);
    this.#at = end + 1;
    return value;
  }
}

/** where its row is in the table of its day, instead of its record's address */
type PlacedTreeStep = Omit<TreeStep, 'blockId' | 'ordinal'> & { readonly storedAt: string };
type ReadStep = PlacedTreeStep & Numbered & { repeats: number };

/** A step whose numbers are still to be set. */
function readStep(line: LineReader): ReadStep {
  return {
    number: 0,
    twin: 0,
    source: line.next() === 'log' ? 'log' : 'span',
    spanId: idOf(line.next()),
    parentSpanId: idOf(line.next()),
    startUnixNano: line.next(),
    endUnixNano: line.next(),
    arrivedOn: line.next(),
    isError: line.next() === 't',
    nameKey: Number(line.next()),
    stored: Number(line.next()),
    storedAt: line.next(),
    repeats: 0,
  };
}

/**
 * The first steps of a run in time order, with the numbers of its pages (`readStepPage`).
 *
 * @param stepsMax most of them
 */
export async function readTree(
  database: Database,
  run: RunToRead,
  stepsMax: number,
): Promise<PlacedTreeStep[]> {
  const parameters = parametersOf([run], { stepsMax, bytesMax: 0 }).slice(0, -1);
  const statement = READ_TREE[await placementOf(database)];
  const { rows } = await database.query<{ lines: string | null }>(statement, parameters);
  const lines = rows[0]?.lines?.split('\n') ?? [];
  const reader = new LineReader();
  const steps: ReadStep[] = [];
  for (let from = 0; from < lines.length; from += PIECE_STEPS) {
    if (from > 0) await nextTurn();
    for (const line of lines.slice(from, from + PIECE_STEPS)) {
      reader.begin(line);
      steps.push(readStep(reader));
    }
  }
  if (lines.length > PIECE_STEPS) await nextTurn();
  const repeats = await findRepeats(database, parameters, steps, (step) => step);
  if (repeats.size === 0) return numberSteps(steps);
  await nextTurn();
  return numberSteps(withoutRepeats(steps, repeats));
}

/** The steps without repeats, which the first span of their id and times counts. */
function withoutRepeats(steps: readonly ReadStep[], repeats: ReadonlyMap<ReadStep, ReadStep>) {
  for (const first of repeats.values()) first.repeats += 1;
  return steps.filter((step) => !repeats.has(step));
}
