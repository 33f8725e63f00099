/**
 * The audit ledger: the changes of a workspace with their time, actor and origin. Entries are only
 * ever added, in the transaction of the change they record, one writer per workspace at a time.
 */
import type { Int64, JsonObject } from '../../model/json.ts';
import type { Actor, AuditEntry, AuditFilter } from '../../model/people.ts';
import {
  type Connection,
  type Database,
  inTransaction,
  onlyRow,
  type Queryable,
} from '../database.ts';
import {
  CHAIN_START,
  type ChainedEntry,
  type ChainHead,
  FIRST_PREV_HASH,
  faultOf,
  hashEntry,
  isReplaced,
} from './audit-chain.ts';

/** First half of the advisory lock of a workspace's ledger; the second is the workspace's id. */
const LOCK_CLASS = 0x61756474;
const VERIFY_ROWS = 1000;

export const COMMAND_LINE: Actor = { userId: null, name: 'operator', origin: 'command line' };

export interface Change {
  readonly action: string;
  /** the object of the action: a rule's id, an e-mail address, a key's id */
  readonly subject: string;
  /** null by default, as `after` */
  readonly before?: JsonObject | null;
  readonly after?: JsonObject | null;
}

const COLUMNS = `
  workspace_id AS "workspaceId", seq, at, actor_user_id AS "actorUserId", actor, origin, action,
  subject, before::text AS before, after::text AS after, prev_hash AS "prevHash", hash`;

/**
 * Locks a workspace's ledger, and with it everything the ledger records, until the transaction ends.
 * Call it before reading the state that `before` records.
 *
 * An advisory lock, not the workspace's row: the pass locks that one (FOR SHARE) to store findings.
 */
export async function lockLedger(connection: Connection, workspaceId: number): Promise<void> {
  await connection.query('SELECT pg_advisory_xact_lock($1, $2)', [LOCK_CLASS, workspaceId]);
}

/** Adds an entry. The caller is inside a transaction and holds `lockLedger`. */
export async function appendAudit(
  connection: Connection,
  workspaceId: number,
  actor: Actor,
  change: Change,
): Promise<void> {
  const last = onlyRow(
    await connection.query<{ at: Date; seq: Int64 | null; hash: Buffer | null }>(
      `SELECT date_trunc('milliseconds', clock_timestamp()) AS at, last.seq, last.hash
       FROM (SELECT 1) AS one
       LEFT JOIN (SELECT seq, hash FROM audit_ledger WHERE workspace_id = $1
                   ORDER BY seq DESC LIMIT 1) AS last ON true`,
      [workspaceId],
    ),
  );
  const text = (value: JsonObject | null = null) => (value === null ? null : JSON.stringify(value));
  const entry = {
    workspaceId,
    seq: String(BigInt(last.seq ?? '0') + 1n),
    at: last.at,
    actorUserId: actor.userId,
    actor: actor.name,
    origin: actor.origin,
    action: change.action,
    subject: change.subject,
    before: text(change.before),
    after: text(change.after),
    prevHash: last.hash ?? FIRST_PREV_HASH,
  };
  await connection.query(
    `INSERT INTO audit_ledger (workspace_id, seq, at, actor_user_id, actor, origin, action, subject,
                               before, after, prev_hash, hash)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [...Object.values(entry), hashEntry(entry)],
  );
}

export type Recorder = (change: Change) => Promise<void>;

/** Runs a change of a workspace and its ledger entries in one transaction, with the ledger locked. */
export async function recorded<Result>(
  database: Database,
  workspaceId: number,
  actor: Actor,
  work: (connection: Connection, record: Recorder) => Promise<Result>,
): Promise<Result> {
  return await inTransaction(database, async (connection) => {
    await lockLedger(connection, workspaceId);
    return await work(connection, (change) => appendAudit(connection, workspaceId, actor, change));
  });
}

/** Entries that a page searches for those of a filter. They have numbers without gaps. */
export const SEARCHED_ENTRIES_MAX = 5_000;
const ANY_ENTRY: AuditFilter = { actor: null, action: null };

/**
 * A page of a workspace's ledger, newest first, of entries with a smaller number than `before`. With a
 * filter that few entries match, a page may have fewer than `limit` and be followed by others.
 */
export async function listAudit(
  database: Queryable,
  workspaceId: number,
  before: Int64 | null,
  limit: number,
  { actor, action }: AuditFilter = ANY_ENTRY,
): Promise<{ entries: AuditEntry[]; next: Int64 | null }> {
  const from = before ?? (await numberAfterNewest(database, workspaceId));
  const floor = BigInt(from) - BigInt(SEARCHED_ENTRIES_MAX);
  const { rows } = await database.query<ChainedEntry>(
    `SELECT ${COLUMNS} FROM audit_ledger
      WHERE workspace_id = $1 AND seq < $2 AND seq >= $3
        AND ($5::text IS NULL OR actor = $5) AND ($6::text IS NULL OR starts_with(action, $6))
      ORDER BY seq DESC LIMIT $4`,
    [workspaceId, from, String(floor), limit + 1, actor, action],
  );
  const parse = (text: string | null) => (text === null ? null : (JSON.parse(text) as JsonObject));
  const entries = rows
    .slice(0, limit)
    .map((row) => ({ ...row, before: parse(row.before), after: parse(row.after) }));
  const older = floor > 1n ? String(floor) : null;
  return { entries, next: rows.length > limit ? (entries.at(-1)?.seq ?? null) : older };
}

/** Returns the newest entries of a ledger since a time, oldest first; `isCut` when some are left out. */
export async function newestEntries(
  database: Queryable,
  workspaceId: number,
  since: Date,
  limit: number,
): Promise<{ readonly entries: readonly ChainedEntry[]; readonly isCut: boolean }> {
  const { rows } = await database.query<ChainedEntry>(
    `SELECT ${COLUMNS} FROM audit_ledger WHERE workspace_id = $1 AND seq >= $2 ORDER BY seq`,
    [
      workspaceId,
      String(BigInt(await numberAfterNewest(database, workspaceId)) - BigInt(limit) - 1n),
    ],
  );
  const own = rows.filter(({ at }) => at >= since);
  return { entries: own.slice(-limit), isCut: own.length > limit };
}

async function numberAfterNewest(database: Queryable, workspaceId: number): Promise<Int64> {
  const found = await database.query<{ seq: Int64 }>(
    'SELECT COALESCE(max(seq), 0) + 1 AS seq FROM audit_ledger WHERE workspace_id = $1',
    [workspaceId],
  );
  return onlyRow(found).seq;
}

interface HeadChange {
  readonly workspaceId: number;
  /** the last entry, not verified; null for an empty ledger */
  readonly head: ChainHead | null;
  /** the ledger lacks the kept entry */
  readonly isCut: boolean;
}

const CHANGED_HEADS = `
  SELECT w.id AS "workspaceId", last.seq, last.hash,
         kept.seq IS NOT NULL AND NOT EXISTS (
           SELECT FROM audit_ledger l
            WHERE l.workspace_id = w.id AND l.seq = kept.seq AND l.hash = kept.hash) AS "isCut"
    FROM (SELECT id FROM workspaces ORDER BY id LIMIT $4) AS w
    LEFT JOIN unnest($1::int[], $2::bigint[], $3::bytea[]) AS kept (id, seq, hash) ON kept.id = w.id
    LEFT JOIN LATERAL (
      SELECT seq, hash FROM audit_ledger WHERE workspace_id = w.id
       ORDER BY seq DESC LIMIT 1) AS last ON true
   WHERE (last.seq, last.hash) IS DISTINCT FROM (kept.seq, kept.hash)`;

/** Compares the last entries of the ledgers with kept ones; returns the workspaces that differ. */
export async function changedHeads(
  database: Queryable,
  kept: ReadonlyMap<number, ChainHead>,
  limit: number,
): Promise<HeadChange[]> {
  const heads = [...kept.values()];
  const { rows } = await database.query<{
    workspaceId: number;
    seq: Int64 | null;
    hash: Buffer | null;
    isCut: boolean;
  }>(CHANGED_HEADS, [
    [...kept.keys()],
    heads.map(({ seq }) => seq),
    heads.map(({ hash }) => hash),
    limit,
  ]);
  return rows.map(({ workspaceId, seq, hash, isCut }) => ({
    workspaceId,
    head: seq === null || hash === null ? null : { seq, hash },
    isCut,
  }));
}

export interface LedgerCheck {
  /** the last valid entry; its hash, kept elsewhere, shows later whether the end was cut off */
  readonly head: ChainHead;
  /** null when the whole chain is valid */
  readonly broken: {
    readonly seq: Int64;
    readonly why: string;
    /** the earlier head that the ledger contradicts; null when it contradicts itself */
    readonly known: ChainHead | null;
  } | null;
}

function cutOff(head: ChainHead, knownHeads: readonly ChainHead[]): LedgerCheck['broken'] {
  const known = knownHeads.find(({ seq }) => BigInt(seq) > BigInt(head.seq));
  if (known === undefined) return null;
  return { seq: known.seq, why: `the log was cut off after entry ${head.seq}`, known };
}

function faultAt(
  entry: ChainedEntry,
  head: ChainHead,
  knownHeads: readonly ChainHead[],
): LedgerCheck['broken'] {
  const why = faultOf(entry, head);
  if (why !== null) return { seq: entry.seq, why, known: null };
  const known = knownHeads.find((one) => isReplaced(entry, one));
  if (known === undefined) return null;
  return { seq: entry.seq, why: 'it differs from the entry that was there earlier', known };
}

/**
 * Verifies a workspace's whole ledger, up to the first invalid entry. @param known earlier heads, kept
 * elsewhere: a ledger that lacks one was cut off or rewritten
 */
export async function verifyAudit(
  database: Queryable,
  workspaceId: number,
  known: readonly ChainHead[] = [],
): Promise<LedgerCheck> {
  let head: ChainHead = CHAIN_START;
  for (;;) {
    const { rows } = await database.query<ChainedEntry>(
      `SELECT ${COLUMNS} FROM audit_ledger WHERE workspace_id = $1 AND seq > $2
        ORDER BY seq LIMIT ${VERIFY_ROWS}`,
      [workspaceId, head.seq],
    );
    for (const entry of rows) {
      const broken = faultAt(entry, head, known);
      if (broken !== null) return { head, broken };
      head = { seq: entry.seq, hash: entry.hash };
    }
    if (rows.length < VERIFY_ROWS) return { head, broken: cutOff(head, known) };
  }
}
