/**
 * Megabytes of text of a kind in which nothing is repeated: units of its source (lines, sentences,
 * statements) in random order, a part of their words and all of their numbers replaced by others. RE2 and the
 * matcher keep what they worked out for a text; measured over the same few texts they look faster
 * than they are. From a seed: the same texts every time.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { seeded } from '../bodies.ts';
import type { TextKind } from './texts.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Read for their sentences: the kinds of prose have short sources of their own. */
const PROSE = [
  'commander/Readme.md',
  'fast-check/README.md',
  'find-my-way/README.md',
  'zod/README.md',
];
/** A number at the beginning of a line is no sentence: numbers in a row look like an address. */
const UNIT_END = /(?<=\n)|(?<=[;。؟!?]|\D\.)(?!\n)/;
const WORD = /\p{Script=Han}|\p{L}{3,}|\d+/gu;
/** Share of words that are replaced; few in attacks, or nothing of them would be left. */
const REPLACED = 0.3;
const REPLACED_IN_ATTACKS = 0.05;
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const familyOf = (name: string): string => name.replace(/, [^,]*$/, '');

/** Sentences of the packages' documentation. */
function proseOf(path: string): string {
  const text = readFileSync(`${ROOT}node_modules/${path}`, 'utf8');
  return (text.match(/^[A-Z][^|`<>{}]{60,}$/gm) ?? []).join(' ');
}

/** The text of all kinds of a family, each piece once. */
function sourceOf(kind: TextKind, kinds: readonly TextKind[]): string {
  const family = familyOf(kind.name);
  const own = kinds.filter(({ name }) => familyOf(name) === family).flatMap(({ texts }) => texts);
  const prose = /chat|prose/.test(family) ? PROSE.map(proseOf) : [];
  return [...new Set([...own, ...prose])].join('\n');
}

/** Makes texts of a kind, of the length of its own ones. */
export function createGenerator(
  kind: TextKind,
  kinds: readonly TextKind[],
): (seed: number, bytes: number) => string[] {
  const source = sourceOf(kind, kinds);
  const units = [...new Set(source.split(UNIT_END))].filter((unit) => unit.trim() !== '');
  const vocabulary = source.match(WORD) ?? [];
  const isNoise = kind.name.startsWith('base64');
  const share = kind.name.startsWith('attack') ? REPLACED_IN_ATTACKS : REPLACED;

  return (seed, bytes) => {
    const random = seeded(seed);
    const pick = (from: ArrayLike<string>): string =>
      from[Math.floor(random() * from.length)] ?? '';
    const other = (word: string): string => {
      if (/^\d/.test(word)) return word.replace(/\d/g, () => pick('0123456789'));
      return random() < share ? pick(vocabulary) : word;
    };
    const unit = (): string =>
      isNoise
        ? Array.from({ length: 64 }, () => pick(BASE64)).join('')
        : pick(units).replace(WORD, other);
    const texts: string[] = [];
    let rest = '';
    for (let made = 0; made < bytes; ) {
      const chars = kind.texts[texts.length % kind.texts.length]?.length ?? 0;
      while (rest.length < chars) rest += unit();
      const text = rest.slice(0, chars);
      rest = rest.slice(chars);
      made += Buffer.byteLength(text);
      texts.push(text);
    }
    return texts;
  };
}
