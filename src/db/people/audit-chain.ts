/**
 * The hash chain of the audit ledger: how an entry is hashed and verified. Pure.
 *
 *   hash = SHA-256 of the UTF-8 text of the JSON array
 *          [1, workspace, seq, at, actor user, actor, origin, action, subject, before, after, prev]
 *
 * without white space, as JSON.stringify writes it: `workspace` and `actor user` are numbers (or
 * null), `seq` decimal text, `at` ISO 8601 in UTC with milliseconds, `before` and `after` the stored
 * JSON as one string (or null), `prev` the hash of the entry before in hexadecimal digits, 64 zeros
 * for the first. The leading 1 is the encoding's version. It can be computed from a dump.
 */
import { createHash } from 'node:crypto';

import type { Int64, JsonText } from '../../model/json.ts';
import type { AuditEntry } from '../../model/people.ts';

const VERSION = 1;
/** The previous hash that a workspace's first entry contains. */
export const FIRST_PREV_HASH: Buffer = Buffer.alloc(32);

interface EntryContent extends Omit<AuditEntry, 'before' | 'after' | 'hash'> {
  readonly workspaceId: number;
  readonly before: JsonText | null;
  readonly after: JsonText | null;
}

export interface ChainedEntry extends EntryContent {
  readonly hash: Buffer;
}

export function hashEntry(entry: EntryContent): Buffer {
  const encoded = JSON.stringify([
    VERSION,
    entry.workspaceId,
    entry.seq,
    entry.at.toISOString(),
    entry.actorUserId,
    entry.actor,
    entry.origin,
    entry.action,
    entry.subject,
    entry.before,
    entry.after,
    entry.prevHash.toString('hex'),
  ]);
  return createHash('sha256').update(encoded).digest();
}

export interface ChainHead {
  readonly seq: Int64;
  readonly hash: Buffer;
}

/** Before a workspace's first entry. */
export const CHAIN_START: ChainHead = { seq: '0', hash: FIRST_PREV_HASH };

/** Why an entry is not valid after `head`; null when it is. */
export function faultOf(entry: ChainedEntry, head: ChainHead): string | null {
  const expected = String(BigInt(head.seq) + 1n);
  if (entry.seq !== expected) return `entry ${expected} is missing`;
  if (!entry.prevHash.equals(head.hash)) return 'it does not name the hash of the entry before';
  if (!entry.hash.equals(hashEntry(entry))) return 'its content is not what its hash was made of';
  return null;
}

/** Writes a head as one word: `12:ab…`. */
export function headText({ seq, hash }: ChainHead): string {
  return `${seq}:${hash.toString('hex')}`;
}

/** Reads `12:ab…`, or `12 ab…`; null for any other text. */
export function parseHead(text: string): ChainHead | null {
  const [, seq, hash] = /^([1-9]\d{0,17})[: ]([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined) return null;
  return { seq, hash: Buffer.from(hash, 'hex') };
}

export function isReplaced(entry: ChainHead, known: ChainHead): boolean {
  return entry.seq === known.seq && !entry.hash.equals(known.hash);
}
