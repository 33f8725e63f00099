/**
 * The encoding of a scanned file. Rules match UTF-8: UTF-16 with a byte order mark is converted, UTF-32 and
 * UTF-16 without a mark are refused. Any other bytes are matched, and noted if they are not UTF-8 text.
 */
import { isUtf8 } from 'node:buffer';

import { OperatorError } from '../../errors.ts';

/** Number of bytes at the start of a file that are searched for zero bytes. */
const SNIFF_BYTES = 8000;
/** Maximum bytes per character in these encodings. */
const WIDTH_MAX = 4;
/** Minimum share of zero bytes at an unused byte position, in mostly ASCII text. */
const ZEROS_MIN = 0.4;
/** Maximum share of zero bytes at a used byte position. */
const ZEROS_MAX = 0.04;

const MARKS = [
  // Before UTF-16: this mark begins with the mark of UTF-16.
  { mark: [0xff, 0xfe, 0, 0], encoding: 'UTF-32' },
  { mark: [0, 0, 0xfe, 0xff], encoding: 'UTF-32' },
  { mark: [0xff, 0xfe], encoding: 'utf-16le' },
  { mark: [0xfe, 0xff], encoding: 'utf-16be' },
  { mark: [0xef, 0xbb, 0xbf], encoding: 'utf-8' },
] as const;

export interface DecodedText {
  /** UTF-8, without a byte order mark */
  readonly bytes: Buffer;
  /** false if it has zero bytes or bytes that are not UTF-8: rules may miss text in them */
  readonly isUtf8Text: boolean;
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
    return { bytes: fromUtf16(bytes, found.encoding), isUtf8Text: true };
  }
  const text = found === undefined ? bytes : bytes.subarray(found.mark.length);
  const first = text.subarray(0, SNIFF_BYTES);
  if (isWide(first)) throw refusal('UTF-16 or UTF-32 without a byte order mark');
  // A zero byte means no text, as for grep and git.
  if (isFound && first.includes(0)) return null;
  return { bytes: text, isUtf8Text: !text.includes(0) && isUtf8(text) };
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

/** Checks whether some places of each character are often zero, and the others hardly ever. */
function isWide(first: Buffer): boolean {
  const zeros = Array.from({ length: WIDTH_MAX }, () => 0);
  const end = first.length - (first.length % WIDTH_MAX);
  for (let at = 0; at < end; at += 1) {
    const place = at % WIDTH_MAX;
    if (first[at] === 0) zeros[place] = (zeros[place] ?? 0) + 1;
  }
  const parts = zeros.map((count) => (count * WIDTH_MAX) / end);
  const often = parts.filter((part) => part >= ZEROS_MIN).length;
  const hardly = parts.filter((part) => part <= ZEROS_MAX).length;
  return often > 0 && hardly > 0 && often + hardly === WIDTH_MAX;
}
