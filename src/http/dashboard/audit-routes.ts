/** Reading the audit ledger, newest first. */
import { z } from 'zod';

import type { AuditEntry, Int64 } from '../../model.ts';
import { json } from '../transport/problem.ts';
import { parseQuery, wholeNumber } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { ADMINS, type SessionDependencies, signedIn } from './sign-in/signed-in.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;

/** Reads a page of a workspace's ledger: entries with a number below `before`. */
export type AuditReader = (
  workspaceId: number,
  before: Int64 | null,
  limit: number,
) => Promise<{ readonly entries: readonly AuditEntry[]; readonly next: Int64 | null }>;

export interface AuditDependencies extends SessionDependencies {
  readonly audit: AuditReader;
}

/** The parameters of the list. */
export const auditQuery = z.object({
  cursor: z
    .string()
    .regex(/^[1-9]\d{0,17}$/, 'must be a next_cursor of this list')
    .optional(),
  limit: wholeNumber(1, LIMIT_MAX, LIMIT_DEFAULT),
});

/** `GET /app/api/audit`; admins and owners, since it tells where people signed in from. */
export function auditRoutes(deps: AuditDependencies): Route[] {
  const list = signedIn(
    { roles: ADMINS },
    async (exchange, { workspace }) => {
      const { cursor, limit } = parseQuery(auditQuery, exchange.query);
      const { entries, next } = await deps.audit(workspace.id, cursor ?? null, limit);
      return json({
        entries: entries.map((one) => ({
          seq: Number(one.seq),
          at: one.at,
          actor: { user_id: one.actorUserId, name: one.actor },
          origin: one.origin,
          action: one.action,
          subject: one.subject,
          before: one.before,
          after: one.after,
          hash: one.hash.toString('hex'),
        })),
        next_cursor: next,
      });
    },
    deps,
  );
  return [{ method: 'GET', path: '/app/api/audit', handler: list }];
}
