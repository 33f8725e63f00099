/**
 * Owns the requirements of a pattern: literals that every match contains, their places in the match,
 * and the extent of the match around them.
 *
 * The guarantee that the prefilter rests on: a text without a branch's literals at such places has no
 * match of the branch. The reverse is not guaranteed: RE2 must search the texts that pass.
 *
 * Strings are folded (`folding.ts`); extents are those of the unfolded text.
 */
import type { AST } from '@eslint-community/regexpp';
import { memoize } from '../matcher/memoize.ts';
import { parsePattern, splitFlags } from '../matcher/pattern-syntax.ts';
import { withoutSurrogates } from '../matcher/surrogate-pairs.ts';
import {
  type CharacterClass,
  KINDS,
  ofCharacter,
  ofCharacterClass,
  ofCharacterSet,
  runOfKinds,
} from './character-class.ts';
import { foldLiteral } from './folding.ts';
import { costOf, LiteralChooser } from './literals.ts';
import { type Extent, maximum, minus, NO_EXTENT, plus, repeated, runOf } from './match-extent.ts';
import { either as eitherPages, narrower, type Pages } from './unicode-pages.ts';

/** Every match contains at least one of these literals, at their place in the match. */
export interface RequiredLiterals {
  readonly literals: readonly string[];
  /** from the match's start to the literal's start */
  readonly before: Extent;
  /** from the literal's start to the match's end */
  readonly after: Extent;
  /** estimated hits per character of text */
  readonly cost: number;
  /** by key, literals that follow in every match: from the start of this literal to theirs */
  readonly gaps: Map<symbol, Extent>;
  /** identity of these literals and of their copies in enclosing parts */
  readonly key: symbol;
}

/** A top-level alternative of a pattern, which requires all of this. */
export interface Branch {
  readonly required: readonly RequiredLiterals[];
  readonly pages: Pages;
}

/** The requirements of a pattern, by its source; null when it cannot be parsed. */
export type RequirementsReader = (source: string) => readonly Branch[] | null;

/** A reader with a cache: every pattern is parsed once. */
export function createRequirementsReader(): RequirementsReader {
  const chooser = new LiteralChooser();
  const letters = new Map<number, Part>();
  return memoize((source) => readRequirements(source, chooser, letters));
}

/** Most strings per set, and characters per string: enough to be rare, few enough to be cheap. */
const STRINGS_MAX = 40;
const CHARS_MAX = 28;
const BRANCHES_MAX = 64;
const DEPTH_MAX = 200;

interface Part {
  /** every string that the part matches, if they are few */
  readonly exact: readonly string[] | null;
  /** every match of the part begins, and ends, with at least one of these strings */
  readonly head: readonly string[] | null;
  readonly tail: readonly string[] | null;
  readonly required: readonly RequiredLiterals[];
  readonly extent: Extent;
  /** of its characters, as `KINDS` */
  readonly kinds: number;
  readonly pages: Pages;
}

const NOTHING = exactly([''], { extent: NO_EXTENT, kinds: KINDS.none, pages: null });
const ANYTHING: Part = {
  exact: null,
  head: null,
  tail: null,
  required: [],
  extent: { ...NO_EXTENT, unbounded: 1 },
  kinds: KINDS.all,
  pages: null,
};

/** The analysis of a part, without its strings. */
type PartBounds = Pick<Part, 'extent' | 'kinds' | 'pages'>;

function exactly(exact: readonly string[], { extent, kinds, pages }: PartBounds): Part {
  return { exact, head: exact, tail: exact, required: [], extent, kinds, pages };
}

interface Context {
  readonly dotAll: boolean;
  readonly chooser: LiteralChooser;
  /** cache of `ofLetter`: patterns consist mostly of letters */
  readonly letters: Map<number, Part>;
}

/**
 * The requirements of a pattern.
 * @returns one branch per alternative; null when the pattern cannot be parsed and so may always match
 */
function readRequirements(
  source: string,
  chooser: LiteralChooser,
  letters: Map<number, Part>,
): readonly Branch[] | null {
  const { flags, body } = splitFlags(withoutSurrogates(source));
  const context = { dotAll: flags.includes('s'), chooser, letters };
  const pattern = parsePattern(body);
  return pattern === null ? null : branchesOf(pattern.alternatives, context);
}

/** The alternatives of a group that is a whole alternative are separate branches. */
function branchesOf(alternatives: readonly AST.Alternative[], context: Context): Branch[] {
  const branches = alternatives.flatMap((alternative): Branch[] => {
    const [only] = alternative.elements;
    if (alternative.elements.length === 1 && isGroup(only)) {
      return branchesOf(only.alternatives, inside(only, context));
    }
    return [toBranch(sequence(alternative.elements, context, 0), context)];
  });
  if (branches.length <= BRANCHES_MAX) return branches;
  return [toBranch(anyOf(alternatives, context, 0), context)];
}

function toBranch(part: Part, context: Context): Branch {
  return { required: allRequired(part, context), pages: part.pages };
}

function isGroup(node: AST.Element | undefined): node is AST.Group | AST.CapturingGroup {
  return node?.type === 'Group' || node?.type === 'CapturingGroup';
}

function inside(node: AST.Group | AST.CapturingGroup, context: Context): Context {
  const modifiers = node.type === 'Group' ? node.modifiers : null;
  return modifiers?.add.dotAll === true ? { ...context, dotAll: true } : context;
}

/** The required literals of a part, including literals from its strings. */
function allRequired(
  { exact, required, extent }: Part,
  context: Context,
): readonly RequiredLiterals[] {
  const own = exact === null ? null : toRequired(exact, NO_EXTENT, extent, context);
  return own === null ? required : [...required, own];
}

/**
 * @param before from the match's start to the strings' start
 * @param after from there to the match's end
 */
function toRequired(
  strings: readonly string[],
  before: Extent,
  after: Extent,
  { chooser }: Context,
): RequiredLiterals | null {
  const chosen = chooser.choose(strings);
  if (chosen === null) return null;
  const { literals, skippedChars, skippedBlanks } = chosen;
  return {
    literals,
    before: plus(before, { ...NO_EXTENT, chars: skippedChars, space: skippedBlanks }),
    after,
    cost: costOf(literals),
    gaps: new Map(),
    key: Symbol(),
  };
}

function partOf(node: AST.Element, context: Context, depth: number): Part {
  if (depth > DEPTH_MAX) return ANYTHING;
  switch (node.type) {
    case 'Assertion':
      return node.kind === 'lookahead' || node.kind === 'lookbehind' ? ANYTHING : NOTHING;
    case 'Group':
    case 'CapturingGroup':
      return anyOf(node.alternatives, inside(node, context), depth + 1);
    case 'Quantifier':
      return quantified(node, context, depth + 1);
    case 'Character':
      return ofLetter(node.value, context);
    default: {
      const characters = classOf(node, context);
      return characters === null ? ANYTHING : oneOf(characters);
    }
  }
}

function classOf(node: AST.Element, context: Context): CharacterClass | null {
  switch (node.type) {
    case 'Character':
      return ofCharacter(node.value);
    case 'CharacterSet':
      return ofCharacterSet(node, context.dotAll);
    case 'CharacterClass':
      return ofCharacterClass(node);
    default:
      return null;
  }
}

function ofLetter(codePoint: number, { letters }: Context): Part {
  const known = letters.get(codePoint);
  if (known !== undefined) return known;
  const part = oneOf(ofCharacter(codePoint));
  letters.set(codePoint, part);
  return part;
}

function oneOf({ few, kinds, pages }: CharacterClass): Part {
  const bounds = { extent: { ...NO_EXTENT, chars: 1 }, kinds, pages };
  if (few === null) return { ...ANYTHING, ...bounds };
  return exactly(folded(few.map((point) => String.fromCodePoint(point))), bounds);
}

const allKinds = (parts: readonly Part[]): number =>
  parts.reduce<number>((kinds, part) => kinds | part.kinds, KINDS.none);

function folded(strings: readonly string[]): string[] {
  return [...new Set(strings.map(foldLiteral))];
}

/** Required literals in a sequence, with the elements that they belong to. */
interface Block {
  /** `before` and `after` count from the first to the last of these elements */
  readonly required: RequiredLiterals;
  readonly first: number;
  readonly last: number;
}

/** The state of reading a sequence. */
interface OpenSequence {
  readonly context: Context;
  readonly blocks: Block[];
  readonly starts: readonly Extent[];
  /** all that the elements from `first` on match; they begin at most `lead` after its start */
  strings: readonly string[];
  first: number;
  lead: Extent;
  /** whether they match all elements so far */
  isWhole: boolean;
  head: readonly string[] | null;
}

/** @param starts element → extent of the elements before it */
function between(starts: readonly Extent[], from: number, to: number): Extent {
  return minus(starts[to] ?? NO_EXTENT, starts[from] ?? NO_EXTENT);
}

/** Ends the strings at an element: they become required literals. */
function flush(open: OpenSequence, last: number): void {
  const { context, blocks, starts, strings, first, lead } = open;
  const required = toRequired(strings, lead, between(starts, first, last + 1), context);
  if (required !== null) blocks.push({ required, first, last });
  if (open.isWhole) open.head = strings;
}

function append(open: OpenSequence, part: Part, index: number): void {
  const joined = part.exact === null ? null : join(open.strings, part.exact);
  if (joined !== null) {
    open.strings = joined;
    return;
  }
  const onto = part.head === null ? null : join(open.strings, part.head);
  if (onto === null) flush(open, index - 1);
  else {
    open.strings = onto;
    flush(open, index);
  }
  open.isWhole = false;
  for (const required of part.required) open.blocks.push({ required, first: index, last: index });
  open.strings = part.tail ?? [''];
  open.first = part.tail === null ? index + 1 : index;
  // The tail begins anywhere in the part; in an exact part at its start.
  open.lead = part.tail === null || part.exact !== null ? NO_EXTENT : part.extent;
}

function sequence(elements: readonly AST.Element[], context: Context, depth: number): Part {
  const parts = elements.map((element) => partOf(element, context, depth));
  const starts = [NO_EXTENT];
  for (const { extent } of parts) starts.push(plus(starts.at(-1) ?? NO_EXTENT, extent));
  const pages = parts.map((part) => part.pages).reduce(narrower, null);
  const bounds = { extent: starts.at(-1) ?? NO_EXTENT, kinds: allKinds(parts), pages };
  const open: OpenSequence = {
    context,
    blocks: [],
    starts,
    strings: [''],
    first: 0,
    lead: NO_EXTENT,
    isWhole: true,
    head: null,
  };
  parts.forEach((part, index) => {
    append(open, part, index);
  });
  if (open.isWhole) return exactly(open.strings, bounds);
  flush(open, parts.length - 1);
  const required = placed(open.blocks, starts);
  return { exact: null, head: open.head, tail: open.strings, required, ...bounds };
}

/** The required literals of a sequence, with their places in it and the gaps between them. */
function placed(blocks: readonly Block[], starts: readonly Extent[]): RequiredLiterals[] {
  for (const { required, last } of blocks) {
    for (const later of blocks) {
      if (later.first <= last) continue;
      const gap = plus(between(starts, last + 1, later.first), later.required.before);
      required.gaps.set(later.required.key, plus(required.after, gap));
    }
  }
  return blocks.map(({ required, first, last }) => ({
    ...required,
    before: plus(between(starts, 0, first), required.before),
    after: plus(required.after, between(starts, last + 1, starts.length - 1)),
  }));
}

/** All concatenations; null when they are too many or too long. */
function join(before: readonly string[], after: readonly string[]): string[] | null {
  if (before.length * after.length > STRINGS_MAX) return null;
  const joined: string[] = [];
  for (const head of before) {
    for (const tail of after) {
      // Adjacent white space is one blank.
      const isOneBlank = head.endsWith(' ') && tail.startsWith(' ');
      const string = isOneBlank ? head + tail.slice(1) : head + tail;
      if (string.length > CHARS_MAX) return null;
      joined.push(string);
    }
  }
  return joined.length === 1 ? joined : [...new Set(joined)];
}

function anyOf(alternatives: readonly AST.Alternative[], context: Context, depth: number): Part {
  const parts = alternatives.map(({ elements }) => sequence(elements, context, depth));
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const extent = parts.map((part) => part.extent).reduce(maximum, NO_EXTENT);
  const pages = parts.map((part) => part.pages).reduce(eitherPages);
  const bounds = { extent, kinds: allKinds(parts), pages };
  const exact = united(parts.map((part) => part.exact));
  if (exact !== null) return exactly(exact, bounds);
  const head = united(parts.map((part) => part.head));
  const tail = united(parts.map((part) => part.tail));
  const either = anyRequired(
    parts.map((part) => rarest(allRequired(part, context))),
    context,
  );
  return { exact: null, head, tail, required: either === null ? [] : [either], ...bounds };
}

/** The union of the sets; null when one is missing or the strings are too many. */
function united(sets: readonly (readonly string[] | null)[]): string[] | null {
  const strings = new Set<string>();
  for (const set of sets) {
    if (set === null) return null;
    for (const string of set) strings.add(string);
  }
  return strings.size > STRINGS_MAX ? null : [...strings];
}

/** Literals; at least one occurs if any of several required sets does. */
function anyRequired(
  sets: readonly (RequiredLiterals | null)[],
  context: Context,
): RequiredLiterals | null {
  const literals: string[] = [];
  let before = NO_EXTENT;
  let after = NO_EXTENT;
  for (const set of sets) {
    if (set === null) return null;
    literals.push(...set.literals);
    before = maximum(before, set.before);
    after = maximum(after, set.after);
  }
  return toRequired(literals, before, after, context);
}

function rarest(sets: readonly RequiredLiterals[]): RequiredLiterals | null {
  return sets.reduce<RequiredLiterals | null>(
    (best, set) => (best === null || set.cost < best.cost ? set : best),
    null,
  );
}

function quantified({ min, max, element }: AST.Quantifier, context: Context, depth: number): Part {
  const part = partOf(element, context, depth);
  const { exact, kinds } = part;
  const bounds = {
    extent: repeatedExtent(part, max),
    kinds,
    pages: min > 0 ? part.pages : null,
  };
  const isBlank = exact?.length === 1 && exact[0] === ' ' && classOf(element, context) !== null;
  // Any number of white space characters is one blank.
  if (isBlank) return exactly(min === 0 ? ['', ' '] : [' '], bounds);
  if (max === 1 && exact !== null && exact.length < STRINGS_MAX) {
    return exactly([...new Set(['', ...exact])], bounds);
  }
  if (min === 0) return { ...ANYTHING, ...bounds };
  let strings: readonly string[] | null = exact === null ? null : [''];
  let count = 0;
  for (; count < min && strings !== null && exact !== null; count += 1) {
    const more = join(strings, exact);
    if (more === null) break;
    strings = more;
  }
  if (strings !== null && count === min && min === max) return exactly(strings, bounds);
  // The literals of the first repetition; the others come after it.
  const rest = repeatedExtent(part, max - 1);
  const required = allRequired(part, context).map((one) => ({
    ...one,
    after: plus(one.after, rest),
  }));
  const head = strings ?? part.head;
  const tail = strings ?? part.tail;
  return { exact: null, head, tail, required, ...bounds };
}

/** A repetition without a maximum is as long as a run of its characters. */
function repeatedExtent({ extent, kinds }: Part, times: number): Extent {
  return times === Number.POSITIVE_INFINITY ? runOf(runOfKinds(kinds)) : repeated(extent, times);
}
