/**
 * Owns what a pattern needs of a text: literals that every match contains, where they stand in the
 * match, and how far the match reaches around them.
 *
 * The promise everything rests on: a text in which a branch's literals do not stand so holds no
 * match of the branch. The reverse is not promised: what passes must be asked of RE2.
 *
 * Strings here are folded (`folding.ts`), reaches are those of the text as it is.
 */
import type { AST } from '@eslint-community/regexpp';
import { remembered } from '../matcher/memoize.ts';
import { parsePattern, splitFlags } from '../matcher/pattern-syntax.ts';
import {
  type CharClass,
  KINDS,
  ofCharacter,
  ofCharacterClass,
  ofCharacterSet,
  runOfKinds,
} from './character-class.ts';
import { foldLiteral } from './folding.ts';
import { costOf, trimmed } from './literals.ts';
import { farther, minus, NOWHERE, plus, type Reach, repeated, runOf } from './match-extent.ts';
import { either, narrower, type Pages } from './unicode-pages.ts';

/** Literals one of which every match contains, and where. */
export interface Group {
  readonly literals: readonly string[];
  /** from the match's start to the literal's start, at most */
  readonly before: Reach;
  /** from the literal's start to the match's end, at most */
  readonly after: Reach;
  /** estimated hits per character of text */
  readonly cost: number;
  /**
   * Groups that stand behind this one in every match, and how far at most: from the start of this
   * group's literal to the start of theirs.
   */
  readonly gaps: Map<symbol, Reach>;
  /** the same for a group and its copies that are told farther out */
  readonly key: symbol;
}

/** One alternative of a pattern: everything it needs is needed together. */
export interface Branch {
  readonly groups: readonly Group[];
  readonly pages: Pages;
}

/** What a pattern needs, by its source; null when nothing is known of it. */
export type RequirementsReader = (source: string) => readonly Branch[] | null;

/** A reader with its own memory: every pattern is read once. */
export function createRequirementsReader(): RequirementsReader {
  return remembered(requirementsOf);
}

/** Strings kept per set, and characters per string: enough to be rare, few enough to be cheap. */
const STRINGS_MAX = 40;
const CHARS_MAX = 28;
const BRANCHES_MAX = 64;
const DEPTH_MAX = 200;

interface Part {
  /** every string the part matches, when they are few */
  readonly exact: readonly string[] | null;
  /** strings one of which every match of the part begins with; ends with */
  readonly head: readonly string[] | null;
  readonly tail: readonly string[] | null;
  readonly groups: readonly Group[];
  readonly reach: Reach;
  /** of the characters that it takes, as `KINDS` */
  readonly kinds: number;
  readonly pages: Pages;
}

const NOTHING = exactly([''], { reach: NOWHERE, kinds: KINDS.none, pages: null });
const ANYTHING: Part = {
  exact: null,
  head: null,
  tail: null,
  groups: [],
  reach: { ...NOWHERE, unbounded: 1 },
  kinds: KINDS.all,
  pages: null,
};

/** What is known of a part whatever its strings are. */
type Extent = Pick<Part, 'reach' | 'kinds' | 'pages'>;

function exactly(exact: readonly string[], { reach, kinds, pages }: Extent): Part {
  return { exact, head: exact, tail: exact, groups: [], reach, kinds, pages };
}

interface Context {
  readonly dotAll: boolean;
}

/**
 * What a pattern needs.
 * @returns one branch per alternative; null when the pattern cannot be read: it must always be asked
 */
export function requirementsOf(source: string): readonly Branch[] | null {
  const { flags, body } = splitFlags(source);
  const context = { dotAll: flags.includes('s') };
  const pattern = parsePattern(body);
  return pattern === null ? null : branchesOf(pattern.alternatives, context);
}

/** A group that is all there is to an alternative is no reason to look at its parts together. */
function branchesOf(alternatives: readonly AST.Alternative[], context: Context): Branch[] {
  const branches = alternatives.flatMap((alternative): Branch[] => {
    const [only] = alternative.elements;
    if (alternative.elements.length === 1 && isGroup(only)) {
      return branchesOf(only.alternatives, inside(only, context));
    }
    return [toBranch(sequence(alternative.elements, context, 0))];
  });
  return branches.length <= BRANCHES_MAX ? branches : [toBranch(anyOf(alternatives, context, 0))];
}

function toBranch(part: Part): Branch {
  return { groups: withExact(part), pages: part.pages };
}

function isGroup(node: AST.Element | undefined): node is AST.Group | AST.CapturingGroup {
  return node?.type === 'Group' || node?.type === 'CapturingGroup';
}

function inside(node: AST.Group | AST.CapturingGroup, context: Context): Context {
  const modifiers = node.type === 'Group' ? node.modifiers : null;
  return modifiers?.add.dotAll === true ? { dotAll: true } : context;
}

/** The groups of a part, its own strings among them. */
function withExact({ exact, groups, reach }: Part): readonly Group[] {
  const own = exact === null ? null : toGroup(exact, NOWHERE, reach);
  return own === null ? groups : [...groups, own];
}

/** @param before where the strings start; @param after where the match ends, from there */
function toGroup(strings: readonly string[], before: Reach, after: Reach): Group | null {
  const found = trimmed(strings);
  if (found === null) return null;
  const { literals, skippedChars, skippedBlanks } = found;
  return {
    literals,
    before: plus(before, { ...NOWHERE, chars: skippedChars, space: skippedBlanks }),
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
      return ofLetter(node.value);
    default: {
      const characters = classOf(node, context);
      return characters === null ? ANYTHING : oneOf(characters);
    }
  }
}

function classOf(node: AST.Element, context: Context): CharClass | null {
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

/** Patterns are letters for the most part: each is described once. */
const letters = new Map<number, Part>();

function ofLetter(codePoint: number): Part {
  const known = letters.get(codePoint);
  if (known !== undefined) return known;
  const part = oneOf(ofCharacter(codePoint));
  letters.set(codePoint, part);
  return part;
}

function oneOf({ few, kinds, pages }: CharClass): Part {
  const extent = { reach: { ...NOWHERE, chars: 1 }, kinds, pages };
  if (few === null) return { ...ANYTHING, ...extent };
  return exactly(folded(few.map((point) => String.fromCodePoint(point))), extent);
}

const allKinds = (parts: readonly Part[]): number =>
  parts.reduce<number>((kinds, part) => kinds | part.kinds, KINDS.none);

function folded(strings: readonly string[]): string[] {
  return [...new Set(strings.map(foldLiteral))];
}

/** A group in a sequence, with the elements it belongs to. */
interface Block {
  /** before and after it inside those elements only */
  readonly group: Group;
  readonly first: number;
  readonly last: number;
}

/** What a sequence holds, while its parts are gone through. */
interface Open {
  readonly blocks: Block[];
  readonly starts: readonly Reach[];
  /** what the elements since `first` match, all in a row; `lead` reaches to its start from there */
  strings: readonly string[];
  first: number;
  lead: Reach;
  /** are those all elements so far? */
  isWhole: boolean;
  head: readonly string[] | null;
}

/** @param starts element → reach of what stands before it */
function between(starts: readonly Reach[], from: number, to: number): Reach {
  return minus(starts[to] ?? NOWHERE, starts[from] ?? NOWHERE);
}

/** Makes a group of the strings up to an element. */
function flush(open: Open, last: number): void {
  const { blocks, starts, strings, first, lead } = open;
  const group = toGroup(strings, lead, between(starts, first, last + 1));
  if (group !== null) blocks.push({ group, first, last });
  if (open.isWhole) open.head = strings;
}

function goOn(open: Open, part: Part, index: number): void {
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
  for (const group of part.groups) open.blocks.push({ group, first: index, last: index });
  open.strings = part.tail ?? [''];
  open.first = part.tail === null ? index + 1 : index;
  // Where the tail begins is not told: anywhere in the part, for an exact one at its start.
  open.lead = part.tail === null || part.exact !== null ? NOWHERE : part.reach;
}

function sequence(elements: readonly AST.Element[], context: Context, depth: number): Part {
  const parts = elements.map((element) => partOf(element, context, depth));
  const starts = [NOWHERE];
  for (const { reach } of parts) starts.push(plus(starts.at(-1) ?? NOWHERE, reach));
  const pages = parts.map((part) => part.pages).reduce(narrower, null);
  const extent = { reach: starts.at(-1) ?? NOWHERE, kinds: allKinds(parts), pages };
  const open: Open = {
    blocks: [],
    starts,
    strings: [''],
    first: 0,
    lead: NOWHERE,
    isWhole: true,
    head: null,
  };
  parts.forEach((part, index) => {
    goOn(open, part, index);
  });
  if (open.isWhole) return exactly(open.strings, extent);
  flush(open, parts.length - 1);
  const groups = placed(open.blocks, starts);
  return { exact: null, head: open.head, tail: open.strings, groups, ...extent };
}

/** The groups of a sequence as it sees them: where they stand in it, and how far apart. */
function placed(blocks: readonly Block[], starts: readonly Reach[]): Group[] {
  for (const { group, last } of blocks) {
    for (const later of blocks) {
      if (later.first <= last) continue;
      const gap = plus(between(starts, last + 1, later.first), later.group.before);
      group.gaps.set(later.group.key, plus(group.after, gap));
    }
  }
  return blocks.map(({ group, first, last }) => ({
    ...group,
    before: plus(between(starts, 0, first), group.before),
    after: plus(group.after, between(starts, last + 1, starts.length - 1)),
  }));
}

/** Each string before each string after; null when they become too many or too long. */
function join(before: readonly string[], after: readonly string[]): string[] | null {
  if (before.length * after.length > STRINGS_MAX) return null;
  const joined: string[] = [];
  for (const head of before) {
    for (const tail of after) {
      // White space next to white space is one blank.
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
  const reach = parts.map((part) => part.reach).reduce(farther, NOWHERE);
  const pages = parts.map((part) => part.pages).reduce(either);
  const extent = { reach, kinds: allKinds(parts), pages };
  const exact = united(parts.map((part) => part.exact));
  if (exact !== null) return exactly(exact, extent);
  const head = united(parts.map((part) => part.head));
  const tail = united(parts.map((part) => part.tail));
  const group = eitherOf(parts.map((part) => cheapest(withExact(part))));
  return { exact: null, head, tail, groups: group === null ? [] : [group], ...extent };
}

/** All strings of all sets; null when a set is missing or they become too many. */
function united(sets: readonly (readonly string[] | null)[]): string[] | null {
  const strings = new Set<string>();
  for (const set of sets) {
    if (set === null) return null;
    for (const string of set) strings.add(string);
  }
  return strings.size > STRINGS_MAX ? null : [...strings];
}

/** A group that is hit when one of several is. */
function eitherOf(groups: readonly (Group | null)[]): Group | null {
  const literals: string[] = [];
  let before = NOWHERE;
  let after = NOWHERE;
  for (const group of groups) {
    if (group === null) return null;
    literals.push(...group.literals);
    before = farther(before, group.before);
    after = farther(after, group.after);
  }
  return toGroup(literals, before, after);
}

/** The group that is hit least often. */
function cheapest(groups: readonly Group[]): Group | null {
  return groups.reduce<Group | null>(
    (best, group) => (best === null || group.cost < best.cost ? group : best),
    null,
  );
}

function quantified({ min, max, element }: AST.Quantifier, context: Context, depth: number): Part {
  const part = partOf(element, context, depth);
  const { exact, kinds } = part;
  const extent = {
    reach: repeatedReach(part, max),
    kinds,
    pages: min > 0 ? part.pages : null,
  };
  const isBlank = exact?.length === 1 && exact[0] === ' ' && classOf(element, context) !== null;
  // However many: a run of white space is one blank.
  if (isBlank) return exactly(min === 0 ? ['', ' '] : [' '], extent);
  if (max === 1 && exact !== null && exact.length < STRINGS_MAX) {
    return exactly([...new Set(['', ...exact])], extent);
  }
  if (min === 0) return { ...ANYTHING, ...extent };
  let strings: readonly string[] | null = exact === null ? null : [''];
  let count = 0;
  for (; count < min && strings !== null && exact !== null; count += 1) {
    const more = join(strings, exact);
    if (more === null) break;
    strings = more;
  }
  if (strings !== null && count === min && min === max) return exactly(strings, extent);
  // The first time round stands at the start; what follows it is not told.
  const rest = repeatedReach(part, max - 1);
  const groups = withExact(part).map((group) => ({ ...group, after: plus(group.after, rest) }));
  const head = strings ?? part.head;
  const tail = strings ?? part.tail;
  return { exact: null, head, tail, groups, ...extent };
}

/** Repeated without end, characters stay inside their run. */
function repeatedReach({ reach, kinds }: Part, times: number): Reach {
  return times === Number.POSITIVE_INFINITY ? runOf(runOfKinds(kinds)) : repeated(reach, times);
}
