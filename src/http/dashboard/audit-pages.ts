/** The page of the audit ledger, newest first: for admins, since it shows where people signed in from. */
import { z } from 'zod';

import type { Store } from '../../db/store.ts';
import { auditPage } from '../../web/app/audit.ts';
import { parsePageQuery } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, pageRoutes } from './dashboard.ts';
import { ADMINS } from './sign-in/signed-in.ts';

export interface AuditPageDependencies extends DashboardDependencies {
  readonly audit: Store['audit'];
}

const PER_PAGE = 50;

const auditQuery = z.object({
  cursor: z
    .string()
    .regex(/^[1-9]\d{0,17}$/, 'must be a next_cursor of this list')
    .optional(),
});

export function auditPages(deps: AuditPageDependencies): Route[] {
  const page = pageRoutes(deps);
  return [
    page('/app/audit', { roles: ADMINS }, async ({ exchange, request, viewer, nowMs }) => {
      const { cursor } = parsePageQuery(auditQuery, exchange.query);
      const found = await deps.audit(request.workspace.id, cursor ?? null, PER_PAGE);
      return auditPage(deps.look, viewer, {
        entries: found.entries.map((entry) => ({ ...entry, hash: entry.hash.toString('hex') })),
        query: exchange.query,
        next: found.next,
        nowMs,
      });
    }),
  ];
}
