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
 * a few that look like a Latin letter in other ways (docs/decisions/0024-rules-as-written.md).
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

/** What a character reads as. */
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
    if (kind === ATTACHING || (kind === CHANGED && kindOf(text.charCodeAt(at + 1)) === ATTACHING)) {
      // From the letter before it to the end of all attached characters and surrogate pairs.
      const from = kind === ATTACHING ? Math.max(0, at - 1) : at;
      at += 1;
      while (at < text.length && kindOf(text.charCodeAt(at)) === ATTACHING) at += 1;
      if (!visitClusters(text, from, at, visit)) return;
      continue;
    }
    if (kind === CHANGED && !visit(at, at + 1, changedUnits.get(unit) ?? '')) return;
    at += 1;
  }
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
 * Classes of UTF-16 units: normalised to themselves, to something else, or attached to the letter
 * before or the unit beside them. A table that caches a pure function, one per thread.
 */
const UNKNOWN = 0;
const PLAIN = 1;
const CHANGED = 2;
const ATTACHING = 3;
const kinds = new Uint8Array(0x1_0000).fill(PLAIN, 0, 0x80).fill(UNKNOWN, 0x0b, 0x0c);
/** changed unit → its normalised form */
const changedUnits = new Map<number, string>();

/** @param unit NaN past a text's end */
function kindOf(unit: number): number {
  const known = kinds[unit];
  return known === undefined || known === UNKNOWN ? classify(unit) : known;
}

function classify(unit: number): number {
  if (Number.isNaN(unit)) return PLAIN;
  const letter = String.fromCharCode(unit);
  const isHalf = unit >= 0xd800 && unit <= 0xdfff;
  const read = normaliseCluster(letter);
  const kind = isHalf || IS_ATTACHED.test(letter) ? ATTACHING : read === letter ? PLAIN : CHANGED;
  kinds[unit] = kind;
  if (kind === CHANGED) changedUnits.set(unit, read);
  return kind;
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

/** A text from this many unchanged units on is a piece of its own; shorter ones are copied. */
const PIECE_UNITS = 64;

/**
 * Normalises a text.
 * @param changesMax most changes that are listed
 */
export function normaliseWithChanges(text: string, changesMax: number): Normalised {
  const written: number[] = [];
  const normalised: number[] = [];
  let isListed = true;
  const pieces: string[] = [];
  const units = new Units();
  let from = 0;
  let shift = 0;
  visitRewrites(text, (start, end, cluster) => {
    if (start - from >= PIECE_UNITS) {
      pieces.push(units.take(), text.slice(from, start));
    } else {
      units.add(text, from, start);
    }
    units.add(cluster, 0, cluster.length);
    from = end;
    const normalisedEnd = start + shift + cluster.length;
    if (written.length > 0 && written.at(-1) === start) {
      written[written.length - 1] = end;
      normalised[normalised.length - 1] = normalisedEnd;
    } else if (written.length === 2 * changesMax) {
      isListed = false;
    } else {
      written.push(start, end);
      normalised.push(start + shift, normalisedEnd);
    }
    shift = normalisedEnd - end;
    return true;
  });
  const changes = isListed ? { written, normalised } : null;
  if (from === 0) return { text, changes };
  pieces.push(units.take(), text.slice(from));
  return { text: pieces.join(''), changes };
}

/** Builds a string unit by unit, which costs less than a piece for every changed letter. */
class Units {
  #units = Buffer.allocUnsafe(0);
  #length = 0;

  /** Adds the units of a text from `from` to `to`. */
  add(text: string, from: number, to: number): void {
    const needed = this.#length + 2 * (to - from);
    if (needed > this.#units.length) this.#grow(needed);
    const units = this.#units;
    let length = this.#length;
    for (let at = from; at < to; at += 1) {
      const unit = text.charCodeAt(at);
      units[length] = unit & 0xff;
      units[length + 1] = unit >>> 8;
      length += 2;
    }
    this.#length = length;
  }

  /** The units so far; the next ones begin another string. */
  take(): string {
    const taken = this.#units.toString('utf16le', 0, this.#length);
    this.#length = 0;
    return taken;
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafe(2 * needed);
    this.#units.copy(larger, 0, 0, this.#length);
    this.#units = larger;
  }
}

/** The text as it looks to a reader; the same string when nothing changes. */
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
