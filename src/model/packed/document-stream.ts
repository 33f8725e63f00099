/** Documents as packed blocks have them, without what they repeat (`assembly/documents.ts`). */
import { REPEAT_BYTES_MIN } from './assembly/codes.ts';
import { NumberReader } from './varints.ts';

export interface CollectedDocuments {
  /** the text without its repeats */
  readonly literals: Buffer;
  /** for each repeat: literal bytes before it, its bytes above the minimum, its distance */
  readonly repeats: Buffer;
}

const DAMAGED = 'its repeats do not fit its documents';

/**
 * Returns the documents.
 *
 * @param bytes of all documents
 * @param memory for them, if there is enough
 * @throws {RangeError} when they have another length
 */
export function putRepeatsBack(
  { literals, repeats }: CollectedDocuments,
  bytes: number,
  memory: Buffer | null = null,
): Buffer {
  if (bytes < 0) throw new RangeError(DAMAGED);
  const isEnough = memory !== null && bytes <= memory.length;
  const documents = isEnough ? memory.subarray(0, bytes) : Buffer.allocUnsafe(bytes);
  const numbers = new NumberReader(repeats);
  let length = 0;
  let from = 0;
  while (!numbers.isAtEnd) {
    const before = numbers.next();
    const count = numbers.next() + REPEAT_BYTES_MIN;
    const distance = numbers.next();
    const start = length + before;
    if (from + before > literals.length || start + count > bytes) throw new RangeError(DAMAGED);
    if (distance === 0 || distance > start) throw new RangeError(DAMAGED);
    literals.copy(documents, length, from, from + before);
    from += before;
    length = start + count;
    // A repeat may begin in itself.
    for (let at = start; at < length; at += distance) {
      const end = Math.min(length, at + distance) - distance;
      documents.copy(documents, at, at - distance, end);
    }
  }
  if (literals.length - from !== bytes - length) throw new RangeError(DAMAGED);
  literals.copy(documents, length, from);
  return documents;
}
