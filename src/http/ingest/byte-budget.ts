/**
 * Limits the bytes in memory: of request bodies over all connections, and of rows that wait for
 * their commit. A full budget refuses further bytes; nothing waits here.
 *
 * Workspaces share the budget by a dynamic threshold (Choudhury and Hahne, IEEE/ACM ToN 6(2),
 * 1998): a workspace may take more as long as it holds less than `OWN_TO_FREE` times the free
 * bytes. So a single workspace may use eight ninths, several with unlimited demand get equal parts,
 * and there is always room for a workspace that holds nothing: its only request may use all free
 * bytes.
 */

/** A workspace may hold this many times the free bytes. */
const OWN_TO_FREE = 8;

export class ByteBudget {
  readonly #bytesMax: number;
  #used = 0;
  readonly #held = new Map<number, number>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get used(): number {
    return this.#used;
  }

  /** Opens the account of one request; its `release` releases all its bytes. */
  open(workspaceId: number): ByteAccount {
    let own = 0;
    return {
      reserve: (bytes) => {
        const held = this.#held.get(workspaceId) ?? 0;
        const isOnly = held === own;
        const leftFree = isOnly ? 0 : Math.ceil((held + bytes) / OWN_TO_FREE);
        // A request above the limit is admitted if nothing else is in memory.
        const totalMax = Math.max(this.#bytesMax, bytes) - leftFree;
        if (this.#used + bytes > totalMax) return false;
        this.#used += bytes;
        this.#held.set(workspaceId, held + bytes);
        own += bytes;
        return true;
      },
      release: () => {
        this.#used -= own;
        const rest = (this.#held.get(workspaceId) ?? 0) - own;
        if (rest > 0) this.#held.set(workspaceId, rest);
        else this.#held.delete(workspaceId);
        own = 0;
      },
    };
  }

  /** Checks whether another request of this workspace and size would be admitted now. */
  hasRoom(workspaceId: number, bytes: number): boolean {
    const account = this.open(workspaceId);
    const hasRoom = account.reserve(bytes);
    account.release();
    return hasRoom;
  }
}

export interface ByteAccount {
  /** Reserves the bytes if there is room; whether they were reserved. */
  readonly reserve: (bytes: number) => boolean;
  /** Releases all reserved bytes. Idempotent. */
  readonly release: () => void;
}

/** As `reserve`, for a body whose first `reserved` bytes are reserved already. */
export function beyond(reserved: number, reserve: ByteAccount['reserve']): ByteAccount['reserve'] {
  let left = reserved;
  return (bytes) => {
    const own = Math.min(left, bytes);
    left -= own;
    return own === bytes || reserve(bytes - own);
  };
}
