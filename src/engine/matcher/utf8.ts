/** Owns the boundaries of characters in UTF-8. */

/** The last offset, not past `at`, where a character begins. */
export function boundaryBefore(bytes: Buffer, at: number): number {
  let boundary = Math.max(0, at);
  while (boundary > 0 && isContinuation(bytes[boundary])) boundary -= 1;
  return boundary;
}

/** The first offset, not before `at`, where a character begins or the bytes end. */
export function boundaryAfter(bytes: Buffer, at: number): number {
  let boundary = Math.min(bytes.length, at);
  while (boundary < bytes.length && isContinuation(bytes[boundary])) boundary += 1;
  return boundary;
}

function isContinuation(byte: number | undefined): boolean {
  return ((byte ?? 0) & 0xc0) === 0x80;
}

/** UTF-16 offsets between characters of a text, in order, as offsets into its UTF-8. */
export function byteOffsets(text: string, offsets: readonly number[]): Int32Array {
  const found = new Int32Array(offsets.length);
  let at = 0;
  let bytes = 0;
  for (let index = 0; index < found.length; index += 1) {
    const end = offsets[index] as number;
    for (; at < end; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit < 0x80) bytes += 1;
      else if (unit < 0x800) bytes += 2;
      else if (isPair(unit, text.charCodeAt(at + 1))) {
        bytes += 4;
        at += 1;
      } else bytes += 3;
    }
    found[index] = bytes;
  }
  return found;
}

function isPair(unit: number, next: number): boolean {
  return (unit & 0xfc00) === 0xd800 && (next & 0xfc00) === 0xdc00;
}

const MARK_BYTES = 128;

/**
 * Counts UTF-16 units up to byte offsets. The count at every 128 bytes is cached, so that a text with
 * many hits is counted once.
 * @param bytes valid UTF-8; offsets into it are between characters
 */
export function unitCounter(bytes: Buffer): (offset: number) => number {
  let marks: Int32Array | null = null;
  const count = (from: number, to: number): number => {
    let units = 0;
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at] as number;
      // A character counts at its first byte; four bytes are two units.
      if ((byte & 0xc0) !== 0x80) units += byte >= 0xf0 ? 2 : 1;
    }
    return units;
  };
  return (offset) => {
    marks ??= marksOf(bytes.length, count);
    const mark = Math.floor(offset / MARK_BYTES);
    return (marks[mark] as number) + count(mark * MARK_BYTES, offset);
  };
}

function marksOf(length: number, count: (from: number, to: number) => number): Int32Array {
  const marks = new Int32Array(Math.floor(length / MARK_BYTES) + 1);
  for (let mark = 1; mark < marks.length; mark += 1) {
    const to = mark * MARK_BYTES;
    marks[mark] = (marks[mark - 1] as number) + count(to - MARK_BYTES, to);
  }
  return marks;
}
