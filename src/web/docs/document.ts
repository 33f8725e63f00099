/**
 * A Markdown file of `docs/` as a document that can be served, as HTML and as Markdown: its title,
 * first paragraph, headings, and links to other documents. Rendered when it is first read: all of them
 * together take a fifth of a second, which every start would wait for.
 */
import { Marked, type RendererThis, type Tokens } from 'marked';
import { escapeHtml, Html } from '../html.ts';

/** A file, and the name it is served under: `docs/decisions/0001-x.md` is `decisions/0001-x`. */
export interface SourceFile {
  readonly slug: string;
  /** path from the repository's root, with slashes */
  readonly path: string;
  readonly markdown: string;
}

interface Heading {
  readonly id: string;
  readonly text: string;
  /** 2 or 3 */
  readonly depth: number;
}

export interface Document {
  readonly slug: string;
  readonly title: string;
  /** the whole sentences that fit of the first paragraph, as plain text */
  readonly description: string;
  readonly headings: readonly Heading[];
  readonly html: Html;
  /** with links to other documents as they are served */
  readonly markdown: string;
}

/** The path of a document; with `.md` appended, of its Markdown. */
export function documentPath(slug: string): string {
  return slug === '' ? '/docs' : `/docs/${slug}`;
}

export const DESCRIPTION_CHARS_MAX = 300;

interface Rendered {
  readonly html: Html;
  readonly headings: readonly Heading[];
}

/**
 * @param file read when the document is
 * @param addressOf path from the repository's root → where that file is served
 * @param summary its description; without it, the first paragraph
 */
export function readDocument(
  file: SourceFile,
  addressOf: ReadonlyMap<string, string>,
  summary = () => firstParagraph(file.markdown),
): Document {
  const resolve = (href: string) => resolveLink(href, file.path, addressOf);
  let rendered: Rendered | undefined;
  const rendering = (): Rendered => {
    rendered ??= render(file.markdown, resolve);
    return rendered;
  };
  return {
    slug: file.slug,
    get title() {
      return /^# (.+)$/m.exec(file.markdown)?.[1] ?? file.slug;
    },
    get description() {
      return wholeSentences(summary());
    },
    get headings() {
      return rendering().headings;
    },
    get html() {
      return rendering().html;
    },
    get markdown() {
      return relink(file.markdown, resolve);
    },
  };
}

/** Cuts after the last sentence that fits; inside a word only if the first sentence does not fit. */
function wholeSentences(text: string): string {
  if (text.length <= DESCRIPTION_CHARS_MAX) return text;
  const fitting = text.slice(0, DESCRIPTION_CHARS_MAX);
  const [sentences] = /^.*[.!?](?=\s)/.exec(fitting) ?? [];
  return sentences ?? `${fitting.replace(/\s\S*$/, '')} …`;
}

/** As plain text; empty when there is none. Renders nothing that comes after it. */
function firstParagraph(source: string): string {
  for (const block of source.split(/\n{2,}/)) {
    const { html } = render(block, (href) => href);
    const paragraph = /<p>([\s\S]*?)<\/p>/.exec(html.text)?.[1];
    if (paragraph !== undefined) return plain(paragraph);
  }
  return '';
}

function render(source: string, resolve: (href: string) => string | null): Rendered {
  const headings: Heading[] = [];
  const ids = new Map<string, number>();
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading(this: RendererThis, { tokens, depth }: Tokens.Heading): string {
        const inner = this.parser.parseInline(tokens);
        const text = plain(inner);
        const id = uniqueId(text, ids);
        const isListed = depth === 2 || depth === 3;
        if (isListed) headings.push({ id, text, depth });
        const anchor = `<a class="anchor" href="#${id}" aria-label="Link to ${escapeHtml(text)}">#</a>`;
        return `<h${depth} id="${id}">${inner}${isListed ? anchor : ''}</h${depth}>\n`;
      },
      link(this: RendererThis, { href, tokens }: Tokens.Link): string {
        const target = resolve(href);
        const inner = this.parser.parseInline(tokens);
        return target === null ? inner : `<a href="${escapeHtml(target)}">${inner}</a>`;
      },
      image({ href, text }: Tokens.Image): string {
        const source = resolve(href);
        const alt = escapeHtml(text);
        return source === null
          ? alt
          : `<img src="${escapeHtml(source)}" alt="${alt}" loading="lazy">`;
      },
      table(this: RendererThis, token: Tokens.Table): string {
        const row = (cells: readonly Tokens.TableCell[], tag: string) =>
          `<tr>${cells
            .map(({ tokens, align }) => {
              const kind = align === 'right' ? ' class="number"' : '';
              return `<${tag}${kind}>${this.parser.parseInline(tokens)}</${tag}>`;
            })
            .join('')}</tr>`;
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
        return (
          `<div class="scroll" tabindex="0"><table><thead>${row(token.header, 'th')}</thead>` +
          `<tbody>${body}</tbody></table></div>\n`
        );
      },
      code({ text, lang }: Tokens.Code): string {
        return `<pre tabindex="0"><code class="language-${escapeHtml(lang ?? '')}">${escapeHtml(text)}</code></pre>\n`;
      },
    },
  });
  return { html: new Html(marked.parse(source, { async: false })), headings };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** Reduces markup to its text, on one line. */
export function plain(inline: string): string {
  return inline
    .replace(/<[^>]*>/g, '')
    .replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
}

/** As GitHub names headings, so that links inside a file work in both places. */
function uniqueId(text: string, ids: Map<string, number>): string {
  const base = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
  const count = ids.get(base) ?? 0;
  ids.set(base, count + 1);
  return count === 0 ? base : `${base}-${count}`;
}

/**
 * Where a link of a file leads when the file is served.
 * @returns null for a file of the repository that is not served
 */
function resolveLink(
  href: string,
  from: string,
  addressOf: ReadonlyMap<string, string>,
): string | null {
  if (/^(?:[a-z]+:|#|\/)/i.test(href)) return href;
  const url = new URL(href, `file:///${from}`);
  const address = addressOf.get(url.pathname.slice(1));
  return address === undefined ? null : address + url.hash;
}

/** Markdown's inline links and images, `[text](address)`, outside of code. */
const LINK = /(```[\s\S]*?```|`[^`\n]*`)|(!?)\[([^\]\n]*)\]\(([^)\s]+)\)/g;

function relink(source: string, resolve: (href: string) => string | null): string {
  return source.replace(
    LINK,
    (whole: string, code: string | undefined, mark: string, text: string, href: string) => {
      if (code !== undefined) return whole;
      const target = resolve(href);
      return target === null ? text : `${mark}[${text}](${target})`;
    },
  );
}
