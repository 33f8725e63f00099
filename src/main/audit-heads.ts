/**
 * Keeps the heads of the audit logs outside the database: in this process's log and in the data folder. If
 * the end of an audit log is cut off, its chain is still valid, but the kept head is missing.
 *
 *   the log still has the kept head ─► a newer head is logged, and replaces it
 *   it does not                     ─► an error; the kept head stays, for `sluice audit verify`
 */
import type { Queryable } from '../db/database.ts';
import { changedHeads } from '../db/people/audit.ts';
import { type ChainHead, headText } from '../db/people/audit-chain.ts';
import type { Events } from '../observe/events.ts';
import { type Heads, type HeadsFile, headsFileOf } from './audit-heads-file.ts';
import type { StopOrder } from './stop-order.ts';
import { flushUntilStop } from './upkeep.ts';

/** Interval between two copies of the heads; entries that were cut off before a copy are not noticed. */
export const HEADS_EVERY_MS = 60 * 60_000;
/** Maximum number of workspaces with kept heads, oldest first. */
const HEADS_MAX = 10_000;
const HEADS_LOGGED = 100;

type HeadEvents = Pick<
  Events,
  'auditHeadsChanged' | 'auditHeadsKept' | 'auditHeadsUnkept' | 'auditLogsCut' | 'auditLogsWhole'
>;

/**
 * Keeps the heads that have changed.
 *
 * @param before the result of the last turn, used if the file has no folder
 */
async function keepHeads(
  database: Queryable,
  file: HeadsFile,
  before: Heads,
  events: HeadEvents,
): Promise<Heads> {
  const hasFolder = file.hasFolder();
  const kept = new Map<number, ChainHead>(hasFolder ? file.read() : before);
  const changed: string[] = [];
  const cut: number[] = [];
  for (const { workspaceId, head, isCut } of await changedHeads(database, kept, HEADS_MAX)) {
    if (isCut) {
      cut.push(workspaceId);
    } else if (head !== null) {
      kept.set(workspaceId, head);
      changed.push(`${workspaceId} ${headText(head)}`);
    }
  }
  for (let at = 0; at < changed.length; at += HEADS_LOGGED) {
    events.auditHeadsChanged(changed.slice(at, at + HEADS_LOGGED));
  }
  if (cut.length > 0) events.auditLogsCut(cut.slice(0, HEADS_LOGGED), file.path);
  else events.auditLogsWhole();
  if (hasFolder && changed.length > 0) await file.write(kept);
  return kept;
}

/** Starts keeping the heads of the audit logs: now, at an interval, and at the stop. */
export function keepAuditHeads(
  database: Queryable,
  dataDir: string,
  events: HeadEvents,
  stops: Pick<StopOrder, 'add'>,
): void {
  let heads: Heads = new Map();
  let fileOf: HeadsFile | null = null;
  const turn = async (): Promise<void> => {
    fileOf ??= await headsFileOf(dataDir, database);
    heads = await keepHeads(database, fileOf, heads, events);
  };
  const ended = { failed: events.auditHeadsUnkept, worked: events.auditHeadsKept };
  flushUntilStop('audit heads', turn, HEADS_EVERY_MS, ended, stops, true);
}
