/**
 * Owns the characters that one element of a pattern matches: all of them if they are few, and the kind
 * of run that they form when repeated. Never fewer than RE2 matches, with case folding.
 */
import type { AST } from '@eslint-community/regexpp';
import { caseEquivalentsIn } from './case-equivalents.ts';
import type { Run } from './match-extent.ts';
import { type PageRange, type Pages, pageOf } from './unicode-pages.ts';

export interface CharacterClass {
  /** every character, if they are few; before case folding */
  readonly few: readonly number[] | null;
  /** kinds of characters, as `KINDS` */
  readonly kinds: number;
  /** pages of all characters, if none of them can match an ASCII text */
  readonly pages: Pages;
}

/** Kinds of characters, as bits. Non-ASCII counts as `word`, as in `text-bounds.ts`. */
export const KINDS = { none: 0, word: 1, blank: 2, newline: 4, mark: 8, all: 15 } as const;

const FEW_MAX = 16;
const ANY: CharacterClass = { few: null, kinds: KINDS.all, pages: null };
const EQUAL_TO_ASCII = [0x17f, 0x212a];

/** Characters as inclusive ranges, or everything but them. */
interface Ranges {
  readonly ranges: readonly (readonly [number, number])[];
  readonly negated: boolean;
}

const DIGIT: Ranges['ranges'] = [[48, 57]];
const WORD: Ranges['ranges'] = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
];
/** RE2's `\s`, which has no vertical tab. */
const SPACE: Ranges['ranges'] = [
  [9, 10],
  [12, 13],
  [32, 32],
];
const NEWLINE = 10;
const LAST = 0x10ffff;

export function ofCharacter(codePoint: number): CharacterClass {
  return describe({ ranges: [[codePoint, codePoint]], negated: false });
}

export function ofCharacterSet(set: AST.CharacterSet, dotAll: boolean): CharacterClass {
  if (set.kind === 'any') {
    return { few: null, kinds: dotAll ? KINDS.all : KINDS.all & ~KINDS.newline, pages: null };
  }
  if (set.kind === 'property') return ANY;
  return describe(escapeRanges(set));
}

/** `[…]` */
export function ofCharacterClass(node: AST.CharacterClass): CharacterClass {
  const ranges = rangesOfClass(node);
  return ranges === null ? ANY : describe(ranges);
}

/** The characters of a class; null if they are not all known. */
function rangesOfClass(node: AST.CharacterClass): Ranges | null {
  const ranges: [number, number][] = [];
  for (const element of node.elements) {
    switch (element.type) {
      case 'Character':
        ranges.push([element.value, element.value]);
        break;
      case 'CharacterClassRange':
        ranges.push([element.min.value, element.max.value]);
        break;
      case 'CharacterSet': {
        if (element.kind === 'property') {
          // Unknown members: a negated class without them would be too small.
          if (node.negate) return null;
          ranges.push([0, LAST]);
          break;
        }
        const inner = escapeRanges(element);
        ranges.push(...(inner.negated ? complement(inner.ranges) : inner.ranges).map(copy));
        break;
      }
      default:
        return null;
    }
  }
  return { ranges, negated: node.negate };
}

/**
 * Every character that an element may match, as inclusive ranges; cases are not folded. If they are not
 * all known, all there are.
 */
export function charactersOf(
  node: AST.Character | AST.CharacterSet | AST.CharacterClass,
  dotAll: boolean,
): Ranges['ranges'] {
  const written = writtenRanges(node, dotAll);
  if (written === null) return [[0, LAST]];
  return written.negated ? complement(written.ranges) : written.ranges;
}

function writtenRanges(
  node: AST.Character | AST.CharacterSet | AST.CharacterClass,
  dotAll: boolean,
): Ranges | null {
  if (node.type === 'Character') return { ranges: [[node.value, node.value]], negated: false };
  if (node.type === 'CharacterClass') return rangesOfClass(node);
  if (node.kind === 'any') return { ranges: dotAll ? [] : [[NEWLINE, NEWLINE]], negated: true };
  return node.kind === 'property' ? null : escapeRanges(node);
}

const copy = ([from, to]: readonly [number, number]): [number, number] => [from, to];

function escapeRanges(set: AST.EscapeCharacterSet): Ranges {
  const ranges = { digit: DIGIT, space: SPACE, word: WORD }[set.kind];
  return { ranges, negated: set.negate };
}

function complement(ranges: Ranges['ranges']): [number, number][] {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
  const rest: [number, number][] = [];
  let from = 0;
  for (const [start, end] of sorted) {
    if (start > from) rest.push([from, start - 1]);
    from = Math.max(from, end + 1);
  }
  if (from <= LAST) rest.push([from, LAST]);
  return rest;
}

function describe({ ranges: written, negated }: Ranges): CharacterClass {
  const ranges = negated ? complement(written) : written;
  const size = ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  const few: number[] = [];
  if (size <= FEW_MAX) {
    for (const [from, to] of ranges) for (let at = from; at <= to; at += 1) few.push(at);
  }
  return {
    few: few.length > 0 ? [...new Set(few)] : null,
    kinds: kindsOfRanges(ranges),
    pages: pagesOfRanges(ranges),
  };
}

/** The pages of all characters in every case that RE2 takes for the same; null if ASCII is included. */
function pagesOfRanges(ranges: Ranges['ranges']): Pages {
  // U+017F and U+212A equal `s` and `k`, and so match in an ASCII text.
  const isNonAscii = ranges.every(
    ([from, to]) => from >= 128 && !EQUAL_TO_ASCII.some((odd) => from <= odd && odd <= to),
  );
  if (ranges.length === 0 || !isNonAscii) return null;
  return ranges.flatMap(([from, to]): PageRange[] => [
    [pageOf(from), pageOf(to)],
    ...caseEquivalentsIn(from, to).map((point): PageRange => [pageOf(point), pageOf(point)]),
  ]);
}

function kindsOfRanges(ranges: Ranges['ranges']): number {
  let kinds: number = KINDS.none;
  for (const [from, to] of ranges) {
    for (let at = from; at <= Math.min(to, 127); at += 1) kinds |= KIND_OF[at] as number;
    if (to >= 128) kinds |= KINDS.word;
  }
  return kinds;
}

const KIND_OF = Uint8Array.from({ length: 128 }, (_, point) => {
  const isIn = (ranges: Ranges['ranges']) => ranges.some(([a, b]) => a <= point && point <= b);
  if (isIn(WORD)) return KINDS.word;
  if (!isIn(SPACE)) return KINDS.mark;
  return point === NEWLINE ? KINDS.newline : KINDS.blank;
});

/** The run that a repetition of such characters cannot leave; null for none. */
export function runOfKinds(kinds: number): Run | null {
  const isWithin = (mask: number) => (kinds & ~mask) === 0;
  if (isWithin(KINDS.word)) return 'word';
  if (isWithin(KINDS.blank | KINDS.newline)) return 'space';
  if (isWithin(KINDS.mark | KINDS.blank | KINDS.newline)) return 'gap';
  if (isWithin(KINDS.word | KINDS.mark)) return 'solid';
  return isWithin(KINDS.all & ~KINDS.newline) ? 'line' : null;
}
