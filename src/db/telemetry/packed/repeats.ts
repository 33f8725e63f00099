/**
 * Takes out what a text repeats from further back than a compressor looks, or cheaper than it does: each model
 * call sends the whole conversation so far.
 *
 *   text      question, answer, question, answer, next question
 *   literals  question, answer,                   next question
 *   repeats   (16 literal bytes, then 16 bytes from 16 bytes back), …
 */
import { NumberReader, NumberWriter } from './varints.ts';

/** Least bytes of a repeat. */
const REPEAT_BYTES_MIN = 32;
/** Distance of the places that can be found again. */
const STEP = 16;
const FACTOR = 0x2c1b3c6d;
/** `FACTOR` to the power of `REPEAT_BYTES_MIN`. */
const LEAVING = power(FACTOR, REPEAT_BYTES_MIN);
const MIX = 0x9e3779b1 | 0;

export interface WithoutRepeats {
  readonly literals: Buffer;
  /** for each repeat: literal bytes before it, bytes above the minimum, distance */
  readonly repeats: Buffer;
}

function power(base: number, exponent: number): number {
  let product = 1;
  for (let count = 0; count < exponent; count += 1) product = Math.imul(product, base);
  return product;
}

/** @param text shares no memory with what is returned */
export function takeRepeatsOut(text: Buffer): WithoutRepeats {
  const literals = Buffer.allocUnsafe(text.length);
  const repeats = new NumberWriter();
  const bits = Math.max(8, 32 - Math.clz32((2 * text.length) / STEP));
  const shift = 32 - bits;
  /** places, one more than their position; 0 for none */
  const places = new Int32Array(2 ** bits);
  const last = text.length - REPEAT_BYTES_MIN;
  let literalBytes = 0;
  let from = 0;
  let hash = last < 0 ? 0 : hashAt(text, 0);
  for (let at = 0; at <= last; ) {
    const slot = Math.imul(hash, MIX) >>> shift;
    let source = (places[slot] as number) - 1;
    if (source >= 0 && isSame(text, source, at)) {
      let start = at;
      while (start > from && source > 0 && text[start - 1] === text[source - 1]) {
        start -= 1;
        source -= 1;
      }
      let end = at + REPEAT_BYTES_MIN;
      const distance = start - source;
      while (end < text.length && text[end] === text[end - distance]) end += 1;
      literalBytes += text.copy(literals, literalBytes, from, start);
      repeats.put(start - from);
      repeats.put(end - start - REPEAT_BYTES_MIN);
      repeats.put(distance);
      from = end;
      at = end;
      if (at <= last) hash = hashAt(text, at);
      continue;
    }
    if (at % STEP === 0) places[slot] = at + 1;
    hash =
      (Math.imul(hash, FACTOR) +
        (text[at + REPEAT_BYTES_MIN] as number) -
        Math.imul(text[at] as number, LEAVING)) |
      0;
    at += 1;
  }
  literalBytes += text.copy(literals, literalBytes, from);
  return { literals: literals.subarray(0, literalBytes), repeats: repeats.end() };
}

function hashAt(text: Buffer, at: number): number {
  let hash = 0;
  for (let next = at; next < at + REPEAT_BYTES_MIN; next += 1) {
    hash = (Math.imul(hash, FACTOR) + (text[next] as number)) | 0;
  }
  return hash;
}

function isSame(text: Buffer, one: number, other: number): boolean {
  for (let next = 0; next < REPEAT_BYTES_MIN; next += 1) {
    if (text[one + next] !== text[other + next]) return false;
  }
  return true;
}

/**
 * @param bytes of the text
 * @throws {RangeError} when the text would have another length
 */
export function putRepeatsBack({ literals, repeats }: WithoutRepeats, bytes: number): Buffer {
  const text = Buffer.allocUnsafe(bytes);
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
    literals.copy(text, length, from, from + before);
    from += before;
    length = start;
    // A repeat may overlap itself.
    for (let left = count; left > 0; ) {
      const some = Math.min(left, distance);
      text.copy(text, length, length - distance, length - distance + some);
      length += some;
      left -= some;
    }
  }
  if (literals.length - from !== bytes - length) throw new RangeError(DAMAGED);
  literals.copy(text, length, from);
  return text;
}

const DAMAGED = 'the repeats do not fit the text';
