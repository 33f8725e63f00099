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
 * The text as a reader is deceived into seeing it.
 * @returns the very same string when there is nothing to normalise
 */
export function normalise(text: string): string {
  return NOT_ASCII.test(text) ? text.replace(CLUSTER, normaliseCluster) : text;
}

/**
 * Where `normalise(text)` reads otherwise than the text: pairs of UTF-16 offsets into it, in order, end
 * exclusive, whole clusters. Outside them both have the same characters.
 * @returns null when there are more than `most` such stretches
 */
export function changesIn(text: string, most: number): number[] | null {
  const changes: number[] = [];
  let behind = 0;
  for (const { 0: cluster, index } of text.matchAll(CLUSTER)) {
    const read = normaliseCluster(cluster);
    if (read === cluster) continue;
    const start = index + behind;
    const end = start + read.length;
    if (changes.at(-1) === start) changes[changes.length - 1] = end;
    else if (changes.length === 2 * most) return null;
    else changes.push(start, end);
    behind += read.length - cluster.length;
  }
  return changes;
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
  return normalise(text.slice(0, end)).length;
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
 * Maps a range of the normalised text back to the written one. A cluster is taken whole: nothing of
 * what produced the range is missing.
 * @param text the written text
 * @param range offsets into `normalise(text)`
 * @returns offsets into `text`
 */
export function toWrittenRange(text: string, range: TextRange): TextRange {
  let start: number | null = null;
  // What stands before `written` reads as what stands before `read`; both advance together.
  let read = 0;
  let written = 0;
  const inPlain = (offset: number) => written + (offset - read);
  for (const { 0: cluster, index } of text.matchAll(CLUSTER)) {
    const plainEnd = read + (index - written);
    if (range.start < plainEnd) start ??= inPlain(range.start);
    if (range.end <= plainEnd) break;
    const clusterEnd = plainEnd + normaliseCluster(cluster).length;
    if (range.start < clusterEnd) start ??= index;
    read = clusterEnd;
    written = index + cluster.length;
    if (range.end <= read) return { start: start ?? written, end: written };
  }
  return { start: start ?? inPlain(range.start), end: inPlain(range.end) };
}

function normaliseCluster(cluster: string): string {
  let latin = '';
  for (const letter of cluster.replace(INVISIBLE, '').normalize('NFKC')) {
    latin += LATIN_OF.get(letter) ?? letter;
  }
  return latin;
}
