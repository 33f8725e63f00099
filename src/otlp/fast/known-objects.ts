/**
 * Owns the recognition of objects by the bytes they are written in: a process sends its resource and
 * scopes with every request, and reading them once more would cost more than a small request's rows.
 * What is told of an object is a function of its bytes alone, the same for whoever sends it.
 */

import { type ByteWords, standsAt, wordsOf } from './byte-words.ts';
import { OPEN_OBJECT, type Scanner } from './scanner.ts';

/** Objects remembered: each that is looked at in vain costs a few words' comparison. */
const OBJECTS_MAX = 8;
/** Longer ones are not remembered, nor are those that have no word. */
const BYTES_MAX = 2048;
const BYTES_MIN = 4;

interface KnownObject extends ByteWords {
  readonly text: string;
  /** objects and lists in it */
  readonly structures: number;
}

export class KnownObjects {
  readonly #known: KnownObject[] = [];
  /** which one is forgotten for the next */
  #oldest = 0;

  /** `Scanner.textOfValue`; of an object that was sent before, the very same string. */
  textOf(scanner: Scanner): string {
    const isObject = scanner.peek() === OPEN_OBJECT;
    const start = scanner.at;
    const known = isObject ? this.#at(scanner, start) : null;
    if (known !== null) {
      scanner.noteStructures(known.structures);
      scanner.at = start + known.length;
      return known.text;
    }
    const before = scanner.structures;
    const text = scanner.textOfValue();
    if (isObject) this.#note(scanner, start, text, scanner.structures - before);
    return text;
  }

  #at({ view }: Scanner, start: number): KnownObject | null {
    for (const known of this.#known) {
      if (start + known.length <= view.byteLength && standsAt(known, view, start)) return known;
    }
    return null;
  }

  #note({ body, at }: Scanner, start: number, text: string, structures: number): void {
    const length = at - start;
    if (length < BYTES_MIN || length > BYTES_MAX) return;
    this.#known[this.#oldest] = { ...wordsOf(body.subarray(start, at)), text, structures };
    this.#oldest = (this.#oldest + 1) % OBJECTS_MAX;
  }
}
