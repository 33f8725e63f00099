/**
 * Owns the second reading of a text: invisible characters stripped, NFKC, look-alike Cyrillic and
 * Greek folded to Latin — and the way back from an offset in it to the text as it was written.
 *
 * Works cluster by cluster (a character and what attaches to it), so the reading of a prefix that
 * ends between clusters is a prefix of the whole reading. Pure; must never change the written text.
 */

/** UTF-16 offsets, end exclusive. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/**
 * What belongs to the character before it: marks, invisibles (which end up as nothing), Hangul
 * vowels and finals (they compose), half-width voicing marks (they compose after NFKC).
 */
const ATTACHED = '[\\p{M}\\p{DI}\\u1160-\\u11ff\\uff9e\\uff9f]';

/** No letter has more; and without a bound a million marks overflow V8's regexp stack. */
const ATTACHED_MAX = 62;

/** A cluster that can read differently from how it is written. Bare ASCII never does. */
const CLUSTER = new RegExp(
  `(?:[\\0-\\x7f](?=${ATTACHED})|[^\\0-\\x7f])${ATTACHED}{0,${ATTACHED_MAX}}`,
  'gu',
);

const IS_ATTACHED = new RegExp(ATTACHED, 'u');
const NOT_ATTACHED = new RegExp(ATTACHED.replace('[', '[^'), 'gu');

/** UTF-16 units in which the end of a text is searched for its last letter, at a time. */
const WINDOW = 1024;

const INVISIBLE = /\p{DI}+/gu;
const NOT_ASCII = /[^\0-\x7f]/;

/** A look-alike and the Latin letter it passes for, pair by pair. */
const LOOK_ALIKES =
  'аa вb сc ԁd еe һh нh іi јj кk ӏl мm оo рp ԛq ѕs тt уy ѵv ԝw хx ' +
  'АA ВB СC ЕE ԌG НH ІI ЈJ КK МM ОO РP ԚQ ЅS ТT УY ѴV ԜW ХX ' +
  'αa εe γy ηn ιi κk νv οo ρp τt υu χx ϲc ϳj ' +
  'ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϹC ͿJ ' +
  'ıi ǀl ոn ɡg ɑa';

const LATIN_OF = new Map(
  LOOK_ALIKES.split(' ').map((pair) => {
    const [alike = '', latin = ''] = pair;
    return [alike, latin] as const;
  }),
);

/**
 * Receives a cluster whose normalised form differs.
 * @param start UTF-16 offset into the text
 * @param end exclusive
 * @returns false to end the walk
 */
type VisitRewrite = (start: number, end: number, read: string) => boolean;

/**
 * Visits, in order, every cluster of a text whose normalised form differs. Keeps nothing per
 * cluster, because every letter may be one (an object for each took 1.3 GB for 8,000,000 letters).
 */
function visitRewrites(text: string, visit: VisitRewrite): void {
  let at = text.search(NOT_ASCII);
  if (at === -1) return;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    const kind = kindOf(unit);
    if (kind === ATTACHING || (kind === ODD && kindOf(text.charCodeAt(at + 1)) === ATTACHING)) {
      // A letter before it, and all that may attach to it or be more than one unit.
      const from = kind === ATTACHING ? Math.max(0, at - 1) : at;
      at += 1;
      while (at < text.length && kindOf(text.charCodeAt(at)) === ATTACHING) at += 1;
      if (!visitClusters(text, from, at, visit)) return;
      continue;
    }
    if (kind === ODD && !visit(at, at + 1, odd.get(unit) ?? '')) return;
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
 * What a UTF-16 unit can do: read as itself, read otherwise, or attach to the letter before it or to
 * the unit beside it. Most letters stand alone: a look tells how they read.
 */
const UNKNOWN = 0;
const PLAIN = 1;
const ODD = 2;
const ATTACHING = 3;
const kinds = new Uint8Array(0x1_0000).fill(PLAIN, 0, 0x80);
/** an odd unit → what it reads as */
const odd = new Map<number, string>();

/** @param unit NaN past a text's end */
function kindOf(unit: number): number {
  const known = kinds[unit];
  return known === undefined || known === UNKNOWN ? learn(unit) : known;
}

function learn(unit: number): number {
  if (Number.isNaN(unit)) return PLAIN;
  const letter = String.fromCharCode(unit);
  const isHalf = unit >= 0xd800 && unit <= 0xdfff;
  const read = normaliseCluster(letter);
  const kind = isHalf || IS_ATTACHED.test(letter) ? ATTACHING : read === letter ? PLAIN : ODD;
  kinds[unit] = kind;
  if (kind === ODD) odd.set(unit, read);
  return kind;
}

/** Where two readings of a text differ: pairs of offsets, in order, end exclusive; pair by pair. */
export interface Changes<Offsets> {
  readonly written: Offsets;
  readonly read: Offsets;
}

export interface Normalised {
  /** the text as a reader is deceived into seeing it; the very same string when nothing changes */
  readonly text: string;
  /**
   * Where it differs from the written text: UTF-16 offsets, whole clusters, those that touch as
   * one. Outside them both have the same characters. Null when there are more than were asked for.
   */
  readonly changes: Changes<readonly number[]> | null;
}

/** Pieces joined at a time: building one string from millions of pieces takes 64 bytes for each. */
const PIECES_MAX = 4096;

/**
 * Normalises a text.
 * @param changesMax most changes that are listed
 */
export function normaliseWithChanges(text: string, changesMax: number): Normalised {
  const written: number[] = [];
  const read: number[] = [];
  let isListed = true;
  let pieces: string[] = [];
  const joined: string[] = [];
  let from = 0;
  let behind = 0;
  visitRewrites(text, (start, end, cluster) => {
    if (start > from) pieces.push(text.slice(from, start));
    pieces.push(cluster);
    if (pieces.length >= PIECES_MAX) {
      joined.push(pieces.join(''));
      pieces = [];
    }
    from = end;
    const readEnd = start + behind + cluster.length;
    if (written.length > 0 && written.at(-1) === start) {
      written[written.length - 1] = end;
      read[read.length - 1] = readEnd;
    } else if (written.length === 2 * changesMax) {
      isListed = false;
    } else {
      written.push(start, end);
      read.push(start + behind, readEnd);
    }
    behind = readEnd - end;
    return true;
  });
  const changes = isListed ? { written, read } : null;
  if (from === 0) return { text, changes };
  joined.push(...pieces, text.slice(from));
  return { text: joined.join(''), changes };
}

/** The text as a reader is deceived into seeing it; the very same string when nothing changes. */
export function normalise(text: string): string {
  return normaliseWithChanges(text, 0).text;
}

/**
 * How much of `normalise(text)` stays as it is whatever would follow the text: all but its last
 * cluster, to which the next character may attach.
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

/** Where the last character stands that attaches to none before it; 0 when there is none. */
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
 * Maps a range of the normalised text back to the written one. A cluster that reads otherwise is taken
 * whole: nothing of what produced the range is missing.
 * Walks over the text up to the range's end.
 * @param text as it was written
 * @param range offsets into the normalised text
 * @returns offsets into the text
 */
export function toWrittenRange(text: string, range: TextRange): TextRange {
  let start: number | null = null;
  let end: number | null = null;
  // How much farther on the written text is, behind what was passed.
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
  let latin = '';
  for (const letter of cluster.replace(INVISIBLE, '').normalize('NFKC')) {
    latin += LATIN_OF.get(letter) ?? letter;
  }
  return latin;
}
