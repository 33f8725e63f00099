/**
 * Writes texts that patterns may match, from their syntax trees, and disguises them: other white space,
 * look-alikes, invisible characters, code blocks. The same seed gives the same texts.
 */
import type { AST } from '@eslint-community/regexpp';
import { parsePattern, splitFlags } from '../../src/engine/matcher/pattern-syntax.ts';
import { withoutSurrogates } from '../../src/engine/matcher/surrogate-pairs.ts';
import { charactersOf } from '../../src/engine/prefilter/character-class.ts';
import { pick, seeded } from '../otlp/json-writer.ts';

/** More repetitions than the least that a quantifier requires. */
const MORE_MAX = 2;
/** A class with more characters is sampled from printable ASCII first. */
const PRINTABLE = [32, 126] as const;
const SPACES = [
  ...[' ', ' ', ' ', ' ', '  ', '\t', '\n', '\r\n', '\r', '\f', '\v', '\u00a0', '\u1680'],
  ...['\u2003', '\u2028', '\u2029', '\u3000', '\ufeff'],
];
const INVISIBLE = ['\u200b', '\u2060', '\u00ad', '\u034f', '\u202e', '\ufeff', '\u{e0041}'];
const ALIKE: Readonly<Record<string, string>> = {
  a: 'аα',
  b: 'Ь',
  c: 'сϲ',
  e: 'еҽ',
  i: 'іι',
  k: 'кK',
  l: 'ӏӀ',
  o: 'оσｏ',
  r: 'г',
  s: 'ѕſ',
  w: 'ш',
  y: 'уү',
};
const AROUND: readonly (readonly [string, string])[] = [
  ['```\n', '\n```'],
  ['```\n', '\n```\nand so on'],
  ['`', '`'],
  ['| "', '" |'],
  ['see `code` and ', ''],
  ['| a | "b" |\n', ''],
  ['> ', '\n'],
  ['— «', '» …'],
  ['😀', '😀'],
  ['ｘ ', ' ﬁn'],
];

export class Sampler {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  /** A text that the pattern may match; null if it cannot be parsed. */
  textOf(source: string): string | null {
    const { flags, body } = splitFlags(withoutSurrogates(source));
    const pattern = parsePattern(body);
    return pattern === null ? null : this.#anyOf(pattern.alternatives, flags.includes('s'));
  }

  /** The text with none or some of the disguises. */
  disguised(text: string): string {
    let written = text;
    if (this.#isOneIn(3)) written = this.#replaced(written, /[ \t]/g, 2, () => this.#pick(SPACES));
    if (this.#isOneIn(4)) {
      written = this.#replaced(written, /[abceiklorswy]/g, 4, (letter) =>
        this.#pick([...(ALIKE[letter] ?? letter)]),
      );
    }
    if (this.#isOneIn(5)) {
      written = this.#replaced(written, /\w/g, 8, (letter) => letter + this.#pick(INVISIBLE));
    }
    if (this.#isOneIn(2)) {
      const [before, after] = this.#pick(AROUND);
      written = before + written + after;
    }
    return written;
  }

  #anyOf(alternatives: readonly AST.Alternative[], dotAll: boolean): string {
    const { elements } = this.#pick(alternatives);
    return elements.map((element) => this.#ofElement(element, dotAll)).join('');
  }

  #ofElement(node: AST.Element, dotAll: boolean): string {
    switch (node.type) {
      case 'Group':
        return this.#anyOf(node.alternatives, dotAll || node.modifiers?.add.dotAll === true);
      case 'CapturingGroup':
        return this.#anyOf(node.alternatives, dotAll);
      case 'Quantifier': {
        const most = Math.min(node.max, node.min + MORE_MAX);
        const count = node.min + this.#below(most - node.min + 1);
        return Array.from({ length: count }, () => this.#ofElement(node.element, dotAll)).join('');
      }
      case 'Character': {
        const letter = String.fromCodePoint(node.value);
        return this.#isOneIn(8) ? letter.toUpperCase() : letter;
      }
      case 'CharacterSet':
        if (node.kind === 'space' && !node.negate) return this.#pick(SPACES);
        return this.#ofCharacters(node, dotAll);
      case 'CharacterClass':
        return this.#ofCharacters(node, dotAll);
      default:
        return '';
    }
  }

  #ofCharacters(node: AST.CharacterSet | AST.CharacterClass, dotAll: boolean): string {
    const ranges = charactersOf(node, dotAll);
    if (ranges.length === 0) return '';
    const [first, last] = PRINTABLE;
    const printable = ranges
      .map(([from, to]) => [Math.max(from, first), Math.min(to, last)] as const)
      .filter(([from, to]) => from <= to);
    const usual = printable.length > 0 && !this.#isOneIn(10) ? printable : ranges;
    const [from, to] = this.#pick(usual);
    const point = from + this.#below(to - from + 1);
    return String.fromCodePoint(point).toWellFormed();
  }

  /** Replaces one in so many matches. */
  #replaced(text: string, what: RegExp, oneIn: number, by: (found: string) => string): string {
    return text.replace(what, (found) => (this.#isOneIn(oneIn) ? by(found) : found));
  }

  #pick<Element>(list: readonly Element[]): Element {
    return pick(this.#random, list);
  }

  #isOneIn(count: number): boolean {
    return this.#below(count) === 0;
  }

  /** A whole number from 0. */
  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}
