/** Tables, and the places of a page that a benchmark writes. Pure. */

/** A Markdown table; all columns but the first are set to the right. */
export function markdownTable(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(titles), `|---${'|---:'.repeat(titles.length - 1)}|`, ...rows.map(line)].join('\n');
}

/**
 * Puts `content` between `<!-- measured: name … -->` and `<!-- /measured: name -->`.
 *
 * @throws when the page has no such place, or several
 */
export function replaceMeasured(page: string, name: string, content: string): string {
  const place = new RegExp(
    `(<!-- measured: ${name}(?: [^>]*)?-->\n)[\\s\\S]*?(<!-- /measured: ${name} -->)`,
    'g',
  );
  const found = [...page.matchAll(place)].length;
  if (found !== 1) throw new Error(`the page has ${found} places for what is measured as ${name}`);
  return page.replace(
    place,
    (_all, start: string, end: string) => `${start}\n${content}\n\n${end}`,
  );
}
