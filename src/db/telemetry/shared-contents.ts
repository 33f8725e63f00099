/**
 * Resources, which many rows share: each is stored once by content.
 *
 * `last_used_on` is the latest day of arrival of the rows that refer to a resource. A process remembers
 * the day that it has committed, and sends the resource again with the first rows of a later day. So
 * the stored day is never before the day of a row that refers to the resource, and resources that no
 * kept day can refer to may be deleted (`src/db/retention/outdated-resources.ts`).
 */
/** Past this many, what is known is forgotten. */
const KNOWN_MAX = 100_000;

/**
 * The batch left out what another server has: after a failover, or behind a pooler that leads to
 * another server now. The same batch can be stored at once: what was known is forgotten.
 */
export class ServerChangedError extends Error {
  override name = 'ServerChangedError';
  constructor() {
    super('The connection leads to another server than before.');
  }
}

/**
 * The resources that are committed on one server for rows up to a day, so that they are
 * sent once a day.
 *
 * Each batch reads the identity of its server in its own transaction: a connection through a pooler
 * survives a failover.
 */
export class KnownContents {
  /** the day, as `2026-11-20`, up to which rows may refer to it */
  readonly #days = new Map<string, string>();
  #server: string | null = null;

  /** Of the server that has what is known; null while nothing is. */
  get server(): string | null {
    return this.#server;
  }

  /**
   * Call before the commit of a batch.
   *
   * @param server of the batch
   * @param assumed `server` when its rows were looked up here
   * @throws {ServerChangedError} when rows may have been left out that the server does not have
   */
  requireServer(server: string, assumed: string | null): void {
    const differs = (this.#server ?? server) !== server || (assumed ?? server) !== server;
    if (this.#server !== server) {
      this.#days.clear();
      this.#server = server;
    }
    if (differs) throw new ServerChangedError();
  }

  /**
   * @param key of `orderedKey`
   * @param day of arrival of the rows that refer to it
   */
  has(key: string, day: string): boolean {
    const known = this.#days.get(key);
    return known !== undefined && known >= day;
  }

  /** @param server that has it; another one's is not remembered */
  add(key: string, day: string, server: string): void {
    if (server !== this.#server || this.has(key, day)) return;
    if (this.#days.size >= KNOWN_MAX) this.#days.clear();
    this.#days.set(key, day);
  }

  /** Call when tables may have lost rows, as after an outage of the database. */
  clear(): void {
    this.#days.clear();
    this.#server = null;
  }
}
