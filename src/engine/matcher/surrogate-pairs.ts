/**
 * Owns the surrogate pairs in a pattern. The corpus is written for JavaScript. Its patterns match the
 * units of UTF-16: a character past U+FFFF is two of them. RE2 matches UTF-8, which has no surrogates.
 */

/** Half of a surrogate pair: `\\uD83D`, or itself; and a class of such halves. */
const HIGH = '(?:\\\\u[dD][89abAB][\\da-fA-F]{2}|[\\ud800-\\udbff])';
const LOW = '(?:\\\\u[dD][c-fC-F][\\da-fA-F]{2}|[\\udc00-\\udfff])';
const classOf = (half: string) => `\\[(?:${half}(?:-${half})?)+\\]`;
/** A pair, one of the halves of a pair or a class of them, or any other escape. */
const SURROGATES = new RegExp(
  `(?<pair>${HIGH}${LOW})|(?<high>${HIGH}|${classOf(HIGH)})(?<low>${LOW}|${classOf(LOW)})|\\\\[^]`,
  'g',
);
const HALF_RANGES = new RegExp(`(${HIGH}|${LOW})(?:-(${HIGH}|${LOW}))?`, 'g');
const LONE_HALF = /\\u[dD][89a-fA-F][\da-fA-F]{2}|\p{Surrogate}|\\./gsu;

/**
 * The pattern with its surrogate pairs as the characters that they encode: `\uDB40[\uDC00-\uDC7F]`
 * becomes a class of the characters U+E0000 to U+E007F.
 */
export function withoutSurrogates(source: string): string {
  return source.replace(SURROGATES, (written, ...groups) => {
    const { pair, high, low } = groups.at(-1) as Readonly<Record<string, string | undefined>>;
    if (pair !== undefined) return pairOf(pair);
    if (high === undefined || low === undefined) return written;
    const lows = halvesOf(low);
    const ranges = halvesOf(high).flatMap(([first, last]) => rangesOfPairs(first, last, lows));
    return `[${ranges.join('')}]`;
  });
}

/** The first half of a surrogate pair that is left in a pattern; null if there is none. */
export function loneSurrogate(source: string): string | null {
  for (const [found] of source.matchAll(LONE_HALF)) {
    if (/^\\u[dD]/.test(found)) return found;
    if (!found.startsWith('\\')) return `\\u${found.charCodeAt(0).toString(16).toUpperCase()}`;
  }
  return null;
}

function unitOf(half: string): number {
  return half.length === 1 ? half.charCodeAt(0) : Number.parseInt(half.slice(2), 16);
}

const codePointOf = (high: number, low: number): number =>
  0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);

function pairOf(pair: string): string {
  const [high = 0, low = 0] = halvesOf(pair).map(([half]) => half);
  return String.fromCodePoint(codePointOf(high, low));
}

/** Inclusive ranges of code units, in the order in which they are written. */
function halvesOf(written: string): [number, number][] {
  return [...written.matchAll(HALF_RANGES)].map(([, first = '', last = first]) => [
    unitOf(first),
    unitOf(last),
  ]);
}

/** The members of a class of characters, one range for each high half and range of low halves. */
function rangesOfPairs(
  first: number,
  last: number,
  lows: readonly (readonly [number, number])[],
): string[] {
  const ranges: string[] = [];
  for (let high = first; high <= last; high += 1) {
    for (const [from, to] of lows) {
      const start = String.fromCodePoint(codePointOf(high, from));
      ranges.push(from === to ? start : `${start}-${String.fromCodePoint(codePointOf(high, to))}`);
    }
  }
  return ranges;
}
