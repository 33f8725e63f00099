/**
 * Small defects of one line of source: another edge of a comparison, a constant one off, a condition
 * negated, a call or a part of a SQL condition left out. Reads text and not syntax, so that SQL in
 * templates is covered too; a line that does not compile counts as noticed.
 */

/** A run of text that becomes another one. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

const SWAPS: Readonly<Record<string, string>> = {
  ' < ': ' <= ',
  ' <= ': ' < ',
  ' > ': ' >= ',
  ' >= ': ' > ',
  ' === ': ' !== ',
  ' !== ': ' === ',
  ' && ': ' || ',
  ' || ': ' && ',
};
const OPERATORS = / (?:<=?|>=?|===|!==|&&|\|\|) /g;
/** Neither a parameter of SQL (`$1`), nor a part of a name or of a fraction. */
const NUMBERS = /(?<![\w$.])\d[\d_]*(?![\w.])/g;
const IF = /\bif \(/g;
const AND = /\s?\bAND /g;
/** Ends a condition of SQL, unless it is in parentheses. */
const AFTER_CONDITION = /^(?:\s+(?:AND|OR|THEN|ORDER|GROUP|LIMIT|FOR|RETURNING)\b|\s*$|[)`'"])/;
/** A statement that is a call and no more: a guard that throws, or something that is done. */
const CALL = /^\s*(?:await )?(?!super\b)[\w.#]+\(.*\);$/;
const NO_CODE = /^\s*(?:\/\/|\/\*|\*|import\b|--)/;

/** Where parentheses and braces that are open at `start` are closed, or `isEnd` holds; or -1. */
function endFrom(line: string, start: number, isEnd: (rest: string) => boolean): number {
  let depth = 0;
  for (let at = start; at <= line.length; at += 1) {
    if (depth === 0 && isEnd(line.slice(at))) return at;
    const character = line[at] ?? '';
    if ('({'.includes(character)) depth += 1;
    if (')}'.includes(character)) depth -= 1;
    if (depth < 0) return -1;
  }
  return -1;
}

const matchesOf = (line: string, pattern: RegExp) =>
  [...line.matchAll(pattern)].map(({ 0: text, index }) => ({ text, from: index }));

const swaps = (line: string): Change[] =>
  matchesOf(line, OPERATORS).map(({ text, from }) => ({
    from,
    to: from + text.length,
    text: SWAPS[text] ?? text,
  }));

const numbers = (line: string): Change[] =>
  matchesOf(line, NUMBERS).flatMap(({ text, from }) => {
    const value = Number(text.replaceAll('_', ''));
    const to = from + text.length;
    return [value + 1, value - 1].map((one) => ({ from, to, text: String(one) }));
  });

const negations = (line: string): Change[] =>
  matchesOf(line, IF).flatMap(({ text, from }) => {
    const start = from + text.length;
    const to = endFrom(line, start, (rest) => rest.startsWith(')'));
    if (to < 0) return [];
    return [`!(${line.slice(start, to)})`, 'false'].map((one) => ({ from: start, to, text: one }));
  });

const conditions = (line: string): Change[] =>
  matchesOf(line, AND).flatMap(({ text, from }) => {
    if (/\bBETWEEN \S+$/.test(line.slice(0, from))) return [];
    const to = endFrom(line, from + text.length, (rest) => AFTER_CONDITION.test(rest));
    return to < 0 ? [] : [{ from, to, text: '' }];
  });

const calls = (line: string): Change[] =>
  CALL.test(line) ? [{ from: 0, to: line.length, text: '' }] : [];

/** Returns the line once for each defect; none for comments and imports. */
export function defectsOf(line: string): string[] {
  if (NO_CODE.test(line)) return [];
  const changes = [swaps, numbers, negations, conditions, calls].flatMap((kind) => kind(line));
  const lines = changes.map(({ from, to, text }) => line.slice(0, from) + text + line.slice(to));
  return [...new Set(lines)];
}
