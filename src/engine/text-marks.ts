/**
 * Owns the marks of findings in the texts of their step: the range that was matched, by the place that
 * the finding recorded. Where the text there is another (a newer version reads the step differently),
 * or no place was recorded, the range of the excerpt, wherever the surface has it.
 */
import type { Finding, TextRange } from '../model/findings.ts';
import type { Hex16 } from '../model/json.ts';
import type { TextMark } from '../model/run-page.ts';
import type { SurfaceText } from '../model/steps.ts';
import { visibleLine } from './matcher/excerpt.ts';
import { normalise } from './matcher/normalised-text.ts';

type Text = Pick<SurfaceText, 'surface' | 'text'>;

const SEARCH_MARKS_MAX = 200;
/** Findings of one step whose excerpt is searched; the one that is opened comes besides. */
const SOUGHT_EXCERPTS_MAX = 10;
/** Units of a match whose normalised reading is shown. */
const READ_UNITS_MAX = 300;

/**
 * The marks of each text.
 * @param texts of one step
 * @param findings in that step
 * @param openedId the finding that the page is opened at
 */
export function locateFindings(
  texts: readonly Text[],
  findings: readonly Finding[],
  openedId: Hex16 | null,
): readonly (readonly TextMark[])[] {
  const marks: TextMark[][] = texts.map(() => []);
  let searches = 0;
  for (const finding of findings) {
    let found = atPlace(texts, finding);
    if (found === null && (finding.id === openedId || searches++ < SOUGHT_EXCERPTS_MAX)) {
      found = byExcerpt(texts, finding);
    }
    if (found === null) continue;
    const { index, range } = found;
    const matched = (texts[index]?.text ?? '')
      .slice(range.start, range.end)
      .slice(0, READ_UNITS_MAX);
    const read = normalise(matched);
    const readAs = read === matched ? null : read;
    marks[index]?.push({ findingId: finding.id, ...range, readAs });
  }
  return marks.map((own) => own.sort((a, b) => a.start - b.start));
}

interface Located {
  readonly index: number;
  readonly range: TextRange;
}

function atPlace(texts: readonly Text[], { place, surface, excerpt }: Finding): Located | null {
  const recorded = texts[place.text];
  if (recorded?.surface === surface && isThere(recorded.text, place, excerpt)) {
    return { index: place.text, range: place.match };
  }
  return null;
}

function byExcerpt(texts: readonly Text[], { place, surface, excerpt }: Finding): Located | null {
  if (excerpt === null) return null;
  const pattern = patternOf(excerpt, place.inExcerpt);
  for (const [index, one] of texts.entries()) {
    if (one.surface !== surface) continue;
    const found = pattern.exec(one.text);
    if (found === null) continue;
    const start = found.index + (found[1]?.length ?? 0);
    return { index, range: { start, end: start + (found[2]?.length ?? 0) } };
  }
  return null;
}

/** Checks whether the recorded range has the text of the excerpt; without one it is believed. */
function isThere(
  text: string,
  { match, inExcerpt }: Finding['place'],
  excerpt: string | null,
): boolean {
  if (match.end > text.length) return false;
  if (excerpt === null) return true;
  const shown = excerpt.slice(inExcerpt.start, inExcerpt.end);
  // One unit is shown as one to eight characters (`⟨U+200B⟩`).
  const matched = text.slice(match.start, Math.min(match.end, match.start + 2 * shown.length));
  return visibleLine(matched).startsWith(shown);
}

/** A part of an excerpt that is another text where it was found: line ends, invisible characters. */
const REWRITTEN = /⟨U\+([0-9A-F]{4,6})⟩|\s|[\\^$.*+?()[\]{}|/]/gu;

/**
 * Finds an excerpt in its text: group 1 precedes the match, group 2 is the match.
 */
function patternOf(excerpt: string, { start, end }: TextRange): RegExp {
  const from = excerpt.startsWith('…') ? 1 : 0;
  const to = excerpt.length - (excerpt.endsWith('…') ? 1 : 0);
  const [before, inside, after] = [
    excerpt.slice(from, start),
    excerpt.slice(start, end),
    excerpt.slice(end, to),
  ].map((part) => part.replace(REWRITTEN, rewritten));
  return new RegExp(`(${before})(${inside})${after}`, 'u');
}

function rewritten(part: string, hex: string | undefined): string {
  if (hex === undefined) return /\s/.test(part) ? '\\s' : `\\${part}`;
  const point = Number.parseInt(hex, 16);
  return point > 0x10ffff ? '' : `(?:\\u{${hex}}|⟨U\\+${hex}⟩)`;
}

/** Where a text has a phrase, in any letter case. @param within part of the text that is searched */
export function searchText(text: string, phrase: string, within: TextRange): TextMark[] {
  const pattern = phrasePattern(phrase);
  pattern.lastIndex = within.start;
  const marks: TextMark[] = [];
  while (marks.length < SEARCH_MARKS_MAX) {
    const found = pattern.exec(text);
    if (found === null || found.index >= within.end) break;
    const end = found.index + found[0].length;
    marks.push({ findingId: null, start: found.index, end, readAs: null });
  }
  return marks;
}

/** Matches a phrase in any letter case, with any white space between its words. */
export function phrasePattern(phrase: string): RegExp {
  const words = phrase.trim().split(/\s+/);
  const escaped = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return new RegExp(escaped.join('\\s+'), 'giu');
}
