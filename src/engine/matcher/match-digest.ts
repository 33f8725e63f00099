/**
 * Owns which matched texts count as the same: those that are equal but for case, white space, and
 * characters that nobody sees. Their digest goes to the store, which keys it (complete-runs.ts).
 */
import { createHash } from 'node:crypto';

import { folded } from './matched-name.ts';
import type { CharacterRange } from './normalised-text.ts';

/** Folding takes time: of a longer match, the rest counts as it was written. */
const FOLDED_UNITS_MAX = 8192;

/**
 * @param hit offsets into `text`
 * @returns SHA-256 of the match, 64 hexadecimal digits
 */
export function matchSha256(text: string, { start, end }: CharacterRange): string {
  const cut = Math.min(end, start + FOLDED_UNITS_MAX);
  return createHash('sha256')
    .update(folded(text.slice(start, cut)))
    .update(text.slice(cut, end))
    .digest('hex');
}
