/**
 * A queue that serves its owners in turn: deficit round robin (Shreedhar and Varghese, IEEE/ACM ToN
 * 4(3), 1996), in the variant in which an owner may overdraw its credit by the last item. Each
 * round adds `QUANTUM_BYTES` to an owner's credit; items of one owner stay in order. So an owner
 * with few items is in the next batch, however many the others have.
 */

/** Credit added per round: small compared to a batch, large compared to a usual request. */
const QUANTUM_BYTES = 256 * 1024;
/** An owner is active for this long after its last item. */
const ACTIVE_MS = 1000;

interface Owned<Item> {
  readonly item: Item;
  readonly bytes: number;
}

interface Line<Item> {
  readonly waiting: Owned<Item>[];
  taken: number;
  /** bytes that the owner may still take; negative after a large item */
  credit: number;
}

interface LastItem {
  readonly owner: number;
  readonly atMs: number;
}

export interface Portion {
  readonly bytesMax: number;
  /** an item larger than `bytesMax` is taken, as the only one */
  readonly hasLarge: boolean;
  readonly isLeftOut?: (owner: number) => boolean;
}

export class FairQueue<Item> {
  /** by owner, in the order of their turns */
  readonly #lines = new Map<number, Line<Item>>();
  #size = 0;
  /** the last item, and the last one of another owner */
  #last: LastItem | null = null;
  #lastOfOther: LastItem | null = null;

  get size(): number {
    return this.#size;
  }

  get owners(): number {
    return this.#lines.size;
  }

  get isShared(): boolean {
    const other = this.#lastOfOther;
    return other !== null && performance.now() - other.atMs < ACTIVE_MS;
  }

  has(owner: number): boolean {
    return this.#lines.has(owner);
  }

  add(owner: number, bytes: number, item: Item): void {
    if (this.#last !== null && this.#last.owner !== owner) this.#lastOfOther = this.#last;
    this.#last = { owner, atMs: performance.now() };
    const line = this.#lines.get(owner);
    if (line === undefined) {
      this.#lines.set(owner, { waiting: [{ item, bytes }], taken: 0, credit: 0 });
    } else line.waiting.push({ item, bytes });
    this.#size += 1;
  }

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
        // Credit that is unused because the next item does not fit is not carried over.
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

  /** Removes the taken items. An owner without waiting items loses its credit. */
  #drop(owner: number, line: Line<Item>): void {
    if (line.taken === line.waiting.length) this.#lines.delete(owner);
    else line.waiting.splice(0, line.taken);
    line.taken = 0;
  }
}
