/**
 * The encoding of a scanned file. Rules match UTF-8: UTF-16 with a byte order mark is converted, and a
 * text in another encoding is refused, because no rule would match it.
 */
import { isUtf8 } from 'node:buffer';

import { OperatorError } from '../../errors.ts';

/** Bytes from which the encoding of a file without a byte order mark is guessed. */
const SNIFF_BYTES = 8000;
/** The part of every second byte that is zero in UTF-16 of mostly ASCII. */
const ZEROS_MIN = 0.4;

const MARKS = [
  // UTF-32's begins as that of UTF-16 in the other order of bytes.
  { mark: [0xff, 0xfe, 0, 0], encoding: 'UTF-32' },
  { mark: [0, 0, 0xfe, 0xff], encoding: 'UTF-32' },
  { mark: [0xff, 0xfe], encoding: 'utf-16le' },
  { mark: [0xfe, 0xff], encoding: 'utf-16be' },
  { mark: [0xef, 0xbb, 0xbf], encoding: 'utf-8' },
] as const;

export interface DecodedText {
  /** UTF-8, without a byte order mark */
  readonly bytes: Buffer;
  /** whether some bytes are not UTF-8: they are read as U+FFFD */
  readonly isReplaced: boolean;
}

/**
 * Converts the bytes of a file to UTF-8.
 *
 * @param isFound whether the file was found in a folder: one that is no text is then left out
 * @returns null for a found file that is no text
 * @throws {OperatorError} when the text is in an encoding that is not read
 */
export function decodeText(bytes: Buffer, isFound: boolean): DecodedText | null {
  const found = MARKS.find(({ mark }) => mark.every((byte, index) => bytes[index] === byte));
  if (found?.encoding === 'UTF-32') throw refusal('UTF-32');
  if (found?.encoding === 'utf-16le' || found?.encoding === 'utf-16be') {
    return { bytes: fromUtf16(bytes, found.encoding), isReplaced: false };
  }
  const text = found === undefined ? bytes : bytes.subarray(found.mark.length);
  const first = text.subarray(0, SNIFF_BYTES);
  if (isUtf16(first)) throw refusal('UTF-16 without a byte order mark');
  // A zero byte means no text, as for grep and git.
  if (isFound && first.includes(0)) return null;
  return { bytes: text, isReplaced: !isUtf8(text) };
}

function refusal(encoding: string): OperatorError {
  return new OperatorError(`it looks like ${encoding}: convert it to UTF-8`);
}

function fromUtf16(bytes: Buffer, encoding: 'utf-16le' | 'utf-16be'): Buffer {
  try {
    return Buffer.from(new TextDecoder(encoding, { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new OperatorError(
      `it begins as ${encoding.toUpperCase()} and is not: convert it to UTF-8`,
      {
        cause,
      },
    );
  }
}

/** Checks whether every second byte is often zero, and the bytes between hardly ever. */
function isUtf16(first: Buffer): boolean {
  const zeros = [0, 0];
  for (const [index, byte] of first.entries()) {
    if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  }
  const [fewer = 0, more = 0] = zeros.sort((a, b) => a - b);
  const pairs = Math.floor(first.length / 2);
  return pairs > 1 && more >= pairs * ZEROS_MIN && fewer <= more / 10;
}
