/**
 * How many bytes may be in memory at once: of request bodies over all connections, and of rows that wait
 * for their commit. Full means that the next bytes are refused; nothing waits here.
 *
 * Workspaces share the room by a dynamic threshold (Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998): one may
 * take more while what it holds stays below `OWN_TO_FREE` times what is free. So a workspace alone may use
 * eight ninths, several that want all of it end with equal parts, and there is always room for one that
 * has nothing in memory: its only request may use whatever is free (issue 9.7).
 */

/** A workspace may hold this many times what it leaves free for others. */
const OWN_TO_FREE = 8;

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
  /** bytes by workspace, of this thread's requests */
  readonly #held = new Map<number, number>();

  /**
   * @param count what is in memory; budgets that share it share their room. What a workspace holds is
   *   counted by each for itself, so over several threads it may hold as many times its share; even then
   *   it leaves room free.
   */
  constructor(bytesMax: number, count: ByteCount = new OwnByteCount()) {
    this.#bytesMax = bytesMax;
    this.#count = count;
  }

  get used(): number {
    return this.#count.total;
  }

  /** Opens an account of one request, whose bytes are all given back by one `release`. */
  open(workspaceId: number): ByteAccount {
    let own = 0;
    return {
      reserve: (bytes) => {
        const held = this.#held.get(workspaceId) ?? 0;
        const isOnly = held === own;
        const leftFree = isOnly ? 0 : Math.ceil((held + bytes) / OWN_TO_FREE);
        // What is larger than the whole room gets it when nothing else is there.
        const totalMax = Math.max(this.#bytesMax, bytes) - leftFree;
        if (!this.#count.tryAdd(bytes, totalMax)) return false;
        this.#held.set(workspaceId, held + bytes);
        own += bytes;
        return true;
      },
      release: () => {
        this.#count.subtract(own);
        const rest = (this.#held.get(workspaceId) ?? 0) - own;
        if (rest > 0) this.#held.set(workspaceId, rest);
        else this.#held.delete(workspaceId);
        own = 0;
      },
    };
  }

  /** Would so many bytes of another request of a workspace be taken now? */
  hasRoom(workspaceId: number, bytes: number): boolean {
    const account = this.open(workspaceId);
    const hasRoom = account.reserve(bytes);
    account.release();
    return hasRoom;
  }
}

export interface ByteAccount {
  /** False when there is no room; nothing is taken then. */
  readonly reserve: (bytes: number) => boolean;
  /** Gives everything back; may be called again. */
  readonly release: () => void;
}

/** As `reserve`, after `taken` bytes that have been reserved already. */
export function beyond(taken: number, reserve: ByteAccount['reserve']): ByteAccount['reserve'] {
  let left = taken;
  return (bytes) => {
    const own = Math.min(left, bytes);
    left -= own;
    return own === bytes || reserve(bytes - own);
  };
}
