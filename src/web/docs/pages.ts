/** The documentation as pages, and its index for machines (`/llms.txt`, llmstxt.org). */
import { dataBlock, type Html, html } from '../html.ts';
import { type AssetPaths, page } from '../layout.ts';
import { type Document, documentPath } from './document.ts';

/** The values of this deployment that pages contain. */
export interface Site {
  readonly brand: string;
  /** without a slash at its end */
  readonly baseUrl: string;
  readonly version: string;
  readonly assets: AssetPaths;
}

/** A part of the index: which documents, in which order. */
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

/** One document. */
export function documentPage(document: Document, site: Site): Html {
  const { slug, title, headings } = document;
  const contents = headings.filter(({ depth }) => depth === 2);
  return page({
    title,
    brand: site.brand,
    assets: site.assets,
    navigation: navigation(slug === 'api' ? '/docs/api' : '/docs'),
    head: head(document, site),
    main: html`<div class="with-contents">
<article class="prose">
${document.html}
<p class="soft"><a href="${documentPath(slug)}.md">This page as Markdown</a></p>
</article>
${
  contents.length > 1 &&
  html`<nav aria-label="On this page"><ul>${contents.map(
    ({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`,
  )}</ul></nav>`
}
</div>`,
  });
}

/** The list of documents, as a document. */
export function indexMarkdown(chapters: readonly Chapter[], site: Site): string {
  const parts = chapters.map(({ title, documents }) => {
    const lines = documents.map(
      ({ title: name, slug, description }) =>
        `- [${name}](${documentPath(slug)}): ${description.replaceAll('<', '\\<')}`,
    );
    return `## ${title}\n\n${lines.join('\n')}\n`;
  });
  return `# ${site.brand} documentation

Everything there is to read about this server, version ${site.version}. Each page has a Markdown twin at its address with
\`.md\` behind it; [/llms.txt](/llms.txt) lists them for machines, [/openapi.json](/openapi.json) describes the interface.

${parts.join('\n')}`;
}

/** The index for machines: every document by its absolute URL. */
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

/** Every document, one after the other. */
export function llmsFullTxt(chapters: readonly Chapter[], site: Site): string {
  const documents = chapters.flatMap((chapter) => chapter.documents);
  const parts = documents.map(
    ({ slug, markdown }) => `<!-- ${site.baseUrl}${documentPath(slug)} -->\n\n${markdown.trim()}\n`,
  );
  return parts.join('\n---\n\n');
}
