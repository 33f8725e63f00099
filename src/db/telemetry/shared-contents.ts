/**
 * Resources, which many rows share: each is stored once by content.
 *
 * `last_used_on` is the latest day of arrival of the rows that refer to a resource. A process remembers
 * the day that it has committed, and sends the resource again with the first rows of a later day. So
 * the stored day is never before the day of a row that refers to the resource, and resources that no
 * kept day can refer to may be deleted (`src/db/retention/outdated-resources.ts`).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { ResourceRow } from '../../model/telemetry.ts';
import type { Statement } from '../pipeline.ts';
import type { EncodedRequest } from './encoded-request.ts';
import { inKeyOrder, orderedKey } from './ordered-key.ts';
import { utcDay } from './partitions.ts';

/** Past this many, what is known is forgotten. */
const KNOWN_MAX = 100_000;
/** Rows looked up or remembered in one turn of the event loop: a few milliseconds. */
const ROWS_PER_TURN = 2000;

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

/** A resource of a batch, and the latest day of the rows that refer to it. */
export interface UsedResource {
  readonly workspaceId: number;
  readonly day: string;
  readonly row: ResourceRow;
}

/** Resources not known yet, each once, in id order (so that concurrent inserts cannot deadlock). */
export async function unknownResources(
  requests: readonly EncodedRequest[],
  known: KnownContents,
): Promise<UsedResource[]> {
  const found = new Map<string, UsedResource>();
  let looked = 0;
  for (const { workspaceId, arrivedAtMs, resources } of requests) {
    const day = utcDay(arrivedAtMs);
    for (const row of resources) {
      looked += 1;
      if (looked % ROWS_PER_TURN === 0) await nextTurn();
      const key = orderedKey(workspaceId, row.id);
      if (known.has(key, day)) continue;
      if ((found.get(key)?.day ?? '') < day) found.set(key, { workspaceId, day, row });
    }
  }
  return inKeyOrder(found);
}

/** Remembers what a batch has committed. @param server that has it */
export async function rememberResources(
  resources: readonly UsedResource[],
  known: KnownContents,
  server: string,
): Promise<void> {
  for (const [index, { workspaceId, day, row }] of resources.entries()) {
    if (index > 0 && index % ROWS_PER_TURN === 0) await nextTurn();
    known.add(orderedKey(workspaceId, row.id), day, server);
  }
}

/** PostgreSQL type and row's field of each column. */
const COLUMNS = {
  id: ['uuid', 'id'],
  service_name: ['text', 'serviceName'],
  attributes: ['json', 'attributes'],
  schema_url: ['text', 'schemaUrl'],
  dropped_attributes: ['bigint', 'droppedAttributes'],
  scope_name: ['text', 'scopeName'],
  scope_version: ['text', 'scopeVersion'],
  scope_attributes: ['json', 'scopeAttributes'],
  scope_schema_url: ['text', 'scopeSchemaUrl'],
  scope_dropped_attributes: ['bigint', 'scopeDroppedAttributes'],
} as const satisfies Readonly<Record<string, readonly [type: string, field: keyof ResourceRow]>>;

const NAMES = Object.keys(COLUMNS).join();
const LISTS = Object.values(COLUMNS).map(([type], index) => `$${index + 3}::${type}[]`);

/**
 * Returns the statement that stores new resources and moves the day of use of the others forward. A
 * row with a late enough day is neither locked nor written: after a restart a process sends all
 * resources again that other processes use.
 */
export function insertResources(resources: readonly UsedResource[]): Statement {
  return {
    text: `INSERT INTO resources AS stored (workspace_id, last_used_on, ${NAMES})
           SELECT workspace_id, last_used_on, ${NAMES}
             FROM unnest($1::int[], $2::date[], ${LISTS.join()}) WITH ORDINALITY
               AS sent (workspace_id, last_used_on, ${NAMES}, place)
            WHERE NOT EXISTS (
              SELECT FROM resources there
               WHERE there.workspace_id = sent.workspace_id AND there.id = sent.id
                 AND there.last_used_on >= sent.last_used_on)
            ORDER BY place
           ON CONFLICT (workspace_id, id) DO UPDATE SET last_used_on = excluded.last_used_on
             WHERE stored.last_used_on < excluded.last_used_on`,
    columns: [
      resources.map(({ workspaceId }) => workspaceId),
      resources.map(({ day }) => day),
      ...Object.values(COLUMNS).map(([, field]) => resources.map(({ row }) => row[field])),
    ],
  };
}
