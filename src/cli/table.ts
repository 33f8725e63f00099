/** Tables for terminals: columns are as wide as their longest cell; one of them shrinks to fit. */
import { stripVTControlCharacters } from 'node:util';

export interface TableColumn<Row> {
  readonly title: string;
  /** the text of a row's cell; line breaks become spaces */
  readonly cell: (row: Row) => string;
  readonly align?: 'left' | 'right';
  /** gives up its width first when the table is wider than the terminal */
  readonly shrinks?: boolean;
}

const GAP = '  ';
const SHRUNK_WIDTH_MIN = 12;
const WIDTH_WHEN_UNKNOWN = 100;

export function terminalWidth(): number {
  return process.stdout.columns ?? WIDTH_WHEN_UNKNOWN;
}

/** Width as shown: colour codes take none, wide and combined characters are counted by code point. */
function shownWidth(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}

function cut(text: string, width: number): string {
  if (shownWidth(text) <= width) return text;
  return `${[...stripVTControlCharacters(text)].slice(0, width - 1).join('')}…`;
}

function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - shownWidth(text)));
  return align === 'right' ? `${space}${text}` : `${text}${space}`;
}

export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly TableColumn<Row>[],
  width: number = terminalWidth(),
): string {
  const cells = rows.map((row) =>
    columns.map(({ cell }) => cell(row).replaceAll(/\s*\n\s*/g, ' ')),
  );
  const widths = columns.map(({ title }, index) =>
    Math.max(shownWidth(title), ...cells.map((row) => shownWidth(row[index] ?? ''))),
  );
  const total = widths.reduce((sum, one) => sum + one, 0) + GAP.length * (columns.length - 1);
  const shrinking = columns.findIndex(({ shrinks }) => shrinks === true);
  if (total > width && shrinking !== -1) {
    const rest = total - (widths[shrinking] ?? 0);
    widths[shrinking] = Math.max(SHRUNK_WIDTH_MIN, width - rest);
  }
  const line = (row: readonly string[]): string =>
    columns
      .map(({ align }, index) => {
        const cellWidth = widths[index] ?? 0;
        return pad(cut(row[index] ?? '', cellWidth), cellWidth, align);
      })
      .join(GAP)
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...cells.map(line)].join('\n');
}
