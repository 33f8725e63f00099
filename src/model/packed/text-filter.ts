/**
 * Filters that say which blocks cannot contain a text (docs/decisions/0026-text-search.md): a bit for each hash of
 * three bytes in a row. A filter never denies a text that is there.
 *
 *   text ─► groups of three bytes (`assembly/groups.ts`) ─► hashes ─► bits, modulo the bits of the filter
 */

/** Bytes in a row of a group. */
const GROUP_BYTES = 3;

/** Bytes of a filter per byte of its block: at most a twentieth. */
const FILTER_PART = 1 / 22;

const toLower = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte);

/** Returns a whole number of 31 bits. */
function hashOf(group: number): number {
  let hash = Math.imul(group ^ (group >>> 13), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) & 0x7fffffff;
}

/**
 * Makes a filter.
 *
 * @param blockBytes of the compressed block
 */
export function createFilter(hashes: Iterable<number>, blockBytes: number): Buffer {
  const filter = Buffer.alloc(Math.max(1, Math.floor(blockBytes * FILTER_PART)));
  const bits = 8 * filter.length;
  for (const hash of hashes) {
    const bit = hash % bits;
    filter[bit >>> 3] = (filter[bit >>> 3] as number) | (1 << (bit & 7));
  }
  return filter;
}

/** Returns the hashes whose bits, modulo the bits of a filter, are set where the text is; none: it may be anywhere. */
export function hashesOf(text: string): readonly number[] {
  const groups = new Set<number>();
  for (const part of text.split(UNSURE)) {
    const bytes = Buffer.from(part);
    for (let at = 0; at + GROUP_BYTES <= bytes.length; at += 1) {
      const [one, two, three] = [0, 1, 2].map((index) => toLower(bytes[at + index] as number));
      groups.add(((one as number) << 16) | ((two as number) << 8) | (three as number));
    }
  }
  return [...groups].map(hashOf);
}

/** Characters whose form in a block depends on its level, and those that JSON cannot have. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are always escaped
const UNSURE = /[\x00-\x1f"\\\ufffd]/;
