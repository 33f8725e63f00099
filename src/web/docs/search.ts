/**
 * Searches the documentation by section: each heading of depth 2 or 3 begins one, and a page's text
 * before its first heading is one too. All words of a query must occur in a section or in its titles.
 */
import { type Document, documentPath, plain } from './document.ts';

export const SECTIONS_FOUND_MAX = 20;
/** Maximum words of a query; the rest is ignored. */
const QUERY_WORDS_MAX = 8;
/** Characters of a section's text that an answer shows. */
const EXCERPT_CHARS = 200;
/** Characters shown before the first word found. */
const EXCERPT_LEAD_CHARS = 60;

export interface FoundSection {
  /** path and anchor */
  readonly address: string;
  readonly page: string;
  /** empty for the beginning of a page */
  readonly heading: string;
  readonly excerpt: string;
}

interface Section {
  readonly address: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
  /** lower case, for comparison */
  readonly lower: { readonly page: string; readonly heading: string; readonly text: string };
}

const SECTION_START = /<h[23] id="([^"]*)">/;
const ANCHOR = /<a class="anchor"[^>]*>#<\/a>/g;

function sectionsOf(document: Document): Section[] {
  const [start = '', ...rest] = document.html.text.replaceAll(ANCHOR, '').split(SECTION_START);
  const path = documentPath(document.slug);
  const section = (id: string, markup: string): Section => {
    const end = markup.search(/<\/h[23]>/);
    const heading = id === '' ? '' : plain(markup.slice(0, end));
    // Separate cells and items by a blank, which markup does not need.
    const text = plain(markup.slice(id === '' ? 0 : end).replaceAll(/<\/(?:td|th|li|p)>/g, ' $&'));
    const page = document.title;
    const lower = {
      page: page.toLowerCase(),
      heading: heading.toLowerCase(),
      text: text.toLowerCase(),
    };
    return { address: id === '' ? path : `${path}#${id}`, page, heading, text, lower };
  };
  const sections = [section('', start)];
  for (let at = 0; at < rest.length; at += 2) {
    sections.push(section(rest[at] ?? '', rest[at + 1] ?? ''));
  }
  return sections;
}

/** Scores a section; 0 if a word is missing. A title counts more than text. */
function score({ lower }: Section, words: readonly string[]): number {
  let sum = 0;
  for (const word of words) {
    const points =
      (lower.page.includes(word) ? 4 : 0) +
      (lower.heading.includes(word) ? 6 : 0) +
      (lower.text.includes(word) ? 1 : 0);
    if (points === 0) return 0;
    sum += points;
  }
  return sum;
}

function excerptOf({ text, lower }: Section, words: readonly string[]): string {
  const places = words.map((word) => lower.text.indexOf(word)).filter((place) => place >= 0);
  const first = places.length === 0 ? 0 : Math.min(...places);
  const from = first <= EXCERPT_LEAD_CHARS ? 0 : text.indexOf(' ', first - EXCERPT_LEAD_CHARS) + 1;
  const end = from + EXCERPT_CHARS;
  const to = text.length <= end ? text.length : Math.max(text.lastIndexOf(' ', end), first);
  return `${from > 0 ? '… ' : ''}${text.slice(from, to)}${to < text.length ? ' …' : ''}`;
}

/**
 * Makes a search over documents. Their sections are read at the first query and kept.
 * @returns the best sections for a query, at most `SECTIONS_FOUND_MAX`; none for an empty query
 */
export function documentSearch(documents: readonly Document[]): (query: string) => FoundSection[] {
  let sections: readonly Section[] | undefined;
  return (query) => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, QUERY_WORDS_MAX);
    if (words.length === 0) return [];
    sections ??= documents.flatMap(sectionsOf);
    return sections
      .map((section) => ({ section, points: score(section, words) }))
      .filter(({ points }) => points > 0)
      .sort((one, other) => other.points - one.points)
      .slice(0, SECTIONS_FOUND_MAX)
      .map(({ section }) => ({
        address: section.address,
        page: section.page,
        heading: section.heading,
        excerpt: excerptOf(section, words),
      }));
  };
}
