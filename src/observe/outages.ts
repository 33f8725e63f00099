/**
 * The current outages, by concern: the first failure begins an outage, the next success
 * ends it. So a database that is away for an hour is two log lines, not one for each turn or request.
 *
 *   works ──failure: reported──► away ──failures: counted──► away ──success: reported──► works
 */

/** Reported at the end of an outage. */
export interface OutageFacts {
  readonly failures: number;
  /** from the first failure to the first success */
  readonly elapsedMs: number;
}

export class Outages<Concern extends string> {
  readonly #away = new Map<Concern, { readonly since: number; failures: number }>();

  /** Something failed. @returns whether that begins an outage */
  fails(concern: Concern): boolean {
    const outage = this.#away.get(concern);
    if (outage !== undefined) {
      outage.failures += 1;
      return false;
    }
    this.#away.set(concern, { since: performance.now(), failures: 1 });
    return true;
  }

  /** Something succeeded. @returns the outage that ends with it, or null */
  works(concern: Concern): OutageFacts | null {
    const outage = this.#away.get(concern);
    if (outage === undefined) return null;
    this.#away.delete(concern);
    const elapsedMs = Math.round(performance.now() - outage.since);
    return { failures: outage.failures, elapsedMs };
  }
}
