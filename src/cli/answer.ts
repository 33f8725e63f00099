/** How commands answer: tables and sizes for people by default, one JSON document under `--json`; and their progress. */

import { stripVTControlCharacters } from 'node:util';
import { escapeInvisible } from '../model/invisible.ts';
import { printable } from '../terminal/output.ts';

export interface OutputOptions {
  readonly json?: boolean;
}

/**
 * Writes a command's answer to standard output. Senders choose names: no character in them changes
 * how a terminal shows the text around them.
 */
export function answer(options: OutputOptions, value: unknown, text: () => string): void {
  process.stdout.write(
    options.json === true
      ? `${escapeInvisible(JSON.stringify(value, null, 2))}\n`
      : `${printable(text())}\n`,
  );
}

/** A time, or its ISO 8601 text. */
export function shownTime(time: Date | string | null): string {
  return time === null ? '–' : new Date(time).toISOString().slice(0, 16).replace('T', ' ');
}

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

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;
const STEP = 1024;

/** `1.5 GiB`; whole numbers from ten on. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= STEP && unit < UNITS.length - 1) {
    value /= STEP;
    unit += 1;
  }
  const shown =
    value >= 10 || unit === 0 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
  return `${shown} ${UNITS[unit]}`;
}

/** How often progress is shown, in a terminal and elsewhere. */
const PROGRESS_MS = 500;
const PROGRESS_LINE_MS = 10_000;

/** Shows a line again and again: rewritten in a terminal, else one below the other. @returns ends it */
export function showProgress(line: () => string): () => void {
  const isTerminal = process.stderr.isTTY === true;
  const show = (): void => {
    process.stderr.write(isTerminal ? `\r\x1b[K${line()}` : `${line()}\n`);
  };
  const timer = setInterval(show, isTerminal ? PROGRESS_MS : PROGRESS_LINE_MS);
  return () => {
    clearInterval(timer);
    if (isTerminal) process.stderr.write('\r\x1b[K');
  };
}
