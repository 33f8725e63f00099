/**
 * Filters that say which blocks cannot contain a text (docs/decisions/0026-text-search.md): a bit for each hash of
 * three bytes in a row. A filter never denies a text that is there.
 *
 *   text     "Caf\u00e9\nat home"      as JSON has it; escapes are decoded, also those of JSON in JSON
 *   scanned  caf é │ n a t …           │ no group of three goes across; A to Z count as a to z
 *   bit      hash of a group, modulo the bits of the filter
 *
 * A person's text may be behind one or more levels of JSON. Where the same bytes mean different texts at different
 * levels, the groups of all of them are in the filter. Only escapes whose letters are escaped in turn are not decoded.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SLASH = 0x2f;
const LETTER_U = 0x75;
const SPACE = 0x20;
/** `u` and four digits. */
const UNICODE_ESCAPE_BYTES = 5;
/** Bytes that hold `u`, four digits and two more characters, each with its escape. */
const OTHER_LEVEL_BYTES = 64;
/** Bytes in a row of a group. */
export const GROUP_BYTES = 3;
const GROUPS = 2 ** 24;
const GROUP_MASK = GROUPS - 1;

/** Bytes of a filter per byte of its block: at most a twentieth. */
const FILTER_PART = 1 / 22;

const toLower = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte);

/** By byte: itself in lower case; 0 for a byte that ends a group. */
const LOWER = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === QUOTE || byte < SPACE ? 0 : toLower(byte),
);

/** Returns a whole number of 31 bits. */
function hashOf(group: number): number {
  let hash = Math.imul(group ^ (group >>> 13), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) & 0x7fffffff;
}

/** Collects the groups of one block after another, in the same memory. */
export class TextGroups {
  readonly #known = new Uint8Array(GROUPS / 8);
  #groups: number[] = [];
  /** the last two bytes, with how many of them there are */
  #last = 0;
  #count = 0;

  /** Adds text of JSON; may begin and end anywhere. */
  add(text: Buffer, from = 0, end = text.length): void {
    this.#scan(text, from, end, true);
  }

  /** @param isWhole false: other meanings of an escape are not added */
  #scan(text: Buffer, from: number, end: number, isWhole: boolean): void {
    this.#break();
    for (let at = from; at < end; ) {
      at = this.#plain(text, at, end);
      if (at < end) at = this.#escape(text, at, end, isWhole);
    }
    this.#break();
  }

  /** Scans up to a backslash. Most bytes pass here, so everything is in local variables. */
  #plain(text: Buffer, from: number, end: number): number {
    const known = this.#known;
    let group = this.#last;
    let count = this.#count;
    let at = from;
    for (; at < end; at += 1) {
      const byte = LOWER[text[at] as number] as number;
      if (byte === BACKSLASH) break;
      group = ((group << 8) | byte) & GROUP_MASK;
      count = byte === 0 ? 0 : count + 1;
      if (count < GROUP_BYTES) continue;
      const bits = known[group >>> 3] as number;
      const bit = 1 << (group & 7);
      if ((bits & bit) !== 0) continue;
      known[group >>> 3] = bits | bit;
      this.#groups.push(group);
    }
    this.#last = group;
    this.#count = count;
    return at;
  }

  /** Scans backslashes and what they escape. @returns the position after that */
  #escape(text: Buffer, start: number, end: number, isWhole: boolean): number {
    let at = start;
    let slashes = 0;
    for (; at < end; slashes += 1) {
      if (text[at] === BACKSLASH) at += 1;
      else if (text[at] === LETTER_U && unicodeAt(text, at, end) === BACKSLASH) {
        if (slashes > 1 && isWhole) this.#otherLevel(text, at, end);
        at += UNICODE_ESCAPE_BYTES;
      } else break;
    }
    if (text[at] === SLASH && at < end) {
      this.#put(SLASH);
      return at + 1;
    }
    const unit = text[at] === LETTER_U ? unicodeAt(text, at, end) : -1;
    if (unit < 0) {
      this.#break();
      return at;
    }
    return this.#unicode(text, at, end, unit, slashes > 1 && isWhole);
  }

  /** Adds the groups of an escape that is text: of `\u00e9`, not of `é`. */
  #otherLevel(text: Buffer, at: number, end: number): void {
    const [last, count] = [this.#last, this.#count];
    this.#scan(text, at, Math.min(end, at + OTHER_LEVEL_BYTES), false);
    this.#last = last;
    this.#count = count;
  }

  /** @param at the position of `u` @param isUnsure the escape may be text */
  #unicode(text: Buffer, at: number, end: number, unit: number, isUnsure: boolean): number {
    if (isUnsure) this.#otherLevel(text, at, end);
    let next = at + UNICODE_ESCAPE_BYTES;
    let code = unit;
    if (unit >= 0xd800 && unit <= 0xdbff) {
      let low = next;
      while (low < end && text[low] === BACKSLASH) low += 1;
      const second = low > next ? unicodeAt(text, low, end) : -1;
      if (second >= 0xdc00 && second <= 0xdfff) {
        if (isUnsure) this.#otherLevel(text, low, end);
        code = 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
        next = low + UNICODE_ESCAPE_BYTES;
      }
    }
    if (code < SPACE || code === QUOTE || (code >= 0xd800 && code <= 0xdfff)) this.#break();
    else for (const byte of Buffer.from(String.fromCodePoint(code))) this.#put(toLower(byte));
    return next;
  }

  #break(): void {
    this.#count = 0;
  }

  #put(byte: number): void {
    const group = ((this.#last << 8) | byte) & GROUP_MASK;
    this.#last = group;
    this.#count += 1;
    if (this.#count < GROUP_BYTES) return;
    const bits = this.#known[group >>> 3] as number;
    const bit = 1 << (group & 7);
    if ((bits & bit) !== 0) return;
    this.#known[group >>> 3] = bits | bit;
    this.#groups.push(group);
  }

  /** Returns the groups since the last call. */
  take(): readonly number[] {
    const groups = this.#groups;
    for (const group of groups) this.#known[group >>> 3] = 0;
    this.#groups = [];
    return groups;
  }
}

/** Returns the unit that `u` and four digits name; -1 if there are none. @param at the position of `u` */
function unicodeAt(text: Buffer, at: number, end: number): number {
  if (text[at] !== LETTER_U || at + UNICODE_ESCAPE_BYTES > end) return -1;
  const digits = text.toString('latin1', at + 1, at + UNICODE_ESCAPE_BYTES);
  return /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : -1;
}

/**
 * Makes a filter.
 *
 * @param blockBytes of the compressed block
 */
export function createFilter(groups: readonly number[], blockBytes: number): Buffer {
  const filter = Buffer.alloc(Math.max(1, Math.floor(blockBytes * FILTER_PART)));
  const bits = 8 * filter.length;
  for (const group of groups) {
    const bit = hashOf(group) % bits;
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

/** Checks whether a text with these hashes may be where the filter was made. */
export function mayContain(filter: Buffer, hashes: readonly number[]): boolean {
  return hashes.every((hash) => {
    const bit = hash % (8 * filter.length);
    return ((filter[bit >>> 3] as number) & (1 << (bit & 7))) !== 0;
  });
}
