/**
 * A count of bytes in memory that threads share, because MAX_INFLIGHT_BYTES is for the whole process.
 * Exact: compare-and-exchange keeps two threads from taking the same room.
 */
import type { ByteCount } from '../../http/ingest/byte-budget.ts';

/** One 64-bit number; the limit may be 64 GiB, which is more than 32 bits hold. */
const MEMORY_BYTES = BigInt64Array.BYTES_PER_ELEMENT;

export function createCountMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(MEMORY_BYTES);
}

export class SharedByteCount implements ByteCount {
  readonly #cell: BigInt64Array;

  /** @param memory of `createCountMemory`; every thread that has it shares the count */
  constructor(memory: SharedArrayBuffer) {
    this.#cell = new BigInt64Array(memory);
  }

  get total(): number {
    return Number(Atomics.load(this.#cell, 0));
  }

  tryAdd(bytes: number, totalMax: number): boolean {
    const added = BigInt(bytes);
    const most = BigInt(totalMax);
    for (;;) {
      const before = Atomics.load(this.#cell, 0);
      if (before + added > most) return false;
      // Another thread has changed the count meanwhile: try again.
      if (Atomics.compareExchange(this.#cell, 0, before, before + added) === before) return true;
    }
  }

  subtract(bytes: number): void {
    Atomics.sub(this.#cell, 0, BigInt(bytes));
  }
}
