/** Invisible characters, and characters that change the visible text: pages and excerpts write their names. */

/** Controls, line separators, default ignorables (zero-width, tags, fillers), directions, lone surrogates. */
const CLASS =
  '[\\p{Cc}\\u2028\\u2029\\p{DI}\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069\\p{Surrogate}]';
export const INVISIBLE = new RegExp(CLASS, 'gu');

/** The variation selector after a pictograph, and the joiner between two: they are seen as emoji. */
const EMOJI =
  '(?<=\\p{ExtPict})\\ufe0f(?![\\ufe00-\\ufe0f])|(?<=\\p{ExtPict}\\ufe0f?)\\u200d(?=\\p{ExtPict})';
/** An invisible character in a text of several lines. */
const UNSEEN = `(?![\\t\\n\\r])(?=${CLASS})(?!${EMOJI}).`;
/** Splits a text of several lines into seen parts and, at odd indexes, runs of unseen characters. */
const UNSEEN_RUNS = new RegExp(`((?:${UNSEEN})+)`, 'su');
const EACH_UNSEEN = new RegExp(UNSEEN, 'gsu');
/** Of a longer run of one character the number is written. */
export const REPEATS_MAX = 8;
/** Tag characters, which are invisible copies of ASCII. */
const TAGS = /^[\u{e0020}-\u{e007e}]+$/u;
const TAG_OFFSET = 0xe0000;

/** `⟨U+200B⟩` */
export function codePointName(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return `⟨U+${hex.padStart(4, '0')}⟩`;
}

/**
 * Writes the names of invisible characters. Senders choose names: U+202E or an escape sequence in a name
 * could make it look like another name on a page, in a terminal or in a message.
 */
export function showInvisible(text: string): string {
  return seenParts(text)
    .map((part) => part.text)
    .join('');
}

/** Escapes invisible characters of JSON; the text stays the same. */
export function escapeInvisible(json: string): string {
  return json.replace(EACH_UNSEEN, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** The parts of a text in order: seen ones as they are, and the names of unseen characters. */
export function seenParts(text: string): { readonly text: string; readonly isSeen: boolean }[] {
  return text.split(UNSEEN_RUNS).flatMap((part, index) => {
    if (part === '') return [];
    return index % 2 === 0 ? { text: part, isSeen: true } : { text: nameOf(part), isSeen: false };
  });
}

function nameOf(run: string): string {
  if (TAGS.test(run)) {
    const letters = [...run].map((tag) =>
      String.fromCodePoint((tag.codePointAt(0) ?? 0) - TAG_OFFSET),
    );
    return `⟨tag characters: ${letters.join('')}⟩`;
  }
  const names = run.replace(/(.)\1*/gsu, (same, character: string) => {
    const times = same.length / character.length;
    return times > REPEATS_MAX
      ? `${codePointName(character)}×${times}`
      : codePointName(character).repeat(times);
  });
  return names;
}

export function showOnOneLine(text: string): string {
  return showInvisible(text.replaceAll(/[\t\n\r]+/g, ' '));
}
