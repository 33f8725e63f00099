/**
 * Owns the recognition of objects by the bytes they are written in: a process sends its resource and
 * scopes with every request, and reading them once more would cost more than a small request's rows.
 * What is remembered is a function of the bytes alone, the same for every sender.
 */

import { copyOf, isAhead } from './byte-words.ts';
import { OPEN_OBJECT, type Scanner } from './scanner.ts';

/** Objects remembered. They are compared from their ends, where most that differ do. */
const OBJECTS_MAX = 8;
/** Longer ones are not remembered. */
const BYTES_MAX = 2048;
/**
 * Of the objects that are not known one in so many is remembered in the place of the oldest: where many
 * are in turn, some stay until they come again, and hardly anything is spent on the others.
 */
const NOTED_OF = 4;

interface KnownObject {
  readonly bytes: DataView;
  readonly text: string;
  /** objects and lists in it */
  readonly structures: number;
}

export class KnownObjects {
  readonly #known: KnownObject[] = [];
  /** which one is forgotten for the next */
  #oldest = 0;
  #unknown = 0;

  /** `Scanner.textOfValue`; of an object that was sent before, the very same string. */
  textOf(scanner: Scanner): string {
    const isObject = scanner.peek() === OPEN_OBJECT;
    const start = scanner.at;
    const known = isObject ? this.#at(scanner, start) : null;
    if (known !== null) {
      scanner.noteStructures(known.structures);
      scanner.at = start + known.bytes.byteLength;
      return known.text;
    }
    const before = scanner.structures;
    const text = scanner.textOfValue();
    if (isObject) this.#note(scanner, start, text, scanner.structures - before);
    return text;
  }

  #at({ view }: Scanner, start: number): KnownObject | null {
    for (const known of this.#known) if (isAhead(known.bytes, view, start)) return known;
    return null;
  }

  #note({ view, at }: Scanner, start: number, text: string, structures: number): void {
    const isTurn = this.#unknown % NOTED_OF === 0;
    this.#unknown += 1;
    if (!isTurn || at - start > BYTES_MAX) return;
    this.#known[this.#oldest] = { bytes: copyOf(view, start, at), text, structures };
    this.#oldest = (this.#oldest + 1) % OBJECTS_MAX;
  }
}
