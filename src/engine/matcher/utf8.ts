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
