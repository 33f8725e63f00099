/** Colour for terminals, none for pipes and files, none under NO_COLOR (no-color.org). */
import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** True if standard output shows colour, decided once. */
const coloured =
  process.stdout.isTTY === true &&
  (process.env.NO_COLOR ?? '') === '' &&
  process.env.TERM !== 'dumb';

function painter(style: Style): (text: string) => string {
  return (text) => (coloured ? styleText(style, text) : text);
}

export const paint = {
  bold: painter('bold'),
  dim: painter('dim'),
  green: painter('green'),
  cyan: painter('cyan'),
  red: painter('red'),
  yellow: painter('yellow'),
};

const COLOUR = new RegExp(`(${String.fromCodePoint(0x1b)}\\[\\d{1,3}m)`);

/** Changes a text, except for the colours of `paint`. */
export function betweenColours(text: string, change: (part: string) => string): string {
  if (!coloured) return change(text);
  return text
    .split(COLOUR)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('');
}
