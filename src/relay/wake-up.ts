/** Waits that end early when something happens. */

export class WakeUp {
  readonly #ends = new Set<() => void>();

  /** Ends the waits that are in progress. */
  raise(): void {
    for (const end of [...this.#ends]) end();
  }

  /** Resolves after a time, or at the next `raise`. */
  async wait(ms: number): Promise<void> {
    if (ms > 0) await this.race(new Promise<never>(() => {}), ms);
  }

  /** The result of `work`; null when it takes longer, or at the next `raise`. */
  async race<T>(work: Promise<T>, ms: number): Promise<T | null> {
    let end = (): void => {};
    const early = new Promise<null>((resolve) => {
      end = () => resolve(null);
    });
    const timer = setTimeout(end, ms);
    this.#ends.add(end);
    try {
      return await Promise.race([work, early]);
    } finally {
      clearTimeout(timer);
      this.#ends.delete(end);
    }
  }
}
