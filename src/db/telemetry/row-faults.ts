/**
 * Which errors of PostgreSQL are the fault of the rows: the request is answered 400, and its sender
 * throws it away. Every other error is answered 503, and the request is sent again. So an error
 * belongs here only if the same rows can never be stored.
 *
 * | SQLSTATE | error | here |
 * |---|---|---|
 * | 22… | data exception: bad UTF-8, U+0000, a value out of range, a malformed COPY row | yes |
 * | 23502, 23505 | a required value is missing; a duplicate key | yes |
 * | 23503 | a referenced row is missing: the workspace was deleted meanwhile | yes |
 * | 23514 with a constraint | a check constraint refuses a value | yes |
 * | 23514 without one | no partition takes the row's day | no: it is created again |
 * | 54… | program limit exceeded: a value too long for an index | yes |
 * | all others | the server's state, its schema, its connection | no |
 */
import { isDataError } from '../../observe/error-facts.ts';
import type { TelemetryPlacement } from '../placement.ts';

const CHECK_VIOLATION = '23514';
const INTERNAL_ERROR = 'XX000';

/** Checks whether a row was refused because its day has no partition. */
function isMissingPartition(error: unknown): boolean {
  if (!(error instanceof Error) || Reflect.get(error, 'code') !== CHECK_VIOLATION) return false;
  return Reflect.get(error, 'constraint') === undefined;
}

/**
 * Checks whether a row may have been refused because its day has no partition. Citus passes on what a worker
 * says about a COPY, in the worker's language, but not its SQLSTATE.
 */
export function mayMissPartition(error: unknown, placement: TelemetryPlacement): boolean {
  if (isMissingPartition(error)) return true;
  if (placement === 'local' || !(error instanceof Error)) return false;
  return Reflect.get(error, 'code') === INTERNAL_ERROR;
}

/** Checks whether PostgreSQL can never store these rows. */
export function isRowFault(error: unknown): boolean {
  return isDataError(error) && !isMissingPartition(error);
}
