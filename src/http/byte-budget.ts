/**
 * How many bytes of request bodies may be in memory at once, over all connections. Full means that
 * the next chunk is refused; nothing waits here.
 */

/** A sum of bytes, of this thread or of several. */
export interface ByteCount {
  readonly total: number;
  /** False when the total would pass `totalMax`; nothing is added then. */
  tryAdd(bytes: number, totalMax: number): boolean;
  subtract(bytes: number): void;
}

/** The count of this thread alone. */
export class OwnByteCount implements ByteCount {
  #total = 0;

  get total(): number {
    return this.#total;
  }

  tryAdd(bytes: number, totalMax: number): boolean {
    if (this.#total + bytes > totalMax) return false;
    this.#total += bytes;
    return true;
  }

  subtract(bytes: number): void {
    this.#total -= bytes;
  }
}

export class ByteBudget {
  readonly #bytesMax: number;
  readonly #count: ByteCount;

  /** @param count what is in memory; budgets that share it share their room */
  constructor(bytesMax: number, count: ByteCount = new OwnByteCount()) {
    this.#bytesMax = bytesMax;
    this.#count = count;
  }

  get used(): number {
    return this.#count.total;
  }

  /** Opens an account whose bytes are all given back by one `release`. */
  open(): ByteAccount {
    let held = 0;
    return {
      reserve: (bytes) => {
        if (!this.#count.tryAdd(bytes, this.#bytesMax)) return false;
        held += bytes;
        return true;
      },
      release: () => {
        this.#count.subtract(held);
        held = 0;
      },
    };
  }
}

export interface ByteAccount {
  /** False when there is no room; nothing is taken then. */
  readonly reserve: (bytes: number) => boolean;
  /** Gives everything back; may be called again. */
  readonly release: () => void;
}
