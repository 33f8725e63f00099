/**
 * Maps member names to ids: a small perfect hash per kind of object, so that a name is compared
 * with one candidate only. The first guess needs no hash: it is the name that followed in the
 * previous object, because a sender writes its members in the same order every time.
 */

import { type ByteWords, wordsOf } from './byte-words.ts';

/** The id of all names that are not in the table; their values are skipped. */
export const UNKNOWN_FIELD = -1;

const SLOTS = 256;
const SHIFTS = 24;

export interface Field {
  readonly id: number;
  readonly bytes: Uint8Array;
  /** `"name":` */
  readonly quoted: ByteWords;
  /** the field that followed in the previous object */
  next: Field | null;
}

export class FieldTable {
  readonly #slots: (Field | null)[];
  readonly #shift: number;
  /** the last field read; null before the first one */
  last: Field | null = null;

  /** @param names the index of a name becomes its id */
  constructor(names: readonly string[]) {
    for (let shift = 0; shift < SHIFTS; shift += 1) {
      const slots = place(names, shift);
      if (slots === null) continue;
      this.#slots = slots;
      this.#shift = shift;
      return;
    }
    throw new Error('no shift tells these names apart');
  }

  static add(sum: number, byte: number): number {
    return (Math.imul(sum, 31) + byte) | 0;
  }

  /** The only field of the table that can have this hash. */
  at(sum: number): Field | null {
    return this.#slots[(sum >>> this.#shift) & (SLOTS - 1)] ?? null;
  }

  /** Links the field to the one before it, as its expected successor. */
  note(field: Field): void {
    if (this.last !== null) this.last.next = field;
    this.last = field;
  }
}

function place(names: readonly string[], shift: number): (Field | null)[] | null {
  const slots: (Field | null)[] = Array(SLOTS).fill(null);
  for (const [id, name] of names.entries()) {
    const field = fieldOf(id, name);
    const slot = (field.bytes.reduce(FieldTable.add, 0) >>> shift) & (SLOTS - 1);
    if (slots[slot] !== null) return null;
    slots[slot] = field;
  }
  return slots;
}

function fieldOf(id: number, name: string): Field {
  const quoted = wordsOf(Buffer.from(`"${name}":`));
  return { id, bytes: Buffer.from(name), quoted, next: null };
}
