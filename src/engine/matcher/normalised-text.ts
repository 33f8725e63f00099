/**
 * Owns the normalised reading of a text: invisible characters removed, NFKC, look-alike Cyrillic and
 * Greek letters replaced by Latin ones, white space that RE2's `\s` leaves out by blanks; and the
 * mapping of its offsets to the text as it was written.
 *
 * Works cluster by cluster (a character and what attaches to it), so the reading of a prefix that
 * ends between clusters is a prefix of the whole reading. Pure.
 */

/** UTF-16 offsets into a text, end exclusive. */
export interface CharacterRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Characters that attach to the one before them: marks, invisibles (which end up as nothing), Hangul
 * vowels and finals (they compose), half-width voicing marks (they compose after NFKC).
 */
const ATTACHED = '[\\p{M}\\p{DI}\\u1160-\\u11ff\\uff9e\\uff9f]';

/** No letter has more; and without a bound a million marks overflow V8's regexp stack. */
const ATTACHED_MAX = 62;

/** ASCII that is never normalised to something else unless a character is attached: all but U+000B. */
const PLAIN_ASCII = '\\0-\\x0a\\x0c-\\x7f';

/** A cluster that may be normalised to something else. */
const CLUSTER = new RegExp(
  `(?:[${PLAIN_ASCII}](?=${ATTACHED})|[^${PLAIN_ASCII}])${ATTACHED}{0,${ATTACHED_MAX}}`,
  'gu',
);

const IS_ATTACHED = new RegExp(ATTACHED, 'u');
const NOT_ATTACHED = new RegExp(ATTACHED.replace('[', '[^'), 'gu');

/** UTF-16 units searched at a time, from the end of a text, for its last letter. */
const WINDOW = 1024;

const INVISIBLE = /\p{DI}+/gu;
const NOT_PLAIN = new RegExp(`[^${PLAIN_ASCII}]`);

/**
 * Pairs of a look-alike and its Latin letter: the Cyrillic and Greek letters that Unicode's
 * confusables.txt (17.0) lists with one Latin letter; the letters of the corpus's reference engine; and
 * a few that look like a Latin letter in other ways (docs/decisions/0012-rules-as-written.md).
 */
const LOOK_ALIKES =
  'аa вb гr сc ԁd еe ҽe һh нh іi ꙇi јj кk ӏl мm оo рp ԛq ѕs тt уy үy ѵv ԝw ѡw шw хx ' +
  'АA ВB Ьb СC ЕE ԌG НH ІI Ӏl ЈJ КK МM ОO РP ԚQ ЅS ТT УY ҮY ѴV ԜW ХX ' +
  'αa εe γy ηn ιi ͺi κk νv οo σo ρp ϸp ᴦr τt υu χx ϲc ϳj ' +
  'ΑA ΒB ΕE ϜF ΖZ ΗH ΙI ΚK ΜM ϺM ΝN ΟO ΡP ΤT ΥY ΧX ϹC ͿJ 𝈓F 𝈪L 𝈖R 𝈍V ' +
  'ıi ǀl ոn ɡg ɑa';

/**
 * White space to JavaScript, for which the corpus is written, but neither to RE2 nor after NFKC; and two more
 * that look blank: NEXT LINE and the Braille pattern without dots.
 */
const WHITE_SPACE = ['\v', '\u1680', '\u2028', '\u2029', '\u0085', '\u2800'];

const READ_AS = new Map<string, string>([
  ...LOOK_ALIKES.split(' ').map((pair): [string, string] => {
    const [alike = '', latin = ''] = pair;
    return [alike, latin];
  }),
  ...WHITE_SPACE.map((space): [string, string] => [space, ' ']),
]);

/** Look-alikes that NFKC would change to letters without a look-alike: `ϲ` to `σ`. */
const CHANGED_BY_NFKC = new RegExp(
  `[${[...READ_AS.keys()].filter((letter) => letter.normalize('NFKC') !== letter).join('')}]`,
  'gu',
);

/**
 * Is called with a cluster whose normalised form differs.
 * @param start UTF-16 offset into the text
 * @param end exclusive
 * @returns false to stop
 */
type VisitRewrite = (start: number, end: number, read: string) => boolean;

/**
 * Visits, in order, every cluster of a text whose normalised form differs. Allocates nothing per
 * cluster, because every letter may be one (objects took 1.3 GB for 8,000,000 letters).
 */
function visitRewrites(text: string, visit: VisitRewrite): void {
  let at = text.search(NOT_PLAIN);
  if (at === -1) return;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    const known = kinds[unit] as number;
    if (known === PLAIN) {
      at += 1;
      continue;
    }
    const kind = known === UNKNOWN ? classify(unit) : known;
    if (isInCluster(kind, text, at)) {
      // From the letter before it to the end of all attached characters and surrogate pairs.
      const from = kind === CHANGED ? at : Math.max(0, at - 1);
      at += 1;
      while (kindAt(text, at) >= LONE) at += 1;
      if (!visitClusters(text, from, at, visit)) return;
      continue;
    }
    if (kind === CHANGED && !visit(at, at + 1, readingOf(unit))) return;
    at += 1;
  }
}

/** Checks whether a unit that is not plain is part of a cluster that must be normalised as a whole. */
function isInCluster(kind: number, text: string, at: number): boolean {
  if (kind === ATTACHING) return true;
  const next = kindAt(text, at + 1);
  return next >= LONE;
}

/** @param unit that is normalised to something else */
function readingOf(unit: number): string {
  const read = changedTo[unit] as number;
  return read === 0 ? (changedUnits.get(unit) ?? '') : String.fromCharCode(read);
}

function visitClusters(text: string, from: number, to: number, visit: VisitRewrite): boolean {
  for (const { 0: cluster, index } of text.slice(from, to).matchAll(CLUSTER)) {
    const read = normaliseCluster(cluster);
    const start = from + index;
    if (read !== cluster && !visit(start, start + cluster.length, read)) return false;
  }
  return true;
}

/**
 * Classes of UTF-16 units: normalised to themselves; to something else; marks that stay as they are
 * behind a letter, and change only among marks (a virama, Arabic vowels); attached to the letter before
 * or the unit beside them. A table that caches a pure function, one per thread.
 */
const UNKNOWN = 0;
const PLAIN = 1;
const CHANGED = 2;
const LONE = 3;
const ATTACHING = 4;
const kinds = new Uint8Array(0x1_0000).fill(PLAIN, 0, 0x80).fill(UNKNOWN, 0x0b, 0x0c);
/** changed unit → its normalised form */
const changedUnits = new Map<number, string>();
/** changed unit → its normalised form if that is one unit, else 0 */
const changedTo = new Uint16Array(0x1_0000);

/** The class of the unit at an offset; behind a text all is plain. */
function kindAt(text: string, at: number): number {
  if (at >= text.length) return PLAIN;
  const unit = text.charCodeAt(at);
  const known = kinds[unit] as number;
  return known === UNKNOWN ? classify(unit) : known;
}

function classify(unit: number): number {
  const letter = String.fromCharCode(unit);
  const isHalf = unit >= 0xd800 && unit <= 0xdfff;
  const read = normaliseCluster(letter);
  let kind = read === letter ? PLAIN : CHANGED;
  if (isHalf) kind = ATTACHING;
  else if (IS_ATTACHED.test(letter)) kind = read === letter ? kindOfMark(letter) : ATTACHING;
  kinds[unit] = kind;
  if (kind !== CHANGED) return kind;
  changedUnits.set(unit, read);
  if (read.length === 1) changedTo[unit] = read.charCodeAt(0);
  return kind;
}

/** Marks with a low and a high combining class: one of them changes places with any mark that has one. */
const LOW_MARK = '\u0334';
const HIGH_MARK = '\u0345';
const MARK = /\p{M}/u;

/**
 * A mark that composes with no letter stays where it is. Without a combining class it is like a letter;
 * with one it changes places with other marks only.
 * @param mark that is normalised to itself
 */
function kindOfMark(mark: string): number {
  composing ??= composingUnits();
  if (!MARK.test(mark) || composing.has(mark)) return ATTACHING;
  const isOrdered = isDecomposed(`x${mark}${LOW_MARK}`) || isDecomposed(`x${HIGH_MARK}${mark}`);
  return isOrdered ? LONE : PLAIN;
}

/** Characters that may be composed with the one before them. */
let composing: ReadonlySet<string> | null = null;

function composingUnits(): Set<string> {
  const found = new Set<string>();
  for (let unit = 0x80; unit < 0x1_0000; unit += 1) {
    if (unit === FIRST_HANGUL) unit = LAST_HANGUL;
    const letter = String.fromCharCode(unit);
    if (!isDecomposed(letter)) continue;
    for (const part of [...letter.normalize('NFD')].slice(1)) found.add(part);
  }
  return found;
}

/** Hangul syllables, whose vowels and finals are attached anyway. */
const FIRST_HANGUL = 0xac00;
const LAST_HANGUL = 0xd7a4;

function isDecomposed(text: string): boolean {
  return text.normalize('NFD') !== text;
}

/**
 * Where two readings of a text differ: pairs of offsets, in order, end exclusive. The n-th pair of one
 * corresponds to the n-th pair of the other.
 */
export interface Changes<Offsets> {
  readonly written: Offsets;
  readonly normalised: Offsets;
}

interface Normalised {
  /** the text as it looks to a reader; the same string when nothing changes */
  readonly text: string;
  /**
   * Where it differs from the written text: UTF-16 offsets of whole clusters, adjacent ones as one
   * range. Outside them both have the same characters. Null when there are more than `changesMax`.
   */
  readonly changes: Changes<readonly number[]> | null;
}

/**
 * Normalises a text.
 * @param changesMax most changes that are listed
 */
export function normaliseWithChanges(text: string, changesMax: number): Normalised {
  const written: number[] = [];
  const normalised: number[] = [];
  let isListed = true;
  let from = 0;
  let length = 0;
  visitRewrites(text, (start, end, cluster) => {
    length = appendUnits(cluster, 0, cluster.length, appendUnits(text, from, start, length));
    from = end;
    const last = written.length - 1;
    if (last > 0 && written[last] === start) {
      written[last] = end;
      normalised[last] = length;
    } else if (last + 1 === 2 * changesMax) {
      isListed = false;
    } else {
      written.push(start, end);
      normalised.push(length - cluster.length, length);
    }
    return true;
  });
  const changes = isListed ? { written, normalised } : null;
  if (from === 0) return { text, changes };
  length = appendUnits(text, from, text.length, length);
  return { text: asBytes.toString('utf16le', 0, 2 * length), changes };
}

/** Buffer for the units of a normalised text, one per thread. It grows with the longest text. */
let units = new Uint16Array(0);
let asBytes = Buffer.alloc(0);

/**
 * Writes the units of a text from `from` to `to` into the buffer: a string for every changed letter
 * costs more.
 * @returns the units in the buffer
 */
function appendUnits(text: string, from: number, to: number, length: number): number {
  const needed = length + to - from;
  if (needed > units.length) growUnits(needed);
  let end = length;
  for (let at = from; at < to; at += 1, end += 1) units[end] = text.charCodeAt(at);
  return end;
}

function growUnits(needed: number): void {
  const larger = new Uint16Array(2 * needed);
  larger.set(units);
  units = larger;
  asBytes = Buffer.from(larger.buffer);
}

export function normalise(text: string): string {
  return normaliseWithChanges(text, 0).text;
}

/**
 * How much of `normalise(text)` does not depend on what follows the text: all but its last cluster,
 * to which the next character may attach.
 * @returns a UTF-16 offset into `normalise(text)`
 */
export function settledLength(text: string): number {
  const letter = lastLetter(text);
  const tail = text.slice(letter);
  let end = letter;
  for (const { index } of tail.matchAll(CLUSTER)) end = letter + index;
  let length = end;
  visitRewrites(text.slice(0, end), (from, to, read) => {
    length += read.length - (to - from);
    return true;
  });
  return length;
}

/**
 * The first offset, not before `from`, where a cluster begins whatever is before it; null without one.
 * The reading of a text from there is the end of the whole text's reading.
 */
export function clusterStart(text: string, from: number): number | null {
  NOT_ATTACHED.lastIndex = from;
  const start = NOT_ATTACHED.exec(text)?.index ?? null;
  NOT_ATTACHED.lastIndex = 0;
  return start;
}

/** The offset of the last character that is not attached to another; 0 when there is none. */
function lastLetter(text: string): number {
  let from = text.length;
  while (from > 0) {
    const to = from;
    from = Math.max(0, to - WINDOW);
    if ((text.codePointAt(from - 1) ?? 0) > 0xffff) from -= 1;
    const letters = [...text.slice(from, to).matchAll(NOT_ATTACHED)];
    const last = letters.at(-1);
    if (last !== undefined) return from + last.index;
  }
  return 0;
}

/**
 * Maps a range of the normalised text to the written one. A changed cluster is included whole, so that
 * nothing that produced the range is missing. Linear in the text up to the range's end.
 * @param text as it was written
 * @param range offsets into the normalised text
 * @returns offsets into the text
 */
export function toWrittenRange(text: string, range: CharacterRange): CharacterRange {
  let start: number | null = null;
  let end: number | null = null;
  // The offset in the written text, less the one in the normalised text.
  let ahead = 0;
  visitRewrites(text, (from, to, read) => {
    const readStart = from - ahead;
    const readEnd = readStart + read.length;
    if (range.start < readStart) start ??= range.start + ahead;
    if (range.end <= readStart) return false;
    if (range.start < readEnd) start ??= from;
    ahead = to - readEnd;
    if (range.end > readEnd) return true;
    start ??= to;
    end = to;
    return false;
  });
  return { start: start ?? range.start + ahead, end: end ?? range.end + ahead };
}

function normaliseCluster(cluster: string): string {
  let read = '';
  const visible = cluster.replace(INVISIBLE, '');
  for (const letter of visible.replace(CHANGED_BY_NFKC, readAs).normalize('NFKC')) {
    read += readAs(letter);
  }
  return read;
}

function readAs(letter: string): string {
  return READ_AS.get(letter) ?? letter;
}
