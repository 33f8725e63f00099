/**
 * Owns the resolving of JSON escapes in a text that is not valid JSON. Loops by hand over code units,
 * a chunk at a time: a regular expression with a callback took 5 s for 16 MB of backslashes.
 * Must never throw; anything that is no escape is left as it is.
 */

const CHUNK = 8192;
const BACKSLASH = '\\'.charCodeAt(0);
const U = 'u'.charCodeAt(0);
const HEX = /^[0-9a-fA-F]{4}$/;

/** The letter after a backslash → the code unit it stands for. */
const ESCAPED = new Uint16Array(128);
for (const [letter, unit] of ['""', '\\\\', '//', 'n\n', 'r\r', 't\t', 'b\b', 'f\f']) {
  if (letter !== undefined) ESCAPED[letter.charCodeAt(0)] = unit?.charCodeAt(0) ?? 0;
}

/** The text with the escapes of JSON strings resolved, wherever they are. Linear. */
export function resolveEscapes(text: string): string {
  let at = text.indexOf('\\');
  if (at === -1) return text;
  let resolved = text.slice(0, at);
  const chunk = new Uint16Array(CHUNK);
  let filled = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    const next = code === BACKSLASH ? text.charCodeAt(at + 1) : Number.NaN;
    const unit = ESCAPED[next] ?? 0;
    if (unit !== 0) {
      chunk[filled] = unit;
      at += 2;
    } else if (next === U && HEX.test(text.slice(at + 2, at + 6))) {
      chunk[filled] = Number.parseInt(text.slice(at + 2, at + 6), 16);
      at += 6;
    } else {
      chunk[filled] = code;
      at += 1;
    }
    filled += 1;
    if (filled === CHUNK || at >= text.length) {
      resolved += String.fromCharCode(...chunk.subarray(0, filled));
      filled = 0;
    }
  }
  return resolved;
}
