/**
 * Owns the key under which a text is known. V8 hashes a string of more than 16,383 characters by
 * its length alone: 3,000 such texts of one length took a Set 9 s of comparing (Node 20). Must
 * give two texts one key only if they are equal.
 */
import { createHash } from 'node:crypto';

/** `String::kMaxHashCalcLength` in V8; a key adds to it, so a little less. */
const HASHED_CHARS_MAX = 16_000;

/**
 * A short string that stands for a text in a Map or a Set. UTF-16 is digested, not UTF-8: it tells
 * lone surrogates apart.
 */
export function textKey(text: string): string {
  if (text.length <= HASHED_CHARS_MAX) return `=${text}`;
  return `#${createHash('sha256').update(text, 'utf16le').digest('base64')}`;
}
