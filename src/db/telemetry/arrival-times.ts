/**
 * Compares the moments by which requests were dated with the time of the transaction that stores them.
 * They differ when the machine slept, or PostgreSQL's clock was set, since the process last read it
 * (`database-clock.ts`). Rows of an old day would be looked for on another one, and dropped too early;
 * a receipt of an old period would not be found.
 */
import { RECEIPT_KEPT_MS } from './receipts.ts';

/**
 * How long after its arrival a request may be stored on the day of its arrival, when another one has
 * begun: longer than requests wait for a batch and its transaction.
 */
export const ARRIVAL_DIFFERENCE_MAX_MS = 120_000;

/** Hours since 1970. Days and the periods of receipts begin with an hour. */
export const hourOf = (atMs: number): number => Math.floor(atMs / RECEIPT_KEPT_MS);

/** Checks whether a request's day or period differs from its transaction's. */
export function isMisdated(arrivedAtMs: number, nowMs: number): boolean {
  return (
    hourOf(arrivedAtMs) !== hourOf(nowMs) &&
    Math.abs(nowMs - arrivedAtMs) > ARRIVAL_DIFFERENCE_MAX_MS
  );
}

/** Some requests of a batch are misdated; nothing of the batch is stored. */
export class MisdatedError extends Error {
  override name = 'MisdatedError';
  /** of the transaction, in milliseconds since 1970 */
  readonly nowMs: number;

  constructor(nowMs: number) {
    super("PostgreSQL's clock has jumped since the request arrived, or the machine has slept.");
    this.nowMs = nowMs;
  }
}
