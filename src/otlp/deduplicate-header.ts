/**
 * The request header by which a sender says that one request is not to be compared with earlier ones:
 * its records have neither ids nor times, so an equal body is not a resend
 * (docs/decisions/0007-stored-once.md).
 */
import { SluiceError } from '../errors.ts';

export const DEDUPLICATE_HEADER = 'sluice-deduplicate';
export const DEDUPLICATE_VALUES = ['on', 'off'] as const;

/**
 * Checks whether a request is stored once.
 *
 * @param value of the header; empty or undefined without one
 * @throws {SluiceError} `bad_request` for anything but `on` and `off`
 */
export function readDeduplicate(value: string | undefined): boolean {
  const text = value?.trim().toLowerCase() ?? '';
  if (text === 'off') return false;
  if (text === '' || text === 'on') return true;
  throw new SluiceError('bad_request', 'Sluice-Deduplicate must be on or off.');
}
