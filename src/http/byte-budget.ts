/**
 * How many bytes of request bodies may be in memory at once, over all connections. Full means that
 * the next chunk is refused; nothing waits here.
 */
export class ByteBudget {
  readonly #bytesMax: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get used(): number {
    return this.#used;
  }

  /** Opens an account whose bytes are all given back by one `release`. */
  open(): ByteAccount {
    let held = 0;
    return {
      reserve: (bytes) => {
        if (this.#used + bytes > this.#bytesMax) return false;
        this.#used += bytes;
        held += bytes;
        return true;
      },
      release: () => {
        this.#used -= held;
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
