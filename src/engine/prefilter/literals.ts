/**
 * Owns the choice of the literals that are searched in texts: the rarest parts of the strings that a
 * pattern needs, by an estimate of how often they occur.
 */

/** Useful length of a literal: a longer one is hardly rarer, and only fifteen characters are compared. */
const USEFUL_CHARS = 12;
const LITERALS_MAX = 200;
/** A single character is searched only if it is this rare. */
const SINGLE_MAX = 3.5 / 1000;

/** Frequency of characters in folded text and code, per thousand. */
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
 * Folded words and endings that occur in text and code far more often than their letters suggest; one
 * in a thousand characters is close enough for all.
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

/** Letters are not independent: a word is more likely than the product of its letters. */
const COHESION = 0.75;

function likelihood(literal: string): number {
  if (COMMON.has(literal)) return COMMON_LIKELIHOOD;
  let likely = 1;
  for (const letter of literal) likely *= (FREQUENT.get(letter) ?? RARE) / 1000;
  return literal.length < 2 ? likely : likely ** COHESION;
}

/** Estimated hits per character of text. */
export function costOf(literals: readonly string[]): number {
  return literals.reduce((sum, literal) => sum + likelihood(literal), 0);
}

interface ChosenLiterals {
  /** each once, none a prefix of another, none beginning with a blank */
  readonly literals: readonly string[];
  /** most characters of a string before its literal, and most blanks among them */
  readonly skippedChars: number;
  readonly skippedBlanks: number;
}

/** Chooses literals. Caches its results, because many patterns have the same strings. */
export class LiteralChooser {
  readonly #rarestParts = new Map<string, Part>();

  /**
   * The literals to search for in place of a set of folded strings; every match has at least one.
   * @returns null when one of them is too common to be searched
   */
  choose(strings: readonly string[]): ChosenLiterals | null {
    if (strings.length === 0 || strings.length > LITERALS_MAX) return null;
    const chosen = new Set<string>();
    let skippedChars = 0;
    let skippedBlanks = 0;
    // Shortest first: a string that contains a chosen literal needs no other.
    for (const string of strings.toSorted((a, b) => a.length - b.length)) {
      const { literal, skipped } = chosenIn(string, chosen) ?? this.#rarestPart(string);
      if (literal.length === 0) return null;
      if ([...literal].length === 1 && likelihood(literal) > SINGLE_MAX) return null;
      chosen.add(literal);
      skippedChars = Math.max(skippedChars, [...skipped].length);
      skippedBlanks = Math.max(skippedBlanks, skipped.split(' ').length - 1);
    }
    // A literal with another one as prefix is hit only where that one is. Sorted, the prefix comes
    // first and the longer ones follow it.
    const literals: string[] = [];
    for (const literal of [...chosen].sort()) {
      if (!literal.startsWith(literals.at(-1) ?? '\0')) literals.push(literal);
    }
    return { literals, skippedChars, skippedBlanks };
  }

  #rarestPart(string: string): Part {
    const known = this.#rarestParts.get(string);
    if (known !== undefined) return known;
    const found = rarestPart(string);
    this.#rarestParts.set(string, found);
    return found;
  }
}

interface Part {
  readonly literal: string;
  /** the string before it */
  readonly skipped: string;
}

function chosenIn(string: string, literals: ReadonlySet<string>): Part | null {
  for (const literal of literals) {
    const at = string.indexOf(literal);
    if (at !== -1) return { literal, skipped: string.slice(0, at) };
  }
  return null;
}

function rarestPart(string: string): Part {
  const characters = [...string];
  let best = { literal: '', skipped: '', cost: Number.POSITIVE_INFINITY };
  // A leading blank is left out, because the start of a run of white space is not known.
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
