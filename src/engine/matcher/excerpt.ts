/**
 * Owns the excerpt that a finding shows around a hit: whole characters of the original text, without
 * controls, direction overrides or invisible characters.
 */
import { codePointName, INVISIBLE } from '../../model/invisible.ts';
import type { CharacterRange } from './normalised-text.ts';

const ELLIPSIS = '…';
const LINE_OR_TAB = /[\t\n\r\u2028\u2029]/g;

export interface Excerpt {
  readonly text: string;
  /** offsets into the excerpt */
  readonly match: CharacterRange;
}

/**
 * Cuts a window of a text around a hit.
 * @param text the text as it was written
 * @param hit offsets into `text`
 * @param excerptChars most code points of the text in the window. The hit is in its middle; of
 *   a longer hit the beginning is shown.
 * @returns one line; "…" marks an end that was cut; an invisible character reads ⟨U+200B⟩
 */
export function excerptOf(text: string, hit: CharacterRange, excerptChars: number): Excerpt {
  // A code point has at most two UTF-16 units.
  const near = text.slice(Math.max(0, hit.start - 2 * excerptChars), hit.start);
  const before = [...near];
  const inside = [...text.slice(hit.start, Math.min(hit.end, hit.start + 2 * excerptChars))];
  const after = [...text.slice(hit.end, hit.end + 2 * excerptChars)];
  const shown = inside.slice(0, excerptChars);
  const spare = excerptChars - shown.length;
  const left = Math.min(before.length, Math.max(Math.floor(spare / 2), spare - after.length));
  const right = Math.min(after.length, spare - left);
  const [lead, match, rest] = [
    before.slice(before.length - left),
    shown,
    after.slice(0, right),
  ].map((part) => part.join('')) as [string, string, string];
  const start = hit.start - lead.length;
  const cutRight = start + lead.length + match.length + rest.length < text.length;
  const head = `${start > 0 ? ELLIPSIS : ''}${visibleLine(lead)}`;
  const found = visibleLine(match);
  return {
    text: `${head}${found}${visibleLine(rest)}${cutRight ? ELLIPSIS : ''}`,
    match: { start: head.length, end: head.length + found.length },
  };
}

/** A text as excerpts show it: on one line, with its invisible characters by name. */
export function visibleLine(text: string): string {
  return text.replace(LINE_OR_TAB, ' ').replace(INVISIBLE, codePointName);
}
