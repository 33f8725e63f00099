import { describe, expect, it, vi } from 'vitest';
import { DESCRIPTION_CHARS_MAX, readDocument } from '../../../src/web/docs/document.ts';

const addressOf = new Map([
  ['docs/limits.md', '/docs/limits'],
  ['docs/decisions/0001-a.md', '/docs/decisions/0001-a'],
  ['docs/images/run.png', '/assets/run-0123.png'],
  ['README.md', '/docs/overview'],
]);
const read = (markdown: string, path = 'docs/x.md') =>
  readDocument({ slug: 'x', path, markdown }, addressOf);

describe('a document', () => {
  it('has the title, first paragraph and headings of its file', () => {
    const document = read(
      '# A *title*\n\nFirst `one`,\nand more.\n\n## Part & one\n\n### Sub\n\n## Part & one\n',
    );
    expect(document).toMatchObject({
      title: 'A *title*',
      description: 'First one, and more.',
      headings: [
        { id: 'part--one', text: 'Part & one', depth: 2 },
        { id: 'sub', text: 'Sub', depth: 3 },
        { id: 'part--one-1', text: 'Part & one', depth: 2 },
      ],
    });
    expect(document.html.text).toContain('<h2 id="part--one">Part &amp; one<a class="anchor"');
  });

  it.each([
    ['docs/x.md', 'limits.md', '/docs/limits'],
    ['docs/x.md', 'limits.md#redis', '/docs/limits#redis'],
    ['docs/x.md', 'decisions/0001-a.md', '/docs/decisions/0001-a'],
    ['docs/decisions/0001-a.md', '../limits.md', '/docs/limits'],
    ['README.md', 'docs/limits.md', '/docs/limits'],
    ['docs/x.md', '../README.md', '/docs/overview'],
    ['docs/x.md', '#below', '#below'],
    ['docs/x.md', 'https://a.example/b', 'https://a.example/b'],
  ])('of %s leads by %s to %s, as page and as Markdown', (path, href, target) => {
    const document = read(`See [it](${href}).`, path);
    expect(document.html.text).toContain(`<a href="${target}">it</a>`);
    expect(document.markdown).toBe(`See [it](${target}).`);
  });

  it('does not lead to files that are not served, and leaves code alone', () => {
    const document = read(
      'See [the code](../src/main.ts), `[a](b.md)`.\n\n```md\n[a](limits.md)\n```\n',
    );
    expect(document.html.text).toContain('See the code, <code>[a](b.md)</code>');
    expect(document.markdown).toBe('See the code, `[a](b.md)`.\n\n```md\n[a](limits.md)\n```\n');
  });

  it.each([
    ['README.md', 'docs/images/run.png'],
    ['docs/x.md', 'images/run.png'],
  ])('of %s shows %s from where it is served, as page and as Markdown', (path, href) => {
    const document = read(`![A "run"](${href})`, path);
    expect(document.html.text).toContain(
      '<img src="/assets/run-0123.png" alt="A &quot;run&quot;" loading="lazy">',
    );
    expect(document.markdown).toBe('![A "run"](/assets/run-0123.png)');
  });

  it('is described by the beginning of its first paragraph', () => {
    const paragraph = 'x'.repeat(DESCRIPTION_CHARS_MAX);
    expect(read(`# T\n\n${paragraph}\n`).description).toBe(paragraph);
    expect(read(`# T\n\n${paragraph}y\n`).description).toBe(`${paragraph} …`);
    expect(read(`# T\n\n${paragraph.slice(1)}y\n`).description).toBe(`${paragraph.slice(1)}y`);
  });

  it('tells what an image shows that is not served', () => {
    expect(read('![A drawing](other.png)').html.text).toContain('<p>A drawing</p>');
  });

  it('keeps numbers to the right, and wide tables and code to scroll by themselves', () => {
    const { text } = read('| a | b |\n|---|---:|\n| x | 1 |\n\n```sh\na < b\n```\n').html;
    expect(text).toContain('<div class="scroll" tabindex="0"><table>');
    expect(text).toContain('<td class="number">1</td>');
    expect(text).toContain('<code class="language-sh">a &lt; b</code>');
  });
});

it('renders its file when it is read, not before', () => {
  const source = vi.fn(() => '# Title\n\nText.');
  const file = {
    slug: 'x',
    path: 'docs/x.md',
    get markdown() {
      return source();
    },
  };
  const document = readDocument(file, new Map());
  expect(source).not.toHaveBeenCalled();
  expect(document.html).toBe(document.html);
  expect(source).toHaveBeenCalledTimes(1);
});
