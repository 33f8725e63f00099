/**
 * Owns the shortening of base64 in a text to its beginning (some rules match base64 itself) and its
 * end (a path of a thousand slashes looks like base64). Pictures would use up a surface's cap and
 * leave no room for the text around them.
 *
 * Loops by hand: a regular expression over megabytes of base64 overflows V8's stack (seen at
 * 8 MB). Must be linear, never throw, and never take words for base64.
 */

/** A shorter run may be a long name or a path. */
const RUN_MIN = 1024;

/** Characters of a run that are kept at either end. */
const KEPT = 256;

/** Encoders that break lines do so after 64 or 76 characters; prose has blanks before that. */
const LINE_MIN = 60;

/** Pictures and the like. `data:text/html;base64,…` is not among them: it may be an attack. */
const PICTURE_URL =
  /^\s{0,8}data:(?:image|audio|video|font|application\/(?:octet-stream|pdf|zip))[^,\s]{0,200};base64,/i;

const CODES = new Uint8Array(128);
for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-') {
  CODES[letter.charCodeAt(0)] = 1;
}
const PADDING = '='.charCodeAt(0);

/** The text with every run of `RUN_MIN` or more base64 characters cut down to its ends. */
export function shortenBase64(text: string): string {
  let shortened = '';
  let from = 0;
  let start = 0;
  while (start + RUN_MIN <= text.length) {
    // Backwards: if no run can include this end, the characters before it need not be read.
    let at = start + RUN_MIN - 1;
    while (at >= start && isBase64At(text, at)) at -= 1;
    if (at >= start) {
      start = at + 1;
      continue;
    }
    const end = skipRun(text, start + RUN_MIN);
    shortened += `${text.slice(from, start + KEPT)}…${text.slice(end - KEPT, end)}`;
    from = skipPadding(text, end);
    start = from;
  }
  return from === 0 ? text : shortened + text.slice(from);
}

/** Checks whether this is a picture's data URL and nothing else. A text that only begins like one is text. */
export function isPicture(text: string): boolean {
  const [header] = PICTURE_URL.exec(text) ?? [];
  return header !== undefined && isBase64(text.slice(header.length));
}

/** Checks whether this is base64 and nothing else: one run, or lines as encoders break them. */
export function isBase64(text: string): boolean {
  const { length } = text.trimEnd();
  let line = 0;
  for (;;) {
    const end = skipPadding(text, skipRun(text, line));
    if (end >= length) return true;
    const next = text.startsWith('\r\n', end) ? end + 2 : text[end] === '\n' ? end + 1 : line;
    if (next === line || end - line < LINE_MIN) return false;
    line = next;
  }
}

function skipRun(text: string, from: number): number {
  let end = from;
  while (end < text.length && isBase64At(text, end)) end += 1;
  return end;
}

function skipPadding(text: string, from: number): number {
  let end = from;
  while (end < from + 2 && text.charCodeAt(end) === PADDING) end += 1;
  return end;
}

function isBase64At(text: string, at: number): boolean {
  return CODES[text.charCodeAt(at)] === 1;
}
