/**
 * Owns how the texts of one surface of a step share its cap.
 *
 *   oldest ──────────────────────────────────────────► newest
 *   left out │ cut │ whole │ cut: half of what is left │ whole │ whole      the cap is spent from the right
 *
 * The newest text comes first: the earlier ones of a conversation were matched when they were new.
 */
import { bytesWithin } from './text-cut.ts';

/** A text that does not fit leaves the rest of what is left to older ones: they may be as new as it is. */
const LONG_TEXT_SHARE = 1 / 2;
/** It gets at least this, or all that is left: many scraps of texts are worth less than one text. */
const LONG_TEXT_BYTES_MIN = 4096;

export interface Sharer<Key> {
  readonly key: Key;
  readonly text: string;
  /** the highest is the newest */
  readonly recency: number;
  /**
   * bytes that the text was given in an earlier step: it has had its share, and gets more only of what
   * nobody else needs
   */
  readonly before: number;
}

/**
 * Shares the cap. A text that fits is read whole. One that does not gets half of what is left, and at last
 * what older texts do not need.
 * @returns the UTF-8 bytes that each text is given
 */
export function shareCap<Key>(texts: readonly Sharer<Key>[], capBytes: number): Map<Key, number> {
  const shares = new Map<Key, number>();
  const long: Sharer<Key>[] = [];
  let left = capBytes;
  for (const one of texts.toSorted((a, b) => b.recency - a.recency)) {
    const whole = one.before > 0 ? null : bytesWithin(one.text, left);
    const share = whole ?? (one.before > 0 ? 0 : shareOfLong(left));
    if (whole === null) long.push(one);
    shares.set(one.key, share);
    left -= share;
  }
  for (const { key, text, before } of long) {
    const more = (shares.get(key) ?? 0) + left;
    if (more <= before) continue;
    const granted = bytesWithin(text, more) ?? more;
    shares.set(key, granted);
    left = more - granted;
  }
  return shares;
}

function shareOfLong(left: number): number {
  return Math.max(Math.floor(left * LONG_TEXT_SHARE), Math.min(left, LONG_TEXT_BYTES_MIN));
}
