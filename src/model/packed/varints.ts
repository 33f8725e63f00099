/** Numbers of variable length (LEB128), at most `NUMBER_MAX`. */
export const NUMBER_MAX = 2 ** 31 - 1;
const NUMBER_BYTES = 5;
const DAMAGED = 'damaged numbers';

export class Numbers {
  #bytes: Buffer = Buffer.allocUnsafe(1024);
  #length = 0;

  put(number: number): void {
    if (this.#length + NUMBER_BYTES > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes, Buffer.allocUnsafe(this.#bytes.length)]);
    }
    let rest = number;
    for (; rest > 0x7f; rest >>>= 7) {
      this.#bytes[this.#length] = (rest & 0x7f) | 0x80;
      this.#length += 1;
    }
    this.#bytes[this.#length] = rest;
    this.#length += 1;
  }

  clear(): void {
    this.#length = 0;
  }

  copy(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }
}

export class NumberReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** @throws {RangeError} when there is none */
  next(): number {
    let number = 0;
    for (let shift = 0; shift <= 28; shift += 7) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) break;
      this.#at += 1;
      number += (byte & 0x7f) * 2 ** shift;
      if (byte <= 0x7f) {
        if (number > NUMBER_MAX) break;
        return number;
      }
    }
    throw new RangeError(DAMAGED);
  }
}
