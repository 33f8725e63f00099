/** Buffers that grow, and are used again. */

/**
 * Maximum bytes of a buffer that is used again. New memory costs a page fault for each 4 KiB, a third of the time
 * of splitting a text.
 */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;
const NOTHING: Buffer = Buffer.alloc(0);

/** Returns the buffer, or a longer one with the same first bytes. */
export function withRoom(buffer: Buffer, used: number, bytes: number): Buffer {
  if (used + bytes <= buffer.length) return buffer;
  const longer = Buffer.allocUnsafeSlow(Math.max(used + bytes, 2 * buffer.length));
  buffer.copy(longer, 0, 0, used);
  return longer;
}

/** Returns the buffer, or an empty one instead of a long one. */
export const kept = (buffer: Buffer): Buffer =>
  buffer.length <= KEPT_BYTES_MAX ? buffer : NOTHING;
