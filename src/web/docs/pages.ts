/** The documentation as pages, and its index for machines (`/llms.txt`, llmstxt.org). */
import { dataBlock, type Html, html } from '../html.ts';
import { type AssetPaths, page } from '../layout.ts';
import { type Document, documentPath } from './document.ts';
import { type FoundSection, SECTIONS_FOUND_MAX } from './search.ts';

export interface Site {
  readonly brand: string;
  /** without a slash at its end */
  readonly baseUrl: string;
  readonly version: string;
  readonly assets: AssetPaths;
}

export interface Chapter {
  readonly title: string;
  readonly documents: readonly Document[];
}

const NAVIGATION = [
  { href: '/app', label: 'Dashboard' },
  { href: '/docs', label: 'Documentation' },
  { href: '/docs/api', label: 'API' },
];

const navigation = (current: string) =>
  NAVIGATION.map((entry) => ({ ...entry, isCurrent: entry.href === current }));

/** Canonical URL, link to the Markdown, and structured data (schema.org). */
function head({ slug, title, description }: Document, site: Site): Html {
  const url = `${site.baseUrl}${documentPath(slug)}`;
  const article = {
    '@context': 'https://schema.org',
    '@type': 'TechArticle',
    headline: title,
    description,
    url,
    mainEntityOfPage: url,
    inLanguage: 'en',
    version: site.version,
    isPartOf: {
      '@type': 'WebSite',
      name: `${site.brand} documentation`,
      url: `${site.baseUrl}/docs`,
    },
    encoding: {
      '@type': 'MediaObject',
      encodingFormat: 'text/markdown',
      contentUrl: `${url}.md`,
    },
  };
  return html`<link rel="canonical" href="${url}">
<link rel="alternate" type="text/markdown" href="${url}.md">
<meta name="description" content="${description}">
${dataBlock('application/ld+json', article)}`;
}

/** The search form and every chapter's pages; the chapter of the current page is open. */
function menu(chapters: readonly Chapter[], slug: string | null, query = ''): Html {
  const link = ({ slug: other, title }: Document): Html => {
    const current = other === slug && html` aria-current="page"`;
    return html`<li><a href="${documentPath(other)}"${current}>${title}</a></li>`;
  };
  return html`<nav id="pages" class="pages" aria-label="Documentation">
<form action="/docs/search" role="search">
<input type="search" name="q" value="${query}" maxlength="${SEARCH_CHARS_MAX}" placeholder="Search" aria-label="Search the documentation">
</form>
${chapters.map(({ title, documents }) => {
  const isOpen = documents.some((one) => one.slug === slug);
  return html`<details${isOpen && html` open`}><summary>${title}</summary><ul>${documents.map(link)}</ul></details>
`;
})}</nav>`;
}

/** Links to the page before and the page after, in the order of the menu. */
function neighbours(chapters: readonly Chapter[], slug: string): Html | false {
  const documents = chapters.flatMap((chapter) => chapter.documents);
  const at = documents.findIndex((one) => one.slug === slug);
  if (at < 0) return false;
  const link = (label: string, rel: string, one: Document | undefined) =>
    one !== undefined &&
    html`<a rel="${rel}" href="${documentPath(one.slug)}"><span>${label}</span> ${one.title}</a>`;
  return html`<nav class="neighbours" aria-label="Previous and next page">
${link('Previous', 'prev', documents[at - 1])}
${link('Next', 'next', documents[at + 1])}
</nav>`;
}

export function documentPage(document: Document, chapters: readonly Chapter[], site: Site): Html {
  const { slug, title, headings } = document;
  const contents = headings.filter(({ depth }) => depth === 2);
  return page({
    title,
    brand: site.brand,
    assets: site.assets,
    navigation: navigation(slug === 'api' ? '/docs/api' : '/docs'),
    head: head(document, site),
    isWide: true,
    main: html`<div class="docs">
${menu(chapters, slug)}
<div>
<p class="to-pages"><a href="#pages">All pages and search</a></p>
<article class="prose">
${document.html}
<p class="soft"><a href="${documentPath(slug)}.md">This page as Markdown</a></p>
</article>
${neighbours(chapters, slug)}
</div>
${
  contents.length > 1 &&
  html`<nav class="headings" aria-label="On this page"><ul>${contents.map(
    ({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`,
  )}</ul></nav>`
}
</div>`,
  });
}

export const SEARCH_CHARS_MAX = 200;

export function searchPage(
  query: string,
  found: readonly FoundSection[],
  chapters: readonly Chapter[],
  site: Site,
): Html {
  const result = ({ address, page: title, heading, excerpt }: FoundSection): Html =>
    html`<li><a href="${address}">${title}${heading !== '' && ` › ${heading}`}</a><p>${excerpt}</p></li>`;
  const none = query === '' ? 'Enter words to search for.' : 'No page has all of these words.';
  return page({
    title: query === '' ? 'Search' : `Search: ${query}`,
    brand: site.brand,
    assets: site.assets,
    navigation: navigation(''),
    head: html`<meta name="robots" content="noindex">`,
    isWide: true,
    main: html`<div class="docs">
${menu(chapters, null, query)}
<div class="prose">
<h1>${query === '' ? 'Search' : html`Results for “${query}”`}</h1>
${found.length === 0 ? html`<p>${none}</p>` : html`<ol class="found">${found.map(result)}</ol>`}
${found.length === SECTIONS_FOUND_MAX && html`<p class="soft">These are the best ${SECTIONS_FOUND_MAX}. Add a word to narrow the search.</p>`}
</div>
</div>`,
  });
}

export function indexMarkdown(chapters: readonly Chapter[], site: Site): string {
  const parts = chapters.map(({ title, documents }) => {
    const lines = documents.map(
      ({ title: name, slug, description }) =>
        `- [${name}](${documentPath(slug)}): ${description.replaceAll('<', '\\<')}`,
    );
    return `## ${title}\n\n${lines.join('\n')}\n`;
  });
  return `# ${site.brand} documentation

The documentation of this server, version ${site.version}, by task. Append \`.md\` to the address of a page for its Markdown.
[/llms.txt](/llms.txt) lists all pages for machines, and [/openapi.json](/openapi.json) describes the API.

${parts.join('\n')}`;
}

export function llmsTxt(chapters: readonly Chapter[], site: Site): string {
  const { brand, baseUrl, version } = site;
  const link = ({ slug, title, description }: Document) =>
    `- [${title}](${baseUrl}${documentPath(slug)}.md): ${description}`;
  const parts = chapters.map(
    ({ title, documents }) => `## ${title}\n\n${documents.map(link).join('\n')}\n`,
  );
  return `# ${brand}

> A self-hosted service, version ${version}, that takes OpenTelemetry traces, metrics and logs of AI agents as OTLP/HTTP with
> JSON bodies, stores them in PostgreSQL, and matches an open corpus of agent threat rules against the text of finished runs.

## Interface

- [OpenAPI document](${baseUrl}/openapi.json): every endpoint with its schemas, errors and examples
- [All documentation in one file](${baseUrl}/llms-full.txt)
- [Documentation index](${baseUrl}/docs.md): what there is to read

${parts.join('\n')}`;
}

export function llmsFullTxt(chapters: readonly Chapter[], site: Site): string {
  const documents = chapters.flatMap((chapter) => chapter.documents);
  const parts = documents.map(
    ({ slug, markdown }) => `<!-- ${site.baseUrl}${documentPath(slug)} -->\n\n${markdown.trim()}\n`,
  );
  return parts.join('\n---\n\n');
}
