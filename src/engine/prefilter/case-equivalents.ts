/**
 * Owns the case folding of non-ASCII letters as RE2 does it: which letters are equal without case, and
 * the spellings of a literal that must therefore be searched.
 */
import { lowerBound } from './int-arrays.ts';

/** Most spellings of one literal, and fewest characters of each. */
const SPELLINGS_MAX = 16;
const SPELLED_CHARS_MIN = 2;

export function spellingsOf(literal: string): string[] | null {
  if (ASCII.test(literal)) return [literal];
  let spellings = [''];
  let letters = 0;
  for (const letter of literal) {
    const cases = casesOf(letter);
    if (spellings.length * cases.length > SPELLINGS_MAX) break;
    spellings = spellings.flatMap((head) => cases.map((tail) => head + tail));
    letters += 1;
  }
  const isAll = letters === [...literal].length;
  return isAll || letters >= SPELLED_CHARS_MIN ? spellings : null;
}

const ASCII = /^[\0-\x7f]*$/;

function casesOf(letter: string): readonly string[] {
  return letter <= '\x7f' ? [letter] : (orbits().get(letter) ?? [letter]);
}

/** The characters that equal one of a range without case. */
export function caseEquivalentsIn(from: number, to: number): number[] {
  casedPoints ??= Int32Array.from(orbits().keys(), (letter) => letter.codePointAt(0) ?? 0).sort();
  const equals: number[] = [];
  let at = lowerBound(casedPoints, from);
  for (; at < casedPoints.length && (casedPoints[at] as number) <= to; at += 1) {
    for (const one of casesOf(String.fromCodePoint(casedPoints[at] as number))) {
      equals.push(one.codePointAt(0) ?? 0);
    }
  }
  return equals;
}

/** Code points of the keys of `orbits`, in order. */
let casedPoints: Int32Array | null = null;
let orbitTable: ReadonlyMap<string, readonly string[]> | null = null;

/** Equal in RE2, though in Unicode only by upper cases of several letters. */
const EQUAL_TO_RE2 = [
  ['\u0390', '\u1fd3'],
  ['\u03b0', '\u1fe3'],
  ['\ufb05', '\ufb06'],
] as const;

/**
 * Every cased non-ASCII letter and its equals, by both directions of Unicode's simple mappings and
 * RE2's own: at least RE2's orbits (re2/unicode_casefold.h). Computed when first needed.
 */
function orbits(): ReadonlyMap<string, readonly string[]> {
  if (orbitTable !== null) return orbitTable;
  const orbit = new Map<string, Set<string>>();
  const unite = (a: string, b: string) => {
    const both = new Set([...(orbit.get(a) ?? [a]), ...(orbit.get(b) ?? [b])]);
    for (const letter of both) orbit.set(letter, both);
  };
  for (const point of casedCandidates()) {
    const letter = String.fromCodePoint(point);
    const lower = letter.toLowerCase();
    const upper = letter.toUpperCase();
    if (lower !== letter && [...lower].length === 1) unite(letter, lower);
    if (upper !== letter && [...upper].length === 1) unite(letter, upper);
  }
  for (const [a, b] of EQUAL_TO_RE2) unite(a, b);
  orbitTable = new Map(
    [...orbit].map(([letter, equal]) => [
      letter,
      // ASCII letters are folded to lower case.
      [...new Set([...equal].map((one) => (/^[A-Z]$/.test(one) ? one.toLowerCase() : one)))],
    ]),
  );
  return orbitTable;
}

const CASED_BLOCK = 64;

/** The non-ASCII characters of all blocks that have cased ones; most have none. */
function casedCandidates(): number[] {
  const candidates: number[] = [];
  for (let from = 0x80; from < 0x1_f000; from += CASED_BLOCK) {
    if (from >= 0xd800 && from <= 0xdfff) continue;
    const points = Array.from({ length: CASED_BLOCK }, (_, at) => from + at);
    const block = String.fromCodePoint(...points);
    if (block.toLowerCase() !== block || block.toUpperCase() !== block) candidates.push(...points);
  }
  return candidates;
}
