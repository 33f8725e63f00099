/**
 * Owns the recognition of member names: a small perfect hash per kind of object, so that a name is
 * compared with one candidate. Before that the name is compared, four bytes at a time, with the one
 * that came next in the object before: a sender writes its members in the same order every time.
 */

/** Every name that is not in the table; its value is skipped. */
export const UNKNOWN_FIELD = -1;

const SLOTS = 256;
const SHIFTS = 24;

export interface Field {
  readonly id: number;
  readonly bytes: Uint8Array;
  /** `"name":` as little-endian words, the last of which may overlap the one before */
  readonly quoted: Int32Array;
  /** how many bytes `"name":` has */
  readonly quotedBytes: number;
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

/** Does `"name":` stand at this place? */
export function standsAt({ quoted, quotedBytes }: Field, view: DataView, at: number): boolean {
  const last = quoted.length - 1;
  for (let index = 0; index < last; index += 1) {
    if (view.getInt32(at + 4 * index, true) !== quoted[index]) return false;
  }
  return view.getInt32(at + quotedBytes - 4, true) === quoted[last];
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
  const text = Buffer.from(`"${name}":`);
  const words = Math.ceil(text.length / 4);
  const quoted = Int32Array.from({ length: words }, (_, index) =>
    text.readInt32LE(Math.min(4 * index, text.length - 4)),
  );
  return { id, bytes: Buffer.from(name), quoted, quotedBytes: text.length, next: null };
}
