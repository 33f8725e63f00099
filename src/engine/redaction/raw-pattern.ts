/**
 * Owns the form of a pattern that is searched in JSON as it was sent: it is found wherever the pattern
 * matches in a resolved string of the JSON, and in more places. Strings with `\u` or `\/` are left to the
 * caller; every other escape stands for one of seven characters, so a character that may be one of these
 * may also be written as an escape, also in JSON inside of JSON (`\\n`).
 */
import type { AST } from '@eslint-community/regexpp';
import { parseAsWritten, splitFlags } from '../matcher/pattern-syntax.ts';
import { charactersOf } from '../prefilter/character-class.ts';

/** Most characters of a pattern with its repetitions written out. */
export const WRITTEN_OUT_MAX = 1000;

export interface RawPattern {
  readonly source: string;
  /** characters with all repetitions written out, once for those without a limit */
  readonly size: number;
  /** least characters of a match */
  readonly least: number;
}

/** Letters of escapes, as a class of RE2, by the character that they stand for. */
const ESCAPES: readonly (readonly [code: number, letter: string])[] = [
  [8, 'b'],
  [9, 't'],
  [10, 'n'],
  [12, 'f'],
  [13, 'r'],
  [34, '"'],
  [92, '\\\\'],
];
/** A word boundary at the beginning: the letter of an escape before it does not belong to the text. */
const LEADING_BOUNDARY = '(?:\\b|\\\\[bfnrt])';

/** A part: `isPlain` if what it ends with is written as it is. */
interface Part extends RawPattern {
  readonly isPlain: boolean;
}

type OneCharacter = AST.Character | AST.CharacterSet | AST.CharacterClass;

/** @returns null for syntax that only RE2 or only JavaScript knows */
export function toRawPattern(written: string): RawPattern | null {
  const { flags, body } = splitFlags(written);
  const parsed = parseAsWritten(body);
  if (parsed === null) return null;
  try {
    const { source, size, least } = alternativesOf(parsed.alternatives, body, true);
    return { source: flags === '' ? source : `${flags.slice(0, -1)}:${source})`, size, least };
  } catch (error) {
    if (error instanceof UnknownSyntax) return null;
    throw error;
  }
}

class UnknownSyntax extends Error {}

function alternativesOf(all: readonly AST.Alternative[], body: string, isLeading: boolean): Part {
  const parts = all.map((one) => sequenceOf(one.elements, body, isLeading));
  return {
    source: parts.map(({ source }) => source).join('|'),
    size: parts.reduce((sum, { size }) => sum + size, 0),
    least: Math.min(...parts.map(({ least }) => least)),
    isPlain: false,
  };
}

function sequenceOf(elements: readonly AST.Element[], body: string, isLeading: boolean): Part {
  let source = '';
  let size = 0;
  let least = 0;
  let before: Part | null = null;
  for (const element of elements) {
    const isFirst: boolean = isLeading && before === null;
    const part: Part =
      element.type === 'Assertion'
        ? assertionOf(element, isFirst, before)
        : elementOf(element, body, isFirst);
    source += part.source;
    size += part.size;
    least += part.least;
    if (element.type !== 'Assertion') before = part;
  }
  return { source, size, least, isPlain: false };
}

/** Left out where it could differ between the text and its JSON. */
function assertionOf(node: AST.Assertion, isFirst: boolean, before: Part | null): Part {
  const isBoundary = node.kind === 'word' && !node.negate;
  const kept = isFirst ? LEADING_BOUNDARY : before?.isPlain === true ? '\\b' : '';
  return { source: isBoundary ? kept : '', size: 0, least: 0, isPlain: false };
}

function elementOf(
  node: Exclude<AST.Element, AST.Assertion>,
  body: string,
  isFirst: boolean,
): Part {
  switch (node.type) {
    case 'Character':
    case 'CharacterSet':
    case 'CharacterClass':
      return characterOf(node, body);
    case 'CapturingGroup':
    case 'Group': {
      const inner = alternativesOf(node.alternatives, body, isFirst);
      const start = node.type === 'Group' && node.modifiers !== null ? node.modifiers.raw : '';
      return { ...inner, source: `(?${start}:${inner.source})` };
    }
    case 'Quantifier': {
      if (node.element.type === 'Assertion') throw new UnknownSyntax();
      const { source, size, least, isPlain } = elementOf(node.element, body, false);
      const { min, max } = node;
      return {
        source: source + body.slice(node.element.end, node.end),
        size: size * Math.max(1, max === Number.POSITIVE_INFINITY ? min + 1 : max),
        least: least * min,
        isPlain: isPlain && min > 0,
      };
    }
    default:
      throw new UnknownSyntax();
  }
}

function characterOf(node: OneCharacter, body: string): Part {
  const source = body.slice(node.start, node.end);
  const ranges = charactersOf(node, true);
  const letters = ESCAPES.filter(([code]) =>
    ranges.some(([from, to]) => from <= code && code <= to),
  ).map(([, letter]) => letter);
  const isPlain = letters.length === 0;
  return {
    source: isPlain ? source : `(?:${source}|\\\\+[${letters.join('')}])`,
    size: 1,
    least: 1,
    isPlain,
  };
}
