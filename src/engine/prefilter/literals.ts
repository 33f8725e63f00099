/**
 * Owns the choice among literals: which are worth looking for, how often they are likely to be hit,
 * and as which bytes they stand in a folded text whatever their case.
 */
import { firstFrom } from './int-arrays.ts';

/** A literal's useful length: a longer one is hardly rarer, and costs states. */
const USEFUL_CHARS = 12;
const LITERALS_MAX = 200;
/** Spellings of one literal that are looked for, and characters that they must have. */
const SPELLINGS_MAX = 16;
const SPELLED_CHARS_MIN = 2;
/** A single character is looked for when it is as rare as this. */
const SINGLE_MAX = 3.5 / 1000;

/** How often a character stands in text and code, in thousandths of a folded text. */
const FREQUENT = new Map<string, number>(
  Object.entries({
    ' ': 150,
    e: 95,
    t: 70,
    a: 62,
    o: 60,
    i: 58,
    n: 56,
    s: 55,
    r: 53,
    l: 34,
    h: 32,
    d: 32,
    c: 30,
    '0': 30,
    u: 24,
    m: 22,
    p: 21,
    f: 18,
    g: 17,
    '"': 14,
    w: 13,
    y: 13,
    b: 12,
    '.': 12,
    ',': 10,
    '-': 10,
    v: 9,
    '/': 9,
    ':': 9,
    _: 7,
    k: 7,
    '(': 7,
    ')': 7,
    '=': 6,
    "'": 5,
    x: 4,
    '{': 4,
    '}': 4,
    ';': 4,
    '*': 4,
    '>': 4,
    j: 3,
    '[': 3,
    ']': 3,
    '`': 3,
    '#': 3,
    '<': 3,
    q: 2,
    z: 2,
    '\\': 2,
    $: 2,
    '|': 2,
    '&': 2,
    '@': 1,
    '!': 1,
    '?': 1,
    '+': 1,
    '%': 1,
  }),
);
const RARE = 0.1;

/**
 * Words and endings that stand in text and code far more often than their letters let expect, in
 * folded form; one in a thousand characters is near enough for all.
 */
const COMMON: ReadonlySet<string> = new Set([
  ...['the ', 'tion', 'ction', 'ions', 'that', 'that ', 'this', 'this ', 'with', 'with ', 'for '],
  ...['from', 'from ', 'you', 'you ', 'your', 'all ', 'by ', 'be ', 'of the', 'of the ', 'have'],
  ...['will', 'when', 'what', 'then', 'use ', 'other', 'work', 'here', 'part', 'tent', 'onse'],
  ...['000', '0000', '00000', '000000', '0000000', '00000000', '0.0', '0.0.0', '00.', '00.0'],
  ...['http', '://', 's://', 'https://', '"https://', '.com', 'com', '": "', '" ', "' ", '` '],
  ...['p ', '\\', '$', '${', '**', '---', '===', '```', '###', '### ', '](https://', ') =>'],
  ...['string', 'error', 'github', 'name', 'script', 'port ', 'turn', 'function', 'function '],
  ...['return', 'return ', 'code', 'value', 'run', 'schema', 'export', 'export ', 'data', 'call'],
  ...['log', 'key', 'valid', 'import', 'source', 'default', 'json', 'open', 'read', 'require'],
  ...['file', 'parse', 'type ', 'help', 'request', 'map', 'gn', 'true', 'version', 'text', 'tool'],
  ...['message', 'path', 'description', 'build', 'content', 'module', 'pass', 'number', 'config'],
  ...['event', 'format', 'example', 'provid', 'provide', 'null', 'meth', 'response', 'user'],
]);
const COMMON_LIKELIHOOD = 1 / 1000;

/** Letters follow each other less freely than chance has it: a word is likelier than its letters. */
const COHESION = 0.75;

function likelihood(literal: string): number {
  if (COMMON.has(literal)) return COMMON_LIKELIHOOD;
  let likely = 1;
  for (const letter of literal) likely *= (FREQUENT.get(letter) ?? RARE) / 1000;
  return literal.length < 2 ? likely : likely ** COHESION;
}

/** Estimated hits per character of text: lower is better. */
export function costOf(literals: readonly string[]): number {
  return literals.reduce((sum, literal) => sum + likelihood(literal), 0);
}

export interface Trimmed {
  /** each once, none the beginning of another, none beginning with a blank */
  readonly literals: readonly string[];
  /** characters of the strings that stand before their literals, at most, and blanks among them */
  readonly skippedChars: number;
  readonly skippedBlanks: number;
}

/**
 * The literals worth looking for in a set of folded strings, one of which every match contains.
 * @returns null when one of them is too common to be looked for
 */
export function trimmed(strings: readonly string[]): Trimmed | null {
  if (strings.length === 0 || strings.length > LITERALS_MAX) return null;
  const cut = new Set<string>();
  let skippedChars = 0;
  let skippedBlanks = 0;
  // Shortest first: what another string holds need not be looked for twice.
  for (const string of strings.toSorted((a, b) => a.length - b.length)) {
    const { literal, skipped } = partIn(string, cut) ?? usefulPart(string);
    if (literal.length === 0) return null;
    if ([...literal].length === 1 && likelihood(literal) > SINGLE_MAX) return null;
    cut.add(literal);
    skippedChars = Math.max(skippedChars, [...skipped].length);
    skippedBlanks = Math.max(skippedBlanks, skipped.split(' ').length - 1);
  }
  // What begins with another literal of the set is hit only where that one is. Sorted, the shorter
  // one comes first and those that begin with it follow.
  const literals: string[] = [];
  for (const literal of [...cut].sort()) {
    if (!literal.startsWith(literals.at(-1) ?? '\0')) literals.push(literal);
  }
  return { literals, skippedChars, skippedBlanks };
}

function partIn(string: string, literals: ReadonlySet<string>): UsefulPart | null {
  for (const literal of literals) {
    const at = string.indexOf(literal);
    if (at !== -1) return { literal, skipped: string.slice(0, at) };
  }
  return null;
}

interface UsefulPart {
  readonly literal: string;
  readonly skipped: string;
}

const usefulParts = new Map<string, UsefulPart>();

/** Lets go of what was kept while patterns were read, many of which hold the same strings. */
export function forgetParts(): void {
  usefulParts.clear();
}

/** The stretch of a string that is rarest. */
function usefulPart(string: string): UsefulPart {
  const known = usefulParts.get(string);
  if (known !== undefined) return known;
  const found = findUsefulPart(string);
  usefulParts.set(string, found);
  return found;
}

function findUsefulPart(string: string): UsefulPart {
  const characters = [...string];
  let best = { literal: '', skipped: '', cost: Number.POSITIVE_INFINITY };
  // A blank to begin with is left out: a run of white space has no one place where it begins.
  const first = characters[0] === ' ' ? 1 : 0;
  const last = Math.max(first, characters.length - USEFUL_CHARS);
  for (let from = first; from <= last; from += 1) {
    if (characters[from] === ' ') continue;
    const literal = characters.slice(from, from + USEFUL_CHARS).join('');
    const cost = likelihood(literal);
    if (cost < best.cost) best = { literal, skipped: characters.slice(0, from).join(''), cost };
  }
  return best;
}

/**
 * The spellings of a literal in a folded text: a letter beyond ASCII in every case that RE2 takes
 * for the same. Of a literal with too many, those of its beginning.
 * @returns null when even its beginning has too many
 */
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

/** Letters that are equal when case does not matter. */
function casesOf(letter: string): readonly string[] {
  return letter <= '\x7f' ? [letter] : (orbits().get(letter) ?? [letter]);
}

/** The characters that equal one of a range when case does not matter. */
export function equalsOf(from: number, to: number): number[] {
  casedPoints ??= Int32Array.from(orbits().keys(), (letter) => letter.codePointAt(0) ?? 0).sort();
  const equals: number[] = [];
  let at = firstFrom(casedPoints, from);
  for (; at < casedPoints.length && (casedPoints[at] as number) <= to; at += 1) {
    for (const one of casesOf(String.fromCodePoint(casedPoints[at] as number))) {
      equals.push(one.codePointAt(0) ?? 0);
    }
  }
  return equals;
}

/** Those that `orbits` tells of, in order. */
let casedPoints: Int32Array | null = null;
let orbitTable: ReadonlyMap<string, readonly string[]> | null = null;

/** Equal to RE2 though Unicode's mappings tell it of their upper case only, which is several letters. */
const EQUAL_TO_RE2 = [
  ['\u0390', '\u1fd3'],
  ['\u03b0', '\u1fe3'],
  ['\ufb05', '\ufb06'],
] as const;

/**
 * Every cased letter beyond ASCII and its equals, joined over both directions of Unicode's simple
 * mappings and RE2's own: never less than its orbits (re2/unicode_casefold.h).
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
      // ASCII letters stand in lower case in what is scanned.
      [...new Set([...equal].map((one) => (/^[A-Z]$/.test(one) ? one.toLowerCase() : one)))],
    ]),
  );
  return orbitTable;
}

const CASED_BLOCK = 64;

/** The characters beyond ASCII of all blocks that have cased ones; most have none. */
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
