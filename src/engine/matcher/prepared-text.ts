/**
 * Owns a text that is matched: cut to its share of the cap, as UTF-8 bytes in its readings (as written,
 * normalised). Confirms hits, too: one that touches a cut must also match the uncut text, so that the cap can
 * lose a match but never invent one.
 */
import { type CodeText, createCodeText } from './code-blocks.ts';
import {
  type Changes,
  type CharacterRange,
  normalise,
  normaliseWithChanges,
  settledLength,
  toWrittenRange,
} from './normalised-text.ts';
import type { ByteRange, Pattern } from './pattern.ts';
import { type Beginning, beginningOf, bytesWithin, cutText, type End } from './text-cut.ts';
import { boundaryAfter, byteOffsets, unitCounter } from './utf8.ts';
import { divideWords, NO_BREAK_SPACE, RUN_CHARS_MAX, type RuleWords } from './word-gaps.ts';

/** The place of a hit: offsets into the text as it was written, before any cut. */
export interface TextHit extends CharacterRange {
  readonly form: 'written' | 'normalised';
}

export interface PreparedText {
  /** UTF-8 bytes that are matched, as many as the cap allows */
  readonly bytes: number;
  readonly cut: boolean;
  readonly readings: readonly TextReading[];
  /** the normalised text and its code, past the cut as far as matches are followed, for a reading's matches */
  readonly code: (reading: TextReading) => CodeText;
  /** the same text without a cut; null if it is too long for that */
  readonly uncut: () => PreparedText | null;
}

export interface TextReading {
  readonly form: TextHit['form'];
  readonly bytes: Buffer;
  /**
   * Matches start here or later. Above 0 where the bytes are the end of a text: what is before shows
   * `^` and `\b` that the text does not begin there. RE2 looks at no more than one character.
   */
  readonly from: number;
  /** a match that ends here or later may be due to the cut; Infinity when nothing was cut */
  readonly firmBytes: number;
  readonly toWritten: (range: CharacterRange) => CharacterRange;
  /** the text with blanks for what is a blank in this reading, and invisible in the normalised text */
  readonly withBlanks: (text: string) => string;
  /** byte offset between characters → UTF-16 offset in this reading */
  readonly toUnits: (offset: number) => number;
  /** number of changes that `changes` lists; Infinity where that is null */
  readonly changeCount: number;
  /**
   * Where the normalised reading differs from the written one, in byte offsets. A match that touches
   * none of these ranges, not even with the character on either side, is also a match of the written
   * reading. Null if that is not known or not true.
   */
  readonly changes: () => Changes<Int32Array> | null;
  /**
   * The same reading of more of the text; null at its end, or past `PAST_CUT_BYTES_MAX`.
   */
  readonly wider: () => TextReading | null;
}

/** A hit that touches the cut is followed this far past it: four times the default cap. */
const PAST_CUT_BYTES_MAX = 256 * 1024;

/** A text that is at most this much longer than its share of the cap is searched whole for code. */
const CODE_PAST_CUT_BYTES_MAX = 1024 * 1024;

/** The first extension past a cut has at least this size. */
const WIDER_BYTES_MIN = 1024;

/** Changes that are listed. With more, both readings are scanned. */
const CHANGES_MAX = 200;

/** The only character of ASCII that is normalised to another. */
const VERTICAL_TAB = '\v';

/** White space that RE2's `\s` leaves out: JavaScript's, NEXT LINE and the Braille pattern without dots. */
const UNUSUAL_BLANK =
  /[\v\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000\ufeff]/g;

interface Source {
  readonly text: string;
  /** most UTF-8 bytes that are ever matched, hits at the cut included */
  readonly bytesMax: number;
  /** U+FEFF as a blank: everywhere, and between words of the rules */
  readonly spacings: readonly TextReading['withBlanks'][];
}

/**
 * Prepares one text.
 * @param text offsets of hits are into it
 * @param capBytes most UTF-8 bytes to match: of a longer text its beginning and its end, as two texts
 */
export function prepareText(text: string, capBytes: number, words: RuleWords): PreparedText {
  const spacings = [spacedOut, (part: string) => divideWords(part, words())];
  const source = { text, bytesMax: capBytes + PAST_CUT_BYTES_MAX, spacings };
  const { beginning, end } = cutText(text, capBytes);
  const codes = new Map<TextReading['withBlanks'], CodeText>();
  let uncut: PreparedText | null | undefined;
  return {
    bytes: beginning.bytes.byteLength + (end?.bytes.byteLength ?? 0),
    cut: beginning.cut,
    readings: [...readBeginning(source, beginning), ...(end === null ? [] : readEnd(source, end))],
    code: ({ withBlanks }) => {
      const whole = () => beginningOf(text, capBytes + CODE_PAST_CUT_BYTES_MAX).text;
      const code = codes.get(withBlanks) ?? createCodeText(withBlanks(whole()));
      codes.set(withBlanks, code);
      return code;
    },
    uncut: () => {
      if (uncut !== undefined) return uncut;
      const bytes = bytesWithin(text, capBytes + CODE_PAST_CUT_BYTES_MAX);
      uncut = bytes === null ? null : prepareText(text, bytes, words);
      return uncut;
    },
  };
}

function readBeginning(source: Source, beginning: Beginning): TextReading[] {
  const readings = [readWritten(source, beginning)];
  const normalised = readNormalised(source, beginning);
  if (normalised === null) return readings;
  readings.push(normalised);
  const blanked = readBlanked(source, beginning);
  if (blanked === null) return readings;
  const spaced = beginning.text.includes(NO_BREAK_SPACE, 1)
    ? source.spacings.map((withBlanks) => readerOf(withBlanks)(source, beginning))
    : [];
  return withOthers(readings, [blanked, ...spaced]);
}

/** Adds readings, each of other bytes than those before it. */
function withOthers(readings: TextReading[], others: readonly TextReading[]): TextReading[] {
  for (const one of others) {
    if (!readings.some(({ bytes }) => bytes.equals(one.bytes))) readings.push(one);
  }
  return readings;
}

/** The readings of a cut text's end. Its matches are those of the whole text: see `TextReading.from`. */
function readEnd({ spacings }: Source, { text, bytes, offset, contextUnits }: End): TextReading[] {
  const read = (form: TextHit['form'], written: string, normalised: string): TextReading => {
    const isSame = normalised === written;
    const read = form === 'written' ? bytes : Buffer.from(normalised);
    const context = written.slice(0, contextUnits);
    return {
      form,
      bytes: read,
      from: Buffer.byteLength(isSame ? context : normalise(context)),
      firmBytes: Number.POSITIVE_INFINITY,
      toWritten: (range) => {
        const { start, end } = isSame ? range : toWrittenRange(written, range);
        return { start: offset + start, end: offset + end };
      },
      withBlanks: asWritten,
      toUnits: unitCounter(read),
      changeCount: Number.POSITIVE_INFINITY,
      changes: () => null,
      wider: () => null,
    };
  };
  const blanked = text.replace(UNUSUAL_BLANK, ' ');
  const others = [read('normalised', text, normalise(text)), read('normalised', blanked, blanked)];
  for (const withBlanks of text.includes(NO_BREAK_SPACE) ? spacings : []) {
    const spaced = withBlanks(text);
    others.push(read('normalised', spaced, normalise(spaced)));
  }
  return withOthers([read('written', text, text)], others);
}

const asWritten = (text: string): string => text;
const spacedOut = (text: string): string => text.replaceAll(NO_BREAK_SPACE, ' ');

function readWritten(source: Source, beginning: Beginning): TextReading {
  const { bytes, cut } = beginning;
  return {
    form: 'written',
    bytes,
    from: 0,
    firmBytes: cut ? bytes.byteLength : Number.POSITIVE_INFINITY,
    toWritten: (range) => range,
    withBlanks: asWritten,
    toUnits: unitCounter(bytes),
    changeCount: Number.POSITIVE_INFINITY,
    changes: () => null,
    wider: widerOf(source, beginning, readWritten),
  };
}

/**
 * Reads U+FEFF as a blank. It is both an invisible character, which hides in a word, and white space to
 * JavaScript, for which the rules are written.
 */
const readerOf =
  (withBlanks: TextReading['withBlanks']) =>
  (source: Source, beginning: Beginning): TextReading => {
    const text = withBlanks(beginning.text);
    const normalised = normalise(text);
    const bytes = Buffer.from(normalised);
    // Text behind the cut may divide the last letters otherwise.
    const settled = withBlanks === spacedOut ? text : text.slice(0, -RUN_CHARS_MAX);
    return {
      form: 'normalised',
      bytes,
      from: 0,
      firmBytes: firmBytes(settled, normalised, beginning.cut),
      toWritten: (range) => toWrittenRange(text, range),
      withBlanks,
      toUnits: unitCounter(bytes),
      changeCount: Number.POSITIVE_INFINITY,
      changes: () => null,
      wider: widerOf(source, beginning, readerOf(withBlanks)),
    };
  };

/** @returns null when there is nothing to normalise */
function readNormalised(source: Source, beginning: Beginning): TextReading | null {
  const { text, bytes, cut } = beginning;
  if (bytes.byteLength === text.length && !text.includes(VERTICAL_TAB)) return null;
  const normalised = normaliseWithChanges(text, cut ? 0 : CHANGES_MAX);
  if (normalised.text === text) return null;
  return {
    ...readChanged(beginning, normalised),
    firmBytes: firmBytes(text, normalised.text, cut),
    toWritten: (range) => toWrittenRange(bytes.toString(), range),
    wider: widerOf(source, beginning, readNormalised),
  };
}

/**
 * The letters as they were written, with a blank for each character that JavaScript's `\s` matches and RE2's does
 * not. The normalised reading has these blanks too, but its other changes may remove a match: with a mark `needle` becomes `needlé`.
 * @returns null without such a character
 */
function readBlanked(source: Source, beginning: Beginning): TextReading | null {
  const { text, cut } = beginning;
  const blanks = [...text.matchAll(UNUSUAL_BLANK)].map(({ index }) => index);
  if (blanks.length === 0) return null;
  const blanked = text.replace(UNUSUAL_BLANK, ' ');
  const offsets = blanks.length > CHANGES_MAX ? null : blanks.flatMap((at) => [at, at + 1]);
  const changes = offsets === null ? null : { written: offsets, normalised: offsets };
  return {
    ...readChanged(beginning, { text: blanked, changes }),
    firmBytes: cut ? Buffer.byteLength(blanked) : Number.POSITIVE_INFINITY,
    toWritten: (range) => range,
    wider: widerOf(source, beginning, readBlanked),
  };
}

type ChangedReading = Omit<TextReading, 'firmBytes' | 'toWritten' | 'wider'>;

function readChanged(
  { text: written, cut }: Beginning,
  { text, changes }: ReturnType<typeof normaliseWithChanges>,
): ChangedReading {
  const bytes = Buffer.from(text);
  let inBytes: Changes<Int32Array> | null = null;
  return {
    form: 'normalised',
    bytes,
    from: 0,
    withBlanks: asWritten,
    toUnits: unitCounter(bytes),
    // A match of the written reading that touches the cut may not be confirmed.
    changeCount: cut || changes === null ? Number.POSITIVE_INFINITY : changes.written.length / 2,
    changes: () => {
      if (cut || changes === null) return null;
      inBytes ??= changesInBytes(changes, written, text);
      return inBytes;
    },
  };
}

function firmBytes(text: string, normalised: string, cut: boolean): number {
  if (!cut) return Number.POSITIVE_INFINITY;
  return Buffer.byteLength(normalised.slice(0, settledLength(text)));
}

/**
 * Extends twice as far each time, on demand, and caches the result: many patterns may touch one cut.
 */
function widerOf(
  source: Source,
  { capBytes, cut }: Beginning,
  read: (source: Source, beginning: Beginning) => TextReading | null,
): () => TextReading | null {
  let wider: TextReading | null | undefined;
  return () => {
    if (wider !== undefined) return wider;
    const cap = Math.min(Math.max(2 * capBytes, WIDER_BYTES_MIN), source.bytesMax);
    const isMore = cut && cap > capBytes;
    wider = isMore ? read(source, beginningOf(source.text, cap)) : null;
    return wider;
  };
}

function changesInBytes(
  changes: Changes<readonly number[]>,
  written: string,
  normalised: string,
): Changes<Int32Array> {
  return {
    written: byteOffsets(written, changes.written),
    normalised: byteOffsets(normalised, changes.normalised),
  };
}

/** Finds the leftmost match in a reading's bytes that starts at `from` or later. */
export type FindIn = (reading: TextReading, from: number) => ByteRange | null;

/** True for a first hit of a reading that counts; if false, the other readings are searched. */
export type Counts = (hit: TextHit, reading: TextReading) => boolean;

/** A text's first hit, and where it was found: from there on further ones are searched. */
export interface FoundHit {
  readonly hit: TextHit;
  readonly reading: number;
  /** in its bytes */
  readonly range: ByteRange;
}

/**
 * The leftmost hit of a pattern in a text: in the written reading, else in the normalised one; of a cut
 * text in its beginning, else in its end.
 * @returns null when the text is clean
 * @throws what RE2 throws: the result is then undecided, never clean
 */
export function search(
  pattern: Pattern,
  text: PreparedText,
  find: FindIn,
  counts: Counts = () => true,
): FoundHit | null {
  for (const [index, reading] of text.readings.entries()) {
    const range = find(reading, reading.from);
    const hit = range === null ? null : confirm(pattern, reading, range, reading.from);
    if (hit !== null && range !== null && counts(hit, reading)) {
      return { hit, reading: index, range };
    }
  }
  return null;
}

/**
 * The hits of a pattern in a text after the first one, in every reading each after the end of the one
 * before.
 * @param find sees every match, but of a normalised reading whose changes are known it may see only those
 *   that touch one; then only those are hits, because any other is a match as the text was written
 * @param counts a reading whose first hit does not count has none; null: all count
 * @throws what RE2 throws
 */
export function* searchOn(
  pattern: Pattern,
  text: PreparedText,
  first: FoundHit,
  find: FindIn,
  counts: Counts | null,
): Generator<TextHit, void> {
  for (const [index, reading] of text.readings.entries()) {
    if (index < first.reading) continue;
    const isBegun = index === first.reading;
    const hits = hitsOf(pattern, reading, isBegun ? first.range : null, find, counts === null);
    let isFirst = !isBegun;
    for (const hit of hits) {
      if (isFirst && counts !== null && !counts(hit, reading)) break;
      isFirst = false;
      yield hit;
    }
  }
}

/** @param begun the match that was found before; null when the reading was not searched */
function* hitsOf(
  pattern: Pattern,
  reading: TextReading,
  begun: ByteRange | null,
  find: FindIn,
  isPartial: boolean,
): Generator<TextHit, void> {
  const changes = isPartial ? (reading.changes()?.normalised ?? null) : null;
  if (changes !== null && begun === null && find(reading, reading.from) === null) return;
  const next: FindIn = changes === null ? find : ({ bytes }, at) => findAt(pattern, bytes, at);
  let from: number | null = reading.from;
  if (begun !== null && changes === null) from = endOf(begun, reading.bytes);
  while (from !== null) {
    const found: ByteRange | null = next(reading, from);
    if (found === null) break;
    const hit = touches(found, changes) ? confirm(pattern, reading, found, from) : null;
    if (hit !== null) yield hit;
    from = endOf(found, reading.bytes);
  }
}

/** Where the next match may start; null behind the last character. */
function endOf({ start, end }: ByteRange, bytes: Buffer): number | null {
  if (end > start) return end;
  return end >= bytes.byteLength ? null : boundaryAfter(bytes, end + 1);
}

/** Checks whether a match is in or next to one of the changes; null: everything may be changed. */
function touches({ start, end }: ByteRange, changes: Int32Array | null): boolean {
  if (changes === null) return true;
  for (let at = 0; at < changes.length; at += 2) {
    if (start <= (changes[at + 1] as number) && end >= (changes[at] as number)) return true;
  }
  return false;
}

export function findAt(pattern: Pattern, bytes: Buffer, from: number): ByteRange | null {
  return from === 0 ? pattern.find(bytes) : pattern.findFrom(bytes, from);
}

/**
 * Confirms a hit and finds its place. A match that ends before the cut also matches the uncut text:
 * RE2 has no look-ahead, so only the next character matters, to `$` and `\b`. Any other match is
 * tried on more text, twice as much each time: a match due to the cut disappears, a real one ends.
 * A match past `PAST_CUT_BYTES_MAX` counts if a shorter one does (`x{10,}` needs ten); else it is
 * missed.
 * @param from where in the bytes the match was searched from
 */
function confirm(
  pattern: Pattern,
  cut: TextReading,
  cutFound: ByteRange,
  from: number,
): TextHit | null {
  if (cutFound.end < cut.firmBytes) return toHit(cutFound, cut);
  let widest = cut;
  for (let reading = cut.wider(); reading !== null; reading = reading.wider()) {
    const found = findAt(pattern, reading.bytes, from);
    if (found === null || found.start >= cut.bytes.byteLength) return null;
    if (found.end < reading.firmBytes) return toHit(found, reading);
    widest = reading;
  }
  const short = pattern.findShort(widest.bytes, from);
  return short !== null && short.end < widest.firmBytes ? toHit(short, widest) : null;
}

function toHit(range: ByteRange, { form, toWritten, toUnits }: TextReading): TextHit {
  return { form, ...toWritten({ start: toUnits(range.start), end: toUnits(range.end) }) };
}
