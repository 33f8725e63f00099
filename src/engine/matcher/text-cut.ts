/**
 * Owns where a text that is longer than its share of the cap is cut: its beginning and its end are
 * read, its middle is not. Both are cut between characters, the end between letters.
 */
import { clusterStart } from './normalised-text.ts';
import { boundaryAfter, boundaryBefore } from './utf8.ts';

/** The part of a cut text's bytes that its end gets: an attack may be the last line of a long result. */
const END_SHARE = 1 / 4;

/** The beginning of a text, cut between characters. */
export interface Beginning {
  readonly text: string;
  readonly bytes: Buffer;
  /** most bytes that it may have */
  readonly capBytes: number;
  readonly cut: boolean;
}

export interface End {
  readonly text: string;
  readonly bytes: Buffer;
  /** UTF-16 offset into the whole text */
  readonly offset: number;
  /** UTF-16 units of its first letter. No match starts in it: it shows what precedes the others. */
  readonly contextUnits: number;
}

export interface TextParts {
  readonly beginning: Beginning;
  /** null if the text is whole, or its end is one letter */
  readonly end: End | null;
}

/**
 * Cuts a text to its share of the cap.
 * @param capBytes most UTF-8 bytes of both parts together
 */
export function cutText(text: string, capBytes: number): TextParts {
  const whole = beginningOf(text, capBytes);
  if (!whole.cut) return { beginning: whole, end: null };
  const end = endOf(text, Math.floor(capBytes * END_SHARE));
  if (end === null) return { beginning: whole, end };
  return { beginning: beginningOf(text, capBytes - end.bytes.byteLength), end };
}

/** As much of a text's beginning as fits into the bytes. */
export function beginningOf(text: string, capBytes: number): Beginning {
  // A character has at least one byte, so text farther than the cap need not be encoded. A lone
  // surrogate has no UTF-8; it is replaced by U+FFFD, which is one UTF-16 unit, too.
  const near = text.slice(0, Math.max(0, capBytes) + 1).toWellFormed();
  const encoded = Buffer.from(near);
  if (encoded.byteLength <= capBytes) return { text: near, bytes: encoded, capBytes, cut: false };
  const bytes = encoded.subarray(0, boundaryBefore(encoded, capBytes));
  return { text: bytes.toString(), bytes, capBytes, cut: true };
}

/** As much of a text's end as fits into the bytes, from where a letter begins. */
function endOf(text: string, capBytes: number): End | null {
  if (capBytes <= 0) return null;
  const near = Buffer.from(text.slice(-capBytes).toWellFormed());
  const fitting = near.subarray(boundaryAfter(near, near.byteLength - capBytes)).toString();
  const first = clusterStart(fitting, 0);
  const second = first === null ? null : clusterStart(fitting, first + 1);
  if (first === null || second === null) return null;
  const kept = fitting.slice(first);
  return {
    text: kept,
    bytes: Buffer.from(kept),
    offset: text.length - kept.length,
    contextUnits: second - first,
  };
}

/** The UTF-8 bytes of a text; null if they are more than the limit. Does not read a far longer text. */
export function bytesWithin(text: string, limit: number): number | null {
  if (text.length > limit) return null;
  const bytes = Buffer.byteLength(text);
  return bytes <= limit ? bytes : null;
}
