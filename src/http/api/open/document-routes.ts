/**
 * The documentation: pages, the same as Markdown, `/llms.txt`. Each is made at its first
 * request, and kept; open to everybody.
 */

import { type Document, documentPath } from '../../../web/docs/document.ts';
import {
  type Chapter,
  documentPage,
  indexMarkdown,
  llmsFullTxt,
  llmsTxt,
  type Site,
} from '../../../web/docs/pages.ts';
import type { Answer, Exchange } from '../../transport/exchange.ts';
import { PAGE_HEADERS } from '../../transport/page.ts';
import type { Route } from '../../transport/router.ts';

export interface Documentation {
  readonly site: Site;
  readonly chapters: readonly Chapter[];
  /** parses a Markdown text that is not a file */
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
    answer ??= { status: 200, contentType, headers, body: Buffer.from(make()), isShared: true };
    exchange.answer(answer);
  };
  return { method: 'GET', path, handler };
}

/** A page, and the same as Markdown. */
function documentRoutesOf(path: string, read: () => Document, site: Site): Route[] {
  return [
    fixed(path, HTML, () => documentPage(read(), site).text),
    fixed(`${path}.md`, MARKDOWN, () => read().markdown),
  ];
}

/** Every route under `/docs`, and the indexes for machines. */
export function documentationRoutes({ site, chapters, read }: Documentation): Route[] {
  const documents = chapters.flatMap((chapter) => chapter.documents);
  const index = () => read('', indexMarkdown(chapters, site));
  return [
    ...documents.flatMap((document) =>
      documentRoutesOf(documentPath(document.slug), () => document, site),
    ),
    ...documentRoutesOf('/docs', index, site),
    fixed('/llms.txt', PLAIN, () => llmsTxt(chapters, site)),
    fixed('/llms-full.txt', PLAIN, () => llmsFullTxt(chapters, site)),
  ];
}
