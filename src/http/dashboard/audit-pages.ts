/**
 * The audit ledger, newest first, as a page and as a file: for admins, since it shows where people signed in
 * from.
 */
import { z } from 'zod';
import type { Databases } from '../../db/databases.ts';
import { listAudit } from '../../db/people/audit.ts';
import type { Int64 } from '../../model/json.ts';
import type { AuditFilter } from '../../model/people.ts';
import { auditPage } from '../../web/app/audit.ts';
import { csvRow } from '../api/findings/finding-export.ts';
import { attachment } from '../transport/answers.ts';
import { parsePageQuery } from '../transport/input.ts';
import type { Route } from '../transport/router.ts';
import { type AppDependencies, pageRoutes, WITH_QUERY } from './dashboard.ts';
import { ADMINS } from './sign-in/signed-in.ts';

const PER_PAGE = 50;
const NAME_CHARS_MAX = 320;
/** Entries that are read at a time for a file, and most of one file. */
const FILE_PAGE = 500;
const FILE_ENTRIES_MAX = 100_000;
const COLUMNS = ['number', 'at', 'actor', 'origin', 'action', 'subject', 'before', 'after', 'hash'];

const name = z
  .string()
  .trim()
  .max(NAME_CHARS_MAX)
  .transform((text) => (text === '' ? null : text))
  .default(null);

const auditQuery = z.object({
  cursor: z
    .string()
    .regex(/^[1-9]\d{0,17}$/, 'must be a next_cursor of this list')
    .optional(),
  actor: name,
  action: name,
});

async function* csvOf(
  db: Databases,
  workspaceId: number,
  filter: AuditFilter,
  first: Int64 | null,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  yield Buffer.from(csvRow(COLUMNS));
  let cursor = first;
  let left = FILE_ENTRIES_MAX;
  do {
    const { entries, next } = await db.readFresh(listAudit, workspaceId, cursor, FILE_PAGE, filter);
    const rows = entries.slice(0, left).map(({ seq, at, hash, before, after, ...entry }) => {
      const { actor, origin, action, subject } = entry;
      const sides = [before, after].map((side) => (side === null ? '' : JSON.stringify(side)));
      const who = [actor, origin, action, subject];
      return csvRow([seq, at.toISOString(), ...who, ...sides, hash.toString('hex')]);
    });
    yield Buffer.from(rows.join(''));
    left -= rows.length;
    cursor = next;
  } while (cursor !== null && left > 0 && signal?.aborted !== true);
}

export function auditPages(deps: AppDependencies): Route[] {
  const { db } = deps;
  const page = pageRoutes(deps);
  const needs = { roles: ADMINS, ...WITH_QUERY };
  return [
    page('/app/audit', needs, async ({ exchange, request, viewer, nowMs }) => {
      const { cursor, ...filter } = parsePageQuery(auditQuery, exchange.query);
      const { id } = request.workspace;
      const found = await db.readFresh(listAudit, id, cursor ?? null, PER_PAGE, filter);
      return auditPage(deps.look, viewer, {
        entries: found.entries.map((entry) => ({ ...entry, hash: entry.hash.toString('hex') })),
        query: exchange.query,
        filter,
        next: found.next,
        nowMs,
      });
    }),
    page('/app/audit.csv', needs, async ({ exchange, request }) => {
      const { cursor, ...filter } = parsePageQuery(auditQuery, exchange.query);
      const { id } = request.workspace;
      return {
        contentType: 'text/csv; charset=utf-8',
        headers: attachment('audit.csv'),
        chunks: csvOf(db, id, filter, cursor ?? null, exchange.signal),
      };
    }),
  ];
}
