/** Writes tables in Markdown. */

/**
 * @param rows cells, escaped
 * @returns the lines of the table
 */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)];
}
