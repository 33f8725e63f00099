/**
 * Decides whether a pattern can match any text at all: `a\bb`, `x^` and `[^\s\S]` cannot. A condition
 * that cannot match must not be listed as one that runs.
 *
 * Each part of a pattern is read as a relation between places in a text: from which kind of place it can
 * lead to which. A place is known by what is on either side of it (an end of the text, a line feed, a
 * word character, another character), which is all that `^`, `$` and `\b` depend on. So the answer is
 * exact, except for Unicode properties, for which it may be yes instead of no.
 */
import type { AST } from '@eslint-community/regexpp';
import { parsePattern, splitFlags } from '../matcher/pattern-syntax.ts';
import { withoutSurrogates } from '../matcher/surrogate-pairs.ts';
import { charactersOf } from '../prefilter/character-class.ts';

type Ranges = readonly (readonly [from: number, to: number])[];

/** The text on one side of a place. */
const EDGE = 0;
const NEWLINE = 1;
const WORD = 2;
const OTHER = 3;
const SIDES = 4;
const PLACES = SIDES * SIDES;

/**
 * The characters of each kind; surrogates are of none. U+017F and U+212A are no word characters, but
 * equal `s` and `k`, so each of these counts as both kinds.
 */
const CHARACTERS: readonly (readonly [kind: number, characters: Ranges])[] = [
  [NEWLINE, [[10, 10]]],
  [
    WORD,
    [
      [48, 57],
      [65, 90],
      [95, 95],
      [97, 122],
      [0x17f, 0x17f],
      [0x212a, 0x212a],
    ],
  ],
  [
    OTHER,
    [
      [0, 9],
      [11, 47],
      [58, 64],
      [91, 94],
      [96, 96],
      [123, 0xd7ff],
      [0xe000, 0x10ffff],
    ],
  ],
  [
    OTHER,
    [
      [75, 75],
      [83, 83],
      [107, 107],
      [115, 115],
    ],
  ],
];

/** place → the places to which a part can lead, as bits; a place is `SIDES * before + after` */
type Relation = readonly number[];

const HERE = placesWhere(() => true);
const NOWHERE = placesWhere(() => false);
const ANYWHERE: Relation = new Array<number>(PLACES).fill((1 << PLACES) - 1);

interface Flags {
  readonly multiline: boolean;
  readonly dotAll: boolean;
}

/**
 * Checks whether a pattern matches some text in UTF-8.
 * @param source a pattern that RE2 compiles; true if it cannot be read here
 */
export function canMatch(source: string): boolean {
  const { flags, body } = splitFlags(withoutSurrogates(source));
  const pattern = parsePattern(body);
  if (pattern === null) return true;
  const context = { multiline: flags.includes('m'), dotAll: flags.includes('s') };
  return anyOf(pattern.alternatives, context).some((places) => places !== 0);
}

function anyOf(alternatives: readonly AST.Alternative[], flags: Flags): Relation {
  return alternatives.map(({ elements }) => sequence(elements, flags)).reduce(either, NOWHERE);
}

function sequence(elements: readonly AST.Element[], flags: Flags): Relation {
  return elements.reduce((before, element) => then(before, ofElement(element, flags)), HERE);
}

function ofElement(node: AST.Element, flags: Flags): Relation {
  switch (node.type) {
    case 'Character':
    case 'CharacterSet':
    case 'CharacterClass':
      return oneOf(charactersOf(node, flags.dotAll));
    case 'Group':
      return anyOf(node.alternatives, inside(node, flags));
    case 'CapturingGroup':
      return anyOf(node.alternatives, flags);
    case 'Quantifier':
      return repeated(ofElement(node.element, flags), node.min, node.max);
    case 'Assertion':
      return ofAssertion(node, flags);
    default:
      // RE2 has no such element.
      return ANYWHERE;
  }
}

function inside({ modifiers }: AST.Group, flags: Flags): Flags {
  if (modifiers === null) return flags;
  const { add, remove } = modifiers;
  return {
    multiline: add.multiline || (flags.multiline && remove?.multiline !== true),
    dotAll: add.dotAll || (flags.dotAll && remove?.dotAll !== true),
  };
}

function ofAssertion(node: AST.Assertion, { multiline }: Flags): Relation {
  const isEdge = (side: number) => side === EDGE || (multiline && side === NEWLINE);
  switch (node.kind) {
    case 'start':
      return placesWhere((before) => isEdge(before));
    case 'end':
      return placesWhere((_before, after) => isEdge(after));
    case 'word':
      return placesWhere(
        (before, after) => ((before === WORD) !== (after === WORD)) !== node.negate,
      );
    default:
      return ANYWHERE;
  }
}

function placesWhere(holds: (before: number, after: number) => boolean): Relation {
  return Array.from({ length: PLACES }, (_, place) =>
    holds(Math.floor(place / SIDES), place % SIDES) ? 1 << place : 0,
  );
}

/** From each place before a character to every place behind it. */
function oneOf(characters: Ranges): Relation {
  const kinds = new Set<number>();
  for (const [kind, ranges] of CHARACTERS) {
    if (ranges.some((one) => characters.some((other) => overlap(one, other)))) kinds.add(kind);
  }
  const behind = (1 << SIDES) - 1;
  return HERE.map((_, place) => {
    const after = place % SIDES;
    return kinds.has(after) ? behind << (SIDES * after) : 0;
  });
}

function overlap([from, to]: Ranges[number], [first, last]: Ranges[number]): boolean {
  return from <= last && first <= to;
}

function either(a: Relation, b: Relation): Relation {
  return a.map((places, place) => places | (b[place] as number));
}

function then(first: Relation, second: Relation): Relation {
  return first.map((places) => {
    let reached = 0;
    for (let place = 0; place < PLACES; place += 1) {
      if ((places & (1 << place)) !== 0) reached |= second[place] as number;
    }
    return reached;
  });
}

/** More repetitions than there are places lead nowhere else. */
function repeated(part: Relation, min: number, max: number): Relation {
  const optional = either(HERE, part);
  return then(power(part, min), power(optional, Math.min(max - min, PLACES)));
}

function power(part: Relation, times: number): Relation {
  if (times === 0) return HERE;
  const half = power(part, Math.floor(times / 2));
  const even = then(half, half);
  return times % 2 === 0 ? even : then(even, part);
}
