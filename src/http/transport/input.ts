/** Input of clients, checked with zod: queries, parameters of paths, forms and JSON. One 400 lists all faults. */
import { z } from 'zod';
import { SluiceError } from '../../errors.ts';
import type { PageCursor } from '../../model/runs.ts';
import type { BodyOf, queryProblem } from '../api/openapi/component.ts';
import type { BodyLimits, Exchange } from './exchange.ts';

/** One fault: the path of a parameter or field, and what is wrong with it. */
type InputFault = BodyOf<typeof queryProblem>['errors'][number];

const MESSAGES = {
  bad_path: 'The path is invalid.',
  bad_query: 'One or more query parameters are invalid.',
  bad_body: 'The body does not have the form that is needed here.',
};

export class InvalidInput extends SluiceError {
  readonly faults: readonly InputFault[];

  constructor(code: keyof typeof MESSAGES, faults: readonly InputFault[]) {
    super(code, MESSAGES[code]);
    this.faults = faults;
  }
}

export function parseInput<Shape extends z.ZodType>(
  schema: Shape,
  value: unknown,
  code: keyof typeof MESSAGES,
  found: readonly InputFault[] = [],
): z.infer<Shape> {
  const result = schema.safeParse(value);
  if (result.success && found.length === 0) return result.data;
  const issues = result.success ? [] : result.error.issues;
  const faults = issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  throw new InvalidInput(code, [...found, ...faults]);
}

/** The C0 controls and DEL: never valid in a parameter, and PostgreSQL's text type rejects NUL. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROL = /[\x00-\x1f\x7f]/;
/** The same, percent-encoded. */
const ENCODED_CONTROL = /%(?:[01][0-9a-f]|7f)|\x7f/i;

/** @throws {InvalidInput} naming every parameter that contains one; the path's, if there are any */
export function checkControls(query: string, parameters: Readonly<Record<string, string>>): void {
  refuseControls('bad_path', Object.entries(parameters));
  // The query is decoded only if it contains an encoded control character.
  if (ENCODED_CONTROL.test(query)) refuseControls('bad_query', [...new URLSearchParams(query)]);
}

function refuseControls(
  code: 'bad_path' | 'bad_query',
  given: readonly (readonly [name: string, value: string])[],
): void {
  const faults = given
    .filter(([name, value]) => CONTROL.test(value) || CONTROL.test(name))
    .map(([path]) => ({ path, message: 'must not contain control characters' }));
  if (faults.length > 0) throw new InvalidInput(code, faults);
}

/** Longest name of an unknown parameter that an answer repeats. */
export const NAME_CHARS_MAX = 64;

/** Returns the values of a query; an empty value counts as absent. */
function valuesOf(query: string): { values: Record<string, string>; faults: InputFault[] } {
  const values: Record<string, string> = {};
  const repeated = new Set<string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (value === '') continue;
    if (Object.hasOwn(values, name)) repeated.add(name);
    Object.defineProperty(values, name, { value, enumerable: true, configurable: true });
  }
  const faults = [...repeated].map((name) => ({
    path: name.slice(0, NAME_CHARS_MAX),
    message: 'is given more than once',
  }));
  return { values, faults };
}

/** @throws {InvalidInput} with every fault: an invalid value, an unknown parameter, one that is repeated */
export function parseQuery<Shape extends z.ZodObject>(
  schema: Shape,
  query: string,
): z.infer<Shape> {
  return parseKnown(schema, query, []);
}

/** @param others names that are known beside those of the schema, and not read here */
function parseKnown<Shape extends z.ZodObject>(
  schema: Shape,
  query: string,
  others: readonly string[],
): z.infer<Shape> {
  const { values, faults } = valuesOf(query);
  const known = Object.keys(schema.shape);
  const list = known.length === 0 ? 'there are none here' : `known are ${known.join(', ')}`;
  const unknown = Object.keys(values)
    .filter((name) => !known.includes(name) && !others.includes(name))
    .map((name) => ({ path: name.slice(0, NAME_CHARS_MAX), message: `is unknown; ${list}` }));
  return parseInput(schema, values, 'bad_query', [...unknown, ...faults]);
}

/** Parameters of every page: which workspace the reader meant. */
const OF_EVERY_PAGE = ['workspace'];

/** @throws {InvalidInput} as `parseQuery`: a filter with a typing error must not show everything */
export function parsePageQuery<Shape extends z.ZodObject>(
  schema: Shape,
  query: string,
): z.infer<Shape> {
  return parseKnown(schema, query, OF_EVERY_PAGE);
}

const NO_QUERY = z.object({});

/** @throws {InvalidInput} for any parameter */
export function requireNoQuery(query: string): void {
  parseQuery(NO_QUERY, query);
}

/** @throws {InvalidInput} for a parameter that not every page has */
export function requireNoPageQuery(query: string): void {
  parsePageQuery(NO_QUERY, query);
}

const DIGITS = /^\d{1,15}$/;

export function wholeNumber(min: number, max: number, fallback: number) {
  const error = `must be a whole number from ${min} to ${max}, in digits`;
  const number = z.int({ error }).min(min, { error }).max(max, { error });
  return z
    .preprocess(
      (given) => (typeof given === 'string' && DIGITS.test(given) ? Number(given) : given),
      number,
    )
    .default(fallback);
}

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

export const HEX_16 = /^[0-9a-f]{32}$/;

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

export const pageCursor = z.string().transform((text, context): PageCursor => {
  const match = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1'));
  if (match?.[1] !== undefined && match[2] !== undefined) {
    return { atMicros: match[1], id: match[2] };
  }
  context.addIssue({ code: 'custom', message: 'must be a next_cursor of this list' });
  return z.NEVER;
});

/** Most elements that a sorted list has: cursors of other lists reach past every one. */
const SKIPPED_MAX = 10_000;

/** The cursor of a page of a sorted list: how many elements come before it. */
export function toSkipCursor(skip: number | null): PageCursor | null {
  return skip === null ? null : { atMicros: String(skip), id: '0'.repeat(32) };
}

/** The number of elements before a page of a sorted list. */
export function skippedBy(cursor: PageCursor | null): number {
  return cursor === null ? 0 : Math.min(Number(cursor.atMicros), SKIPPED_MAX);
}

export function toCursor(next: PageCursor | null): string | null {
  return next === null ? null : Buffer.from(`${next.atMicros}.${next.id}`).toString('base64url');
}

/** Far above what a person types. */
const LIMITS: BodyLimits = { bytesMax: 16 * 1024, deadlineMs: 10_000, reserve: () => true };
const JSON_TYPE = /^application\/json *(;|$)/i;
const FORM_TYPE = /^application\/x-www-form-urlencoded *(;|$)/i;

async function readText(exchange: Exchange, type: RegExp, takes: string): Promise<string> {
  // A page of another site can send JSON only after a CORS preflight, which is never granted.
  if (!type.test(exchange.contentType)) {
    throw new SluiceError('unsupported_type', `Send ${takes}.`);
  }
  if (exchange.contentEncoding !== '' && exchange.contentEncoding !== 'identity') {
    throw new SluiceError('unsupported_encoding', 'Compressed bodies are not accepted here.');
  }
  const body = await exchange.readBody(LIMITS);
  return body === null ? '' : body.toString('utf8');
}

export async function readJson<Shape extends z.ZodType>(
  exchange: Exchange,
  schema: Shape,
): Promise<z.infer<Shape>> {
  const text = await readText(exchange, JSON_TYPE, 'application/json');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidInput('bad_body', [{ path: '', message: 'is not valid JSON' }]);
  }
  return parseInput(schema, value, 'bad_body');
}

/** Of a repeated field the last counts. */
export async function readForm<Shape extends z.ZodType>(
  exchange: Exchange,
  schema: Shape,
): Promise<z.infer<Shape>> {
  const text = await readText(exchange, FORM_TYPE, 'application/x-www-form-urlencoded');
  return parseInput(schema, Object.fromEntries(new URLSearchParams(text)), 'bad_body');
}
