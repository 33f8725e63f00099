/**
 * Redacts a request's body before anything else reads it: hashing, decoding and storing see the result
 * only. Works on the strings of the JSON, so it needs no decoder and serves all signals.
 *
 *   body ─► one search for all patterns in the JSON as sent (`raw-pattern.ts`) ─► nothing: the same body
 *              └─► a string with a hit, `\u` or `\/` ─► escapes resolved ─► marked (`text-redactor.ts`) ─► JSON
 *
 * Names of members and attributes, ids and numbers stay. A string that cannot be redacted becomes `{}`,
 * which no decoder takes for a text: its record is rejected.
 */
import { isUtf8 } from 'node:buffer';

import { parsedJson, quoteByteFrom } from '../../model/json.ts';
import {
  LIBRARY,
  type LibraryPattern,
  OWN_PATTERNS_MAX,
  PATTERN_CHARS_MAX,
  PATTERN_NAME_CHARS_MAX,
  type RedactionSettings,
} from '../../model/redaction/redaction.ts';
import { createPatternCompiler, type Pattern, type PatternCompiler } from '../matcher/pattern.ts';
import { relaxedSource } from '../matcher/relaxed-pattern.ts';
import { CHECKS } from './checks.ts';
import { toRawPattern, WRITTEN_OUT_MAX } from './raw-pattern.ts';
import { quoteBefore, StringWalk } from './string-walk.ts';
import {
  type SoughtPattern,
  type SoughtPatterns,
  TextRedactor,
  Unredactable,
} from './text-redactor.ts';

/** Most bytes of a string that is redacted. */
export const STRING_BYTES_MAX = 4 * 1024 * 1024;
/** Most bytes by which marks make a body longer. */
export const GROWN_BYTES_MAX = 16 * 1024 * 1024;
/** Bytes searched between two pauses. */
const PIECE_BYTES = 128 * 1024;
/** The name under which marks of patterns that workspaces wrote are counted. */
export const CUSTOM = 'custom';

/** Values that are numbers where they have the form of one. */
const NUMBERS = new Set(
  (
    'intValue doubleValue asInt asDouble startTimeUnixNano endTimeUnixNano timeUnixNano observedTimeUnixNano ' +
    'count zeroCount sum min max value quantile zeroThreshold bucketCounts explicitBounds'
  ).split(' '),
);
const NUMBER = /^(?:-?\d[\d.eE+-]{0,30}|NaN|-?Infinity)$/;
const IDS = new Set(['traceId', 'spanId', 'parentSpanId']);
const ID = /^[\da-fA-F]{0,32}$/;
const BYTES_NAME = 'bytesValue';
/** Strings with these are resolved whatever they hold, and bytes are looked at. */
const ALWAYS = ['\\\\[u/]', BYTES_NAME];
const UNREDACTABLE = '{}';
const NAME = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

export interface Redacted {
  /** the same body if nothing was replaced */
  readonly body: Buffer;
  /** marks by name: the library's, and `custom` */
  readonly counts: ReadonlyMap<string, number>;
  /** strings that could not be redacted */
  readonly refused: number;
}

/** Pauses every 128 KiB. */
export type Redactor = (body: Buffer) => Generator<void, Redacted, void>;

/** The faults of settings, for the person who wrote them; empty if there are none. */
export function redactionFaults(settings: RedactionSettings): string[] {
  const compiled = compile(settings);
  return Array.isArray(compiled) ? compiled : [];
}

/** @throws {Error} for settings with faults */
export function createRedactor(settings: RedactionSettings, key: Buffer): Redactor {
  const compiled = compile(settings);
  if (Array.isArray(compiled)) throw new Error(`redaction settings: ${compiled.join(' ')}`);
  const redactor = new TextRedactor(compiled, key);
  return (body) => redactBody(body, compiled.raw, redactor);
}

interface CheckedPattern extends SoughtPattern {
  readonly source: string;
  readonly raw: string;
  readonly least: number;
}

function compile(settings: RedactionSettings): SoughtPatterns | string[] {
  const compiler = createPatternCompiler();
  const faults: string[] = [];
  const known = new Map(LIBRARY.map((one) => [one.name, one]));
  const chosen = settings.library.flatMap((name): LibraryPattern[] => {
    const found = known.get(name);
    if (found === undefined) faults.push(`The library has no pattern "${name}".`);
    return found === undefined ? [] : [found];
  });
  const names = [...settings.library, ...settings.patterns.map(({ name }) => name)];
  for (const name of new Set(names.filter((one, index) => names.indexOf(one) !== index))) {
    faults.push(`The name "${name}" is used twice.`);
  }
  if (names.length === 0) faults.push('Choose at least one pattern.');
  if (settings.patterns.length > OWN_PATTERNS_MAX) {
    faults.push(`A workspace can have at most ${OWN_PATTERNS_MAX} patterns besides the library.`);
  }
  const patterns = [...chosen, ...settings.patterns.slice(0, OWN_PATTERNS_MAX)].flatMap((one) => {
    const checked = checkPattern(one, compiler);
    if (typeof checked === 'string') faults.push(checked);
    return typeof checked === 'string' ? [] : [checked];
  });
  if (faults.length > 0) return faults;
  const join = (sources: readonly string[]) => sources.map((one) => `(?:${one})`).join('|');
  const exact = compiler(caseSensitive(join(patterns.map(({ source }) => source))));
  const raw = compiler(
    caseSensitive(join([...patterns.map((one) => relaxedSource(one.raw)), ...ALWAYS])),
  );
  if (exact.pattern === null || raw.pattern === null)
    return ['The patterns are together too large.'];
  const leastUnits = Math.min(...patterns.map((one) => one.least));
  return { patterns, any: exact.pattern, raw: raw.pattern, leastUnits };
}

function caseSensitive(source: string): string {
  return `(?-i:${source})`;
}

/** @returns the pattern, or its fault */
function checkPattern(
  one: LibraryPattern | RedactionSettings['patterns'][number],
  compiler: PatternCompiler,
): CheckedPattern | string {
  const { name, pattern: source } = one;
  if (!NAME.test(name) || name.length > PATTERN_NAME_CHARS_MAX) {
    return `"${name.slice(0, PATTERN_NAME_CHARS_MAX)}" cannot be a pattern's name: use 1 to ${PATTERN_NAME_CHARS_MAX} lower-case letters, digits and hyphens.`;
  }
  const isOfLibrary = LIBRARY.includes(one as LibraryPattern);
  if (!isOfLibrary && source.length > PATTERN_CHARS_MAX) {
    return `The pattern "${name}" is longer than ${PATTERN_CHARS_MAX} characters.`;
  }
  const raw = toRawPattern(source);
  if (raw !== null && raw.size > WRITTEN_OUT_MAX) {
    return `The pattern "${name}" takes too long: with its repetitions written out it has ${raw.size} characters, at most ${WRITTEN_OUT_MAX} are allowed. Repeat without a limit (+, *) where you can.`;
  }
  const { pattern, reason } = compiler(caseSensitive(source));
  if (pattern === null) return `The pattern "${name}" ${reason.message}.`;
  if (raw === null) {
    return `The pattern "${name}" uses syntax that is not supported here: POSIX classes, inline flags that are not at its beginning, or escapes of RE2 alone.`;
  }
  if (raw.least === 0) return `The pattern "${name}" matches the empty text.`;
  const check = 'check' in one && one.check !== undefined ? CHECKS[one.check] : null;
  return {
    name,
    counted: isOfLibrary ? name : CUSTOM,
    source,
    raw: raw.source,
    least: raw.least,
    pattern,
    lengthOf: check ?? ((matched) => matched.length),
  };
}

function* redactBody(
  sent: Buffer,
  raw: Pattern,
  redactor: TextRedactor,
): Generator<void, Redacted, void> {
  const body = isUtf8(sent) ? sent : Buffer.from(sent.toString('utf8'));
  const counts = new Map<string, number>();
  const parts: Buffer[] = [];
  const walk = new StringWalk(body);
  let refused = 0;
  let copied = 0;
  let grown = 0;
  for (let at = 0; at < body.length; ) {
    if (at > 0) yield;
    const start = at;
    const quote = quoteByteFrom(body, Math.min(body.length, start + PIECE_BYTES));
    const past = quote === -1 ? body.length : quote + 1;
    const isLong = past - start > STRING_BYTES_MAX + PIECE_BYTES;
    // Up to the string that is too long: the next piece begins and ends with it.
    const end = isLong ? Math.max(start, quoteBefore(body, start + PIECE_BYTES)) : past;
    const piece = body.subarray(start, end);
    while (at < end || (isLong && at === start && end === start)) {
      const hit = end === start ? { start: 1 } : raw.findFrom(piece, at - start);
      if (hit === null) break;
      const position = start + hit.start;
      if (!(yield* walk.seek(position))) return result();
      if (walk.start > position) {
        at = walk.start + 1;
        continue;
      }
      // Base64 hides its text from the search.
      if (walk.isName && nameOf(walk.written) === BYTES_NAME) {
        if (!(yield* walk.seek(walk.end))) return result();
        if (walk.isName) {
          at = walk.start;
          continue;
        }
      }
      let replaced = yield* replacementOf(walk, redactor, counts);
      if (replaced !== null) {
        grown += Math.max(0, replaced.length - (walk.end - walk.start));
        if (grown > GROWN_BYTES_MAX) replaced = UNREDACTABLE;
        if (replaced === UNREDACTABLE) refused += 1;
        parts.push(body.subarray(copied, walk.start), Buffer.from(replaced));
        copied = walk.end;
      }
      at = walk.end;
    }
    at = Math.max(at, end);
  }
  return result();

  function result(): Redacted {
    if (parts.length === 0) return { body: sent, counts, refused };
    return { body: Buffer.concat([...parts, body.subarray(copied)]), counts, refused };
  }
}

/** Returns the JSON to write in place of the current string; null if it stays. */
function* replacementOf(
  walk: StringWalk,
  redactor: TextRedactor,
  counts: Map<string, number>,
): Generator<void, string | null, void> {
  if (walk.isName) return null;
  const before = walk.memberName;
  const name = before === null ? null : nameOf(before);
  // Of an attribute. In a list it is no key.
  if (name === 'key' && walk.isValue) return null;
  if (walk.end - walk.start > STRING_BYTES_MAX) return UNREDACTABLE;
  try {
    const text = JSON.parse(walk.written) as string;
    if (name !== null && NUMBERS.has(name) && NUMBER.test(text)) return null;
    if (name !== null && IDS.has(name) && ID.test(text)) return null;
    const redacted =
      name === BYTES_NAME
        ? yield* inBytes(text, redactor, counts)
        : yield* redactor.redact(text, counts);
    return redacted === text ? null : JSON.stringify(redacted);
  } catch (error) {
    if (error instanceof Unredactable || error instanceof SyntaxError) return UNREDACTABLE;
    throw error;
  }
}

/** Redacts bytes, as base64, that are a text. */
function* inBytes(
  base64: string,
  redactor: TextRedactor,
  counts: Map<string, number>,
): Generator<void, string, void> {
  const bytes = Buffer.from(base64, 'base64');
  if (!isUtf8(bytes)) return base64;
  const text = bytes.toString('utf8');
  const redacted = yield* redactor.redact(text, counts);
  return redacted === text ? base64 : Buffer.from(redacted).toString('base64');
}

/** Null if it is no JSON, which the decoder refuses; what it names is redacted. */
const nameOf = (written: string): string | null => (parsedJson(written) ?? null) as string | null;
