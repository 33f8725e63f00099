/**
 * Finds stored spans that repeat another one of their run (src/model/repeated-spans.ts). Readers know
 * places before contents: only spans that share an id and a start are read for it, as digests.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

import { SPAN_COLUMNS } from '../../model/columns.ts';
import { possibleRepeats, SentSpans, type UnreadStep } from '../../model/repeated-spans.ts';
import type { Database } from '../database.ts';
import { byPlacement, placementOf, type TelemetryPlacement } from '../placement.ts';
import { atPlace } from './step-rows.ts';

/**
 * Most stored bytes of spans that are read to find repeats. Spans beyond it count separately. As
 * much as one evaluation reads; PostgreSQL takes a second for half of it (2 cores, 2026-11).
 */
export const REPEATS_BYTES_MAX = 64 * 1024 * 1024;

/** Digests that are compared in one turn of the event loop. */
const PIECE_SPANS = 2_000;

/** A step's place in its table, and the bytes that it has there. */
export interface PlacedStep extends UnreadStep {
  /** tells the steps of several runs apart */
  readonly run?: number;
  readonly arrivedOn: string;
  readonly storedAt: string;
  readonly stored: number;
}

/** The columns that a sender fills, with the ids of resource and scope, which are digests. */
const SENT = Object.entries(SPAN_COLUMNS)
  .filter(([, column]) => column.length > 2)
  .map(([name]) => name);

/**
 * A digest of a span's content. It is cryptographic, so that no sender can hide a span behind another one.
 */
export const SPAN_CONTENT = `encode(sha256(convert_to(ROW(${SENT.join(', ')})::text, 'UTF8')), 'base64')`;

/**
 * $1 to $6 are as in `parametersOf`, $7 to $9 the spans. All digests are one text, as in
 * `run-tree.ts`.
 */
const readingDigests = (placement: TelemetryPlacement): string => `
  WITH run AS (
    SELECT * FROM unnest($1::int[], $2::uuid[], $3::date[], $4::date[])
  ), kept AS (
    SELECT * FROM unnest($7::int[], $8::tid[], $9::date[]) AS t (place, place_stored, arrived_on)
  )
  SELECT string_agg(concat_ws(' ', place, trace_id, content), ';' ORDER BY place) AS lines
    FROM kept CROSS JOIN LATERAL (
      SELECT trace_id, ${SPAN_CONTENT} AS content
        FROM spans WHERE ${atPlace(placement, 'spans')} LIMIT 1
    ) AS span`;

const READ_DIGESTS = byPlacement(readingDigests);

/** The first spans that fit. */
function fitting<S>(spans: readonly S[], read: (step: S) => PlacedStep): S[] {
  let bytes = 0;
  return spans.filter((span) => {
    bytes += read(span).stored;
    return bytes <= REPEATS_BYTES_MAX;
  });
}

/**
 * @param parameters $1 to $6 of the statement that read the steps; distributed ones are on one shard
 * @param steps of each run in the order of `IN_TIME`, so that the first of equal spans arrived first
 * @returns those that repeat an earlier one, with the first of their kind
 */
export async function findRepeats<S>(
  database: Database,
  parameters: readonly unknown[],
  steps: readonly S[],
  read: (step: S) => PlacedStep,
): Promise<ReadonlyMap<S, S>> {
  const repeats = new Map<S, S>();
  const spans = fitting(possibleRepeats(steps, read), read);
  if (spans.length === 0) return repeats;
  const places = spans.map(read);
  const { rows } = await database.query<{ lines: string | null }>(
    READ_DIGESTS[await placementOf(database)],
    [
      ...parameters.slice(0, 6),
      places.map((_, index) => index),
      places.map(({ storedAt }) => storedAt),
      places.map(({ arrivedOn }) => arrivedOn),
    ],
  );
  const sent = new SentSpans<S>();
  // A row that retention has removed meanwhile, or that the replica has not got yet, has no line.
  const lines = rows[0]?.lines?.split(';') ?? [];
  for (const [at, line] of lines.entries()) {
    if (at > 0 && at % PIECE_SPANS === 0) await nextTurn();
    const [index, traceId = '', content] = line.split(' ');
    const span = spans[Number(index)];
    const { spanId, run } = places[Number(index)] ?? {};
    if (span === undefined || !spanId) continue;
    const first = sent.repeatedBy(span, traceId, spanId, `${content} ${run}`);
    if (first !== null) repeats.set(span, first);
  }
  return repeats;
}
