/**
 * Owns the excerpt that a finding shows around a hit: whole characters of the original text, without
 * controls, direction overrides or invisible characters.
 */
import type { CharacterRange } from './normalised-text.ts';

const ELLIPSIS = '…';
const LINE_OR_TAB = /[\t\n\r\u2028\u2029]/g;
const INVISIBLE = /[\p{Cc}\p{DI}\u200b-\u200f\u202a-\u202e\u2066-\u2069\p{Surrogate}]/gu;

/**
 * Cuts a window of a text around a hit.
 * @param text the text as it was written
 * @param hit offsets into `text`
 * @param excerptChars most code points of the text in the window. The hit is in its middle; of
 *   a longer hit the beginning is shown.
 * @returns one line; "…" marks an end that was cut; an invisible character reads ⟨U+200B⟩
 */
export function excerptOf(text: string, hit: CharacterRange, excerptChars: number): string {
  // A code point has at most two UTF-16 units.
  const near = text.slice(Math.max(0, hit.start - 2 * excerptChars), hit.start);
  const before = [...near];
  const inside = [...text.slice(hit.start, Math.min(hit.end, hit.start + 2 * excerptChars))];
  const after = [...text.slice(hit.end, hit.end + 2 * excerptChars)];
  const shown = inside.slice(0, excerptChars);
  const spare = excerptChars - shown.length;
  const left = Math.min(before.length, Math.max(Math.floor(spare / 2), spare - after.length));
  const right = Math.min(after.length, spare - left);
  const window = [...before.slice(before.length - left), ...shown, ...after.slice(0, right)].join(
    '',
  );
  const start = hit.start - length(before.slice(before.length - left));
  const cutRight = start + window.length < text.length;
  return `${start > 0 ? ELLIPSIS : ''}${harmless(window)}${cutRight ? ELLIPSIS : ''}`;
}

function length(characters: readonly string[]): number {
  return characters.reduce((sum, character) => sum + character.length, 0);
}

function harmless(window: string): string {
  return window.replace(LINE_OR_TAB, ' ').replace(INVISIBLE, codePoint);
}

function codePoint(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return `⟨U+${hex.padStart(4, '0')}⟩`;
}
