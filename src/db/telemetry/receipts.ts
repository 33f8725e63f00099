/**
 * Receipts of what was stored, in the transaction that stored it. OTLP has no request id, but
 * exporters send the same bytes again when an answer was lost, so a receipt is found by the hash of
 * the body (docs/decisions/0007-stored-once.md).
 *
 *   first:   receipts, rows ──COMMIT──► its answer
 *   resend:  receipts ──duplicate key──► nothing is stored, the first one's answer
 *                    ──first one's COMMIT is under way──► waits for it, for `LOCK_WAIT_MS`
 *
 * The duplicate key is what makes this certain: of two transactions that store the same request, in
 * whichever processes, PostgreSQL lets one commit.
 */
import type { Hex16 } from '../../model/json.ts';
import { type Connection, type Database, withConnection } from '../database.ts';
import { COPY_HEADER, COPY_TRAILER, type Copy, commit } from '../pipeline.ts';

export const RECEIPTS = 'receipts';
/** Two equal requests within this time are one. */
export const RECEIPT_KEPT_MS = 3_600_000;
/** Of one partition; a longer one has fewer receipts that are two rows, and is kept for longer. */
export const PERIOD_MS = 4 * RECEIPT_KEPT_MS;
/**
 * How long a batch waits for the locks of other transactions, above all for one that stores one of
 * its requests. That takes about as long as a batch; after this the other process, or its
 * connection, hangs.
 */
export const LOCK_WAIT_MS = 2000;
/** The same for a part of such a batch, so that the request that waits is soon found. */
export const LOCK_WAIT_OF_PART_MS = 100;
const LOOK_UP_LIMIT_MS = 2000;
const COPY = `COPY ${RECEIPTS} (workspace_id, period, body_hash, answer) FROM STDIN (FORMAT binary)`;
const FIELDS = 4;
const HASH_BYTES = 16;
/** Of a row, without its answer: the number of its fields, their lengths, two integers, the hash. */
const ROW_BYTES = 2 + FIELDS * 4 + 4 + 4 + HASH_BYTES;
const DUPLICATE_KEY = '23505';
const LOCK_NOT_AVAILABLE = '55P03';

export interface Receipt {
  readonly bodyHash: Hex16;
  /** the body of the answer; null for `{}` */
  readonly answer: string | null;
}

export interface ReceivedRequest {
  readonly request: { readonly workspaceId: number; readonly arrivedAtMs: number };
  readonly receipt: Receipt;
}

/**
 * The periods of a receipt's rows, since 1970: the one in which its request arrived, and the one
 * before in its first hour. Of two requests within `RECEIPT_KEPT_MS` the later one has a row in the
 * period of the earlier one.
 */
export function receiptPeriods(arrivedAtMs: number): readonly [earliest: number, ...own: number[]] {
  const own = Math.floor(arrivedAtMs / PERIOD_MS);
  const earliest = Math.floor((arrivedAtMs - RECEIPT_KEPT_MS) / PERIOD_MS);
  return earliest === own ? [own] : [earliest, own];
}

/** A text that is the same for a request and its resends. */
export function receiptKey(workspaceId: number, { bodyHash }: Receipt): string {
  return `${workspaceId}/${bodyHash}`;
}

/**
 * Stores the receipts of a batch, in one order everywhere, so that batches that share requests wait
 * for each other without a deadlock: period by period, because COPY stores partition by partition.
 */
export function storeReceipts(requests: readonly ReceivedRequest[]): Copy[] {
  if (requests.length === 0) return [];
  const rows = rowsOf(requests).sort(inOneOrder);
  const answers = rows.reduce(
    (sum, { received }) => sum + Buffer.byteLength(received.receipt.answer ?? ''),
    0,
  );
  const bytes = Buffer.allocUnsafe(COPY_HEADER.length + rows.length * ROW_BYTES + answers);
  let at = COPY_HEADER.copy(bytes);
  for (const row of rows) at = writeRow(bytes, at, row);
  return [{ copy: COPY, pieces: [bytes, COPY_TRAILER] }];
}

interface ReceiptRow {
  readonly received: ReceivedRequest;
  readonly period: number;
}

function rowsOf(requests: readonly ReceivedRequest[]): ReceiptRow[] {
  const rows: ReceiptRow[] = [];
  for (const received of requests) {
    for (const period of receiptPeriods(received.request.arrivedAtMs)) {
      rows.push({ received, period });
    }
  }
  return rows;
}

function inOneOrder(one: ReceiptRow, other: ReceiptRow): number {
  const byPeriod = one.period - other.period;
  if (byPeriod !== 0) return byPeriod;
  const byWorkspace = one.received.request.workspaceId - other.received.request.workspaceId;
  if (byWorkspace !== 0) return byWorkspace;
  return one.received.receipt.bodyHash < other.received.receipt.bodyHash ? -1 : 1;
}

function writeRow(bytes: Buffer, start: number, { received, period }: ReceiptRow): number {
  const { request, receipt } = received;
  let at = bytes.writeInt16BE(FIELDS, start);
  at = bytes.writeInt32BE(4, at);
  at = bytes.writeInt32BE(request.workspaceId, at);
  at = bytes.writeInt32BE(4, at);
  at = bytes.writeInt32BE(period, at);
  at = bytes.writeInt32BE(HASH_BYTES, at);
  at += bytes.write(receipt.bodyHash, at, HASH_BYTES, 'hex');
  if (receipt.answer === null) return bytes.writeInt32BE(-1, at);
  const length = bytes.write(receipt.answer, at + 4);
  bytes.writeInt32BE(length, at);
  return at + 4 + length;
}

function fieldOf(error: unknown, name: 'code' | 'table'): string {
  const value: unknown = error instanceof Error ? Reflect.get(error, name) : undefined;
  return typeof value === 'string' ? value : '';
}

/** Checks whether a batch was refused because one of its requests is stored already. */
export function isStoredAlready(error: unknown): boolean {
  return fieldOf(error, 'code') === DUPLICATE_KEY && fieldOf(error, 'table').startsWith(RECEIPTS);
}

/** Checks whether a batch waited too long for another one that stores one of its requests. */
export function isBeingStored(error: unknown): boolean {
  return fieldOf(error, 'code') === LOCK_NOT_AVAILABLE;
}

interface FoundReceipt {
  readonly workspace: number;
  readonly hash: Hex16;
  readonly answer: string | null;
}

async function lookUp(connection: Connection, requests: readonly ReceivedRequest[]) {
  const rows = rowsOf(requests);
  // Row by row by the primary key: the partitions have no statistics.
  const found = await connection.query<FoundReceipt>(
    `SELECT t.workspace, t.hash, r.answer
       FROM unnest($1::int[], $2::int[], $3::uuid[]) AS t (workspace, period, hash),
            LATERAL (SELECT answer FROM receipts
                      WHERE workspace_id = t.workspace AND period = t.period
                        AND body_hash = t.hash
                      LIMIT 1) AS r`,
    [
      rows.map(({ received }) => received.request.workspaceId),
      rows.map(({ period }) => period),
      rows.map(({ received }) => received.receipt.bodyHash),
    ],
  );
  return found.rows;
}

/**
 * The receipts of those requests that are stored. Reading them is committed like a write, so that
 * with a synchronous standby the first COMMIT has reached it too before a resend is acknowledged.
 */
export async function findReceipts(
  database: Database,
  requests: readonly ReceivedRequest[],
): Promise<ReadonlyMap<string, Receipt>> {
  const rows = await withConnection(database, LOOK_UP_LIMIT_MS, async (connection) => {
    await connection.query('BEGIN');
    const found = await lookUp(connection, requests);
    if (found.length > 0) {
      await connection.query(`SELECT pg_logical_emit_message(true, 'sluice', 'resend')`);
    }
    await commit(connection);
    return found;
  });
  return new Map(
    rows.map(({ workspace, hash, answer }) => {
      const receipt = { bodyHash: hash, answer };
      return [receiptKey(workspace, receipt), receipt];
    }),
  );
}
