/**
 * A cache of objects, recognized by their bytes: a process sends its resource and scopes with every
 * request, and scanning them again would cost more than the rows of a small request. An entry
 * depends on the bytes alone, so all senders share the cache.
 */

import { copyOf, isAhead } from './byte-words.ts';
import { OPEN_OBJECT, type Scanner } from './scanner.ts';

/** Entries of the cache. Comparing starts at the end of an object, where most differences are. */
const OBJECTS_MAX = 8;
const BYTES_MAX = 2048;
/**
 * Every fourth unknown object replaces the oldest entry. If many objects alternate, some stay
 * cached until they come again, and the others cost little.
 */
const REPLACE_EVERY = 4;

interface KnownObject {
  readonly bytes: DataView;
  readonly text: string;
  readonly structures: number;
}

export class KnownObjects {
  readonly #known: KnownObject[] = [];
  #oldest = 0;
  #unknown = 0;

  /** As `Scanner.textOfValue`; for a cached object, the identical string. */
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
    const isStored = this.#unknown % REPLACE_EVERY === 0;
    this.#unknown += 1;
    if (!isStored || at - start > BYTES_MAX) return;
    this.#known[this.#oldest] = { bytes: copyOf(view, start, at), text, structures };
    this.#oldest = (this.#oldest + 1) % OBJECTS_MAX;
  }
}
