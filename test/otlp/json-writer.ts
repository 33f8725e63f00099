/**
 * Writes JSON in all the ways in which it may be written: white space, escapes, the order of members,
 * members twice. Values are trees in which an object is a list of members.
 */

/** A JSON value; `literal` is written as it is. */
export type Tree =
  | null
  | boolean
  | string
  | { readonly literal: string }
  | { readonly list: readonly Tree[] }
  | { readonly members: readonly Member[] };

export type Member = readonly [name: string, value: Tree];

/** How a body is written; each is a share from 0 to 1. */
export interface Habits {
  readonly spaces: number;
  /** characters of values that are escaped without need */
  readonly escapes: number;
  /** characters of names, likewise */
  readonly nameEscapes: number;
  /** objects whose members come in another order */
  readonly shuffles: number;
  /** objects with a member that OTLP does not know */
  readonly strangers: number;
  /** objects with a member twice */
  readonly repeats: number;
  /** lone surrogates and U+0000, written as escapes */
  readonly unstorable: number;
}

export const TIDY: Habits = {
  spaces: 0,
  escapes: 0,
  nameEscapes: 0,
  shuffles: 0,
  strangers: 0,
  repeats: 0,
  unstorable: 0,
};

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};
const SPACES = [' ', '\n', '\r\n', '\t', '  '];
const STRANGERS = ['', 'x', 'spanid', 'trace_id', 'Key', 'keyy', '__proto__', 'stringvalue'];
const UNSTORABLE = ['\\u0000', '\\ud800', '\\uDC00', '\\ud83d\\ud83d', '\\\\ud83d\\ude00'];

/** Numbers from 0 up to 1; the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One of a list that is not empty. */
export function pick<Item>(random: () => number, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

/** Writes a tree as JSON. */
export function writeJson(tree: Tree, habits: Habits, random: () => number): string {
  const { escapes, nameEscapes, unstorable } = habits;
  const space = (): string => (random() < habits.spaces ? pick(random, SPACES) : '');
  const write = (value: Tree): string => {
    if (value === null || typeof value === 'boolean') return String(value);
    if (typeof value === 'string') return writeString(value, escapes, unstorable, random);
    if ('literal' in value) return value.literal;
    if ('list' in value) {
      return `[${space()}${value.list.map(write).join(`${space()},${space()}`)}${space()}]`;
    }
    const members = membersOf(value.members, habits, random).map(
      ([name, member]) =>
        `${writeString(name, nameEscapes, unstorable, random)}${space()}:${space()}${write(member)}`,
    );
    return `{${space()}${members.join(`${space()},${space()}`)}${space()}}`;
  };
  return space() + write(tree) + space();
}

function membersOf(members: readonly Member[], habits: Habits, random: () => number): Member[] {
  const chosen = [...members];
  if (random() < habits.strangers) chosen.push([pick(random, STRANGERS), STRANGER]);
  if (chosen.length > 0 && random() < habits.repeats) {
    const [name] = pick(random, chosen);
    chosen.push([name, pick(random, [STRANGER, null, pick(random, chosen)[1]])]);
  }
  if (random() >= habits.shuffles) return chosen;
  for (let last = chosen.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    const [a, b] = [chosen[last], chosen[other]];
    if (a !== undefined && b !== undefined) [chosen[last], chosen[other]] = [b, a];
  }
  return chosen;
}

const STRANGER: Tree = {
  members: [['a', { list: [{ literal: '-1.5e3' }, 'b"\\', null, true, false] }]],
};

function writeString(
  text: string,
  escapes: number,
  unstorable: number,
  random: () => number,
): string {
  let out = '"';
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const mustEscape = code < 0x20 || character === '"' || character === '\\';
    if (!mustEscape && random() >= escapes) out += character;
    else if (SHORT[character] !== undefined && random() >= escapes / 2) out += SHORT[character];
    else out += unitsOf(character, random);
  }
  return `${out}${random() < unstorable ? pick(random, UNSTORABLE) : ''}"`;
}

function unitsOf(character: string, random: () => number): string {
  let out = '';
  for (let index = 0; index < character.length; index += 1) {
    const digits = character.charCodeAt(index).toString(16).padStart(4, '0');
    out += `\\u${random() < 0.5 ? digits : digits.toUpperCase()}`;
  }
  return out;
}
