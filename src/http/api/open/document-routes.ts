/**
 * The documentation: pages, the same as Markdown, `/llms.txt`. Each is made at its first
 * request, and kept. `/docs/search` searches them. All are open to everybody.
 */
import { z } from 'zod';
import { type Document, documentPath } from '../../../web/docs/document.ts';
import {
  type Chapter,
  documentPage,
  indexMarkdown,
  llmsFullTxt,
  llmsTxt,
  SEARCH_CHARS_MAX,
  type Site,
  searchPage,
} from '../../../web/docs/pages.ts';
import { documentSearch } from '../../../web/docs/search.ts';
import { PAGE_HEADERS, pageAnswer } from '../../transport/answers.ts';
import type { Answer, Exchange } from '../../transport/exchange.ts';
import { parsePageQuery, requireNoQuery } from '../../transport/input.ts';
import type { Route } from '../../transport/router.ts';

export interface Documentation {
  readonly site: Site;
  readonly chapters: readonly Chapter[];
  readonly read: (slug: string, markdown: string) => Document;
}

const MARKDOWN = 'text/markdown; charset=utf-8';
const PLAIN = 'text/plain; charset=utf-8';
const HTML = 'text/html; charset=utf-8';
/** Content changes with a new version only. */
const CACHE = ['cache-control', 'public, max-age=300'] as const;

function fixed(path: string, contentType: string, make: () => string): Route {
  const headers = contentType === HTML ? [...PAGE_HEADERS, CACHE] : [CACHE];
  let answer: Answer | undefined;
  const handler = (exchange: Exchange): void => {
    requireNoQuery(exchange.query);
    answer ??= { status: 200, contentType, headers, body: Buffer.from(make()), isShared: true };
    exchange.answer(answer);
  };
  return { method: 'GET', path, handler };
}

const searchQuery = z.object({ q: z.string().trim().max(SEARCH_CHARS_MAX).default('') });

/** Every route under `/docs`, and the indexes for machines. */
export function documentationRoutes({ site, chapters, read }: Documentation): Route[] {
  const documents = chapters.flatMap((chapter) => chapter.documents);
  const search = documentSearch(documents);
  const routesOf = (path: string, document: () => Document): Route[] => [
    fixed(path, HTML, () => documentPage(document(), chapters, site).text),
    fixed(`${path}.md`, MARKDOWN, () => document().markdown),
  ];
  return [
    ...documents.flatMap((document) => routesOf(documentPath(document.slug), () => document)),
    ...routesOf('/docs', () => read('', indexMarkdown(chapters, site))),
    {
      method: 'GET',
      path: '/docs/search',
      handler: (exchange) => {
        const { q } = parsePageQuery(searchQuery, exchange.query);
        exchange.answer(pageAnswer(searchPage(q, search(q), chapters, site).text));
      },
    },
    fixed('/llms.txt', PLAIN, () => llmsTxt(chapters, site)),
    fixed('/llms-full.txt', PLAIN, () => llmsFullTxt(chapters, site)),
  ];
}
