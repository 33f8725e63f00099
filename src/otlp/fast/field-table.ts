/**
 * Owns the recognition of member names: a small perfect hash per kind of object, so that a name is
 * compared with one candidate. Before that the name is compared, four bytes at a time, with the one
 * that came next in the object before: a sender writes its members in the same order every time.
 */

import { type ByteWords, wordsOf } from './byte-words.ts';

/** Every name that is not in the table; its value is skipped. */
export const UNKNOWN_FIELD = -1;

const SLOTS = 256;
const SHIFTS = 24;

export interface Field {
  readonly id: number;
  readonly bytes: Uint8Array;
  /** `"name":` */
  readonly quoted: ByteWords;
  /** the field that followed the last time */
  next: Field | null;
}

export class FieldTable {
  readonly #slots: (Field | null)[];
  readonly #shift: number;
  /** the known field that was read last; before the first one none is expected */
  last: Field | null = null;

  /** @param names the names, whose places become their ids */
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

  /** Adds a byte to a name's sum. */
  static add(sum: number, byte: number): number {
    return (Math.imul(sum, 31) + byte) | 0;
  }

  /** The only name of the table that can have this sum. */
  at(sum: number): Field | null {
    return this.#slots[(sum >>> this.#shift) & (SLOTS - 1)] ?? null;
  }

  /** Notes what was read, so that it is expected the next time. */
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
