/**
 * Items that wait, taken by turns of their owners: deficit round robin (Shreedhar and Varghese, IEEE/ACM
 * ToN 4(3), 1996), in the form that lets the last item overdraw. In each round an owner may take
 * `QUANTUM_BYTES` more, less what it took too much before; the items of one owner stay in order. So an
 * owner with little waiting is in the next batch, however much the others have.
 */

/** What an owner may add to its turn in each round; small beside a batch, large beside a usual request. */
const QUANTUM_BYTES = 256 * 1024;

interface Owned<Item> {
  readonly item: Item;
  readonly bytes: number;
}

interface Line<Item> {
  readonly waiting: Owned<Item>[];
  /** how many of them the batch in hand has */
  taken: number;
  /** bytes that the owner may still take; below zero after a large item */
  credit: number;
}

/** What one call of `take` may have. */
export interface Portion {
  readonly bytesMax: number;
  /** of what is larger than `bytesMax`, one alone is taken */
  readonly hasLarge: boolean;
  /** owners that are left out */
  readonly isLeftOut?: (owner: number) => boolean;
}

export class FairQueue<Item> {
  /** by owner, the one whose turn is next first */
  readonly #lines = new Map<number, Line<Item>>();
  #size = 0;

  /** How many items wait. */
  get size(): number {
    return this.#size;
  }

  /** How many owners have something waiting. */
  get owners(): number {
    return this.#lines.size;
  }

  /** Has an owner something waiting? */
  has(owner: number): boolean {
    return this.#lines.has(owner);
  }

  add(owner: number, bytes: number, item: Item): void {
    const line = this.#lines.get(owner);
    if (line === undefined) {
      this.#lines.set(owner, { waiting: [{ item, bytes }], taken: 0, credit: 0 });
    } else line.waiting.push({ item, bytes });
    this.#size += 1;
  }

  /** Takes as much as fits, by turns; nothing only when nothing waits that may be taken. */
  take({ bytesMax, hasLarge, isLeftOut = () => false }: Portion): Item[] {
    const batch: Item[] = [];
    const lines = [...this.#lines].filter(
      ([owner, { waiting }]) =>
        !isLeftOut(owner) && (hasLarge || (waiting[0]?.bytes ?? 0) <= bytesMax),
    );
    let left = bytesMax;
    const nextOf = (line: Line<Item>): Owned<Item> | null => {
      const next = line.waiting[line.taken];
      if (next === undefined) return null;
      return next.bytes <= left || (hasLarge && batch.length === 0) ? next : null;
    };
    while (lines.some(([, line]) => nextOf(line) !== null)) {
      for (const [owner, line] of lines) {
        // What it cannot use, because its next item does not fit, is not saved.
        line.credit = Math.min(line.credit, 0) + QUANTUM_BYTES;
        for (let next = nextOf(line); next !== null && line.credit > 0; next = nextOf(line)) {
          line.credit -= next.bytes;
          left -= next.bytes;
          line.taken += 1;
          batch.push(next.item);
          this.#toEnd(owner, line);
        }
      }
    }
    for (const [owner, line] of lines) this.#drop(owner, line);
    this.#size -= batch.length;
    return batch;
  }

  #toEnd(owner: number, line: Line<Item>): void {
    this.#lines.delete(owner);
    this.#lines.set(owner, line);
  }

  /** Forgets what was taken. An owner with nothing waiting saves nothing for later. */
  #drop(owner: number, line: Line<Item>): void {
    if (line.taken === line.waiting.length) this.#lines.delete(owner);
    else line.waiting.splice(0, line.taken);
    line.taken = 0;
  }
}
