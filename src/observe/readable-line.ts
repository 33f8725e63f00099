/** Log lines as people read them in a terminal: time, level, message, then the facts. Pure. */
import { showOnOneLine } from '../model/invisible.ts';

const LEVELS: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};
const LEVEL_WIDTH = 5;

/** Parts of the local time of day, to the millisecond. */
function clockOf(ms: number): string {
  const at = new Date(ms);
  const two = (part: number): string => String(part).padStart(2, '0');
  const day = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
  return `${day}.${String(at.getMilliseconds()).padStart(3, '0')}`;
}

/** A word as it is, anything else as JSON. */
function factText(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@-]+$/.test(value) ? value : JSON.stringify(value);
}

/**
 * Rewrites one line of pino's JSON.
 *
 * @param line with its line end
 * @returns one line with its line end, without invisible characters; a line that is no JSON object as it was
 */
export function readableLine(line: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return line;
  }
  if (typeof parsed !== 'object' || parsed === null) return line;
  const { time, level, msg, ...facts } = parsed as Record<string, unknown>;
  if (typeof time !== 'number' || typeof level !== 'number') return line;
  const name = (LEVELS[level] ?? String(level)).padEnd(LEVEL_WIDTH);
  const shown = Object.entries(facts).map(([key, value]) => `${key}=${factText(value)}`);
  const text = [`${clockOf(time)} ${name} ${String(msg ?? '')}`, ...shown].join('  ');
  return `${showOnOneLine(text)}\n`;
}
