/** Texts of runs as pages show them: invisible characters by name, matches marked. */

import type { Finding } from '../../model/findings.ts';
import { seenParts } from '../../model/invisible.ts';
import type { Hex16 } from '../../model/json.ts';
import type { TextMark } from '../../model/run-page.ts';
import { type Html, type HtmlValue, html } from '../html.ts';

/** The element that a link to a finding leads to. */
export const FOUND_ID = 'found';
export const ROW_ID = 'row';
/** The element at which reading of a long text continues. */
export const AT_ID = 'at';

interface Marking {
  /** the finding that the page was opened at; its first mark is `FOUND_ID` */
  readonly soughtId: Hex16 | null;
  /** offset into the text of `AT_ID`; null for none */
  readonly at: number | null;
}

const NOTHING_SOUGHT: Marking = { soughtId: null, at: null };

export function seenText(text: string): HtmlValue {
  return seenParts(text).map(({ text: part, isSeen }) =>
    isSeen ? part : html`<span class="unseen" title="invisible characters">${part}</span>`,
  );
}

/** A text with its matches marked. @param marks in any order; they may overlap */
export function markedText(
  text: string,
  marks: readonly Pick<TextMark, 'start' | 'end' | 'findingId'>[],
  { soughtId, at }: Marking = NOTHING_SOUGHT,
): HtmlValue {
  const ends = marks.flatMap(({ start, end }) => [start, end]);
  const cuts = [...new Set([0, ...ends, ...(at === null ? [] : [at]), text.length])]
    .filter((cut) => cut >= 0 && cut <= text.length)
    .sort((a, b) => a - b);
  let isFirst = true;
  return cuts.map((start, index) => {
    const part = seenText(text.slice(start, cuts[index + 1] ?? text.length));
    const anchor = start === at && html`<span id="${AT_ID}"></span>`;
    const own = marks.filter((mark) => mark.start <= start && mark.end > start);
    if (own.length === 0) return [anchor, index + 1 < cuts.length && part];
    const isSought = soughtId !== null && own.some(({ findingId }) => findingId === soughtId);
    const isId = isSought && isFirst;
    if (isSought) isFirst = false;
    return [anchor, markElement(part, isSought, own.every(isOfSearch), isId)];
  });
}

const isOfSearch = ({ findingId }: Pick<TextMark, 'findingId'>): boolean => findingId === null;

function markElement(part: HtmlValue, isSought: boolean, isSearch: boolean, isId: boolean): Html {
  const name = isSought ? 'sought' : isSearch ? 'search' : null;
  return html`<mark${name !== null && html` class="${name}"`}${isId && html` id="${FOUND_ID}"`}>${part}</mark>`;
}

/** @param isSought whether links to the finding lead to this mark */
export function excerptView(
  { id, excerpt: text, place }: Pick<Finding, 'id' | 'excerpt' | 'place'>,
  isSought: boolean,
): Html {
  const marks = [{ ...place.inExcerpt, findingId: id }];
  const marking = { soughtId: isSought ? id : null, at: null };
  return html`<pre class="excerpt" tabindex="0" role="region" aria-label="Excerpt">${markedText(text ?? '', marks, marking)}</pre>`;
}
