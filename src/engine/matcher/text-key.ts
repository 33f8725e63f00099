/**
 * Owns the key of a text in a Map or a Set. V8 hashes a string of more than 16,383 characters by its
 * length alone: a Set of 3,000 such texts of one length took 9 s (Node 20). Two texts must have the
 * same key only if they are equal.
 */
import { createHash } from 'node:crypto';

/** `String::kMaxHashCalcLength` in V8; a key adds to it, so a little less. */
export const HASHED_CHARS_MAX = 16_000;

/**
 * A short text is its own key, because V8 keeps a string's hash with the string. Only one that begins
 * like another text's key has a mark before it. Digests UTF-16, not UTF-8, in which lone surrogates would
 * be equal.
 */
export function textKey(text: string): string {
  if (text.length <= HASHED_CHARS_MAX) {
    return text.startsWith('=') || text.startsWith('#') ? `=${text}` : text;
  }
  return `#${createHash('sha256').update(text, 'utf16le').digest('base64')}`;
}
