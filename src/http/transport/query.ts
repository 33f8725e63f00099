/** Query strings and path parameters, checked with zod; one 400 lists all faults. */
import { z } from 'zod';

import type { PageCursor } from '../../model/runs.ts';
import { InvalidInput, parseInput } from './invalid-input.ts';

/** The C0 controls and DEL: never valid in a parameter, and PostgreSQL's text type rejects NUL. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROL = /[\x00-\x1f\x7f]/;
/** The same, percent-encoded. */
const ENCODED_CONTROL = /%(?:[01][0-9a-f]|7f)|\x7f/i;

/**
 * Refuses control characters in the query and path parameters of a request.
 *
 * @param parameters decoded path parameters
 * @throws {InvalidInput} naming every parameter that contains one
 */
export function checkControls(query: string, parameters: Readonly<Record<string, string>>): void {
  const given = Object.entries(parameters);
  // The query is decoded only if it contains an encoded control character.
  if (ENCODED_CONTROL.test(query)) given.push(...new URLSearchParams(query));
  const faults = given
    .filter(([name, value]) => CONTROL.test(value) || CONTROL.test(name))
    .map(([path]) => ({ path, message: 'must not contain control characters' }));
  if (faults.length > 0) throw new InvalidInput('bad_query', faults);
}

/**
 * Parses a query string. Unknown parameters are ignored, an empty value counts as absent, of a
 * repeated parameter the last value counts.
 *
 * @throws {InvalidInput}
 */
export function parseQuery<Shape extends z.ZodType>(schema: Shape, query: string): z.infer<Shape> {
  const values: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) if (value !== '') values[name] = value;
  return parseInput(schema, values, 'bad_query');
}

/** A whole number within a range, with a default. */
export function wholeNumber(min: number, max: number, fallback: number) {
  return z.coerce.number().int().min(min).max(max).default(fallback);
}

/** A yes or no. */
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** A moment: an ISO 8601 date, or date and time with an offset. */
export const moment = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], {
    error: 'must be an ISO 8601 date, or date and time with offset',
  })
  .transform((text) => new Date(text));

/** A time before now, as `24h` or `7d`. */
const AGO = /^([1-9]\d{0,3})([mhd])$/;
const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A moment, or a time before now. */
export type MomentOrAgo = Date | { readonly agoMs: number };

/** A moment, or a time before now in minutes, hours or days: `30m`, `24h`, `7d`. */
export const momentOrAgo = z
  .union([z.iso.datetime({ offset: true }), z.iso.date(), z.string().regex(AGO)], {
    error:
      'must be an ISO 8601 date, date and time with offset, or a time before now such as 24h or 7d',
  })
  .transform((text): MomentOrAgo => {
    const [, number, unit] = AGO.exec(text) ?? [];
    if (number === undefined) return new Date(text);
    return { agoMs: Number(number) * UNIT_MS[unit as keyof typeof UNIT_MS] };
  });

export function toDate(moment: MomentOrAgo | undefined, nowMs: number): Date | undefined {
  if (moment === undefined || moment instanceof Date) return moment;
  return new Date(nowMs - moment.agoMs);
}

/** The id of a run or finding. */
export const HEX_16 = /^[0-9a-f]{32}$/;

/** The id of a run or finding as a query parameter. */
export const hexId = z.string().toLowerCase().regex(HEX_16, 'must be 32 hexadecimal digits');

/** The id in a path, as 32 lower-case digits or as a UUID with dashes; null if it is neither. */
export function idOf(parameter = ''): string | null {
  const id = parameter.toLowerCase().replaceAll('-', '');
  return HEX_16.test(id) ? id : null;
}
/**
 * Sixteen digits of microseconds reach the year 2286; more would exceed PostgreSQL's limits.
 */
const CURSOR = /^(\d{1,16})\.([0-9a-f]{32})$/;

/** Parses a `next_cursor`. */
export const pageCursor = z.string().transform((text, context): PageCursor => {
  const match = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1'));
  if (match?.[1] !== undefined && match[2] !== undefined) {
    return { atMicros: match[1], id: match[2] };
  }
  context.addIssue({ code: 'custom', message: 'must be a next_cursor of this list' });
  return z.NEVER;
});

/** The value of `next_cursor`; null at the end of the list. */
export function toCursor(next: PageCursor | null): string | null {
  return next === null ? null : Buffer.from(`${next.atMicros}.${next.id}`).toString('base64url');
}
