/** Events of the audit log's heads, which are kept outside the database. */
import type { Logger } from 'pino';

import { errorFacts } from './error-facts.ts';
import type { Metrics } from './metrics.ts';

type AuditConcern = 'audit_heads' | 'audit_log';

/** Logs the beginning and the end of an outage (events.ts). */
interface AuditOutages {
  readonly fails: (
    concern: AuditConcern,
    level: 'warn' | 'error',
    facts: object,
    message: string,
  ) => void;
  readonly works: (concern: AuditConcern) => void;
}

export function auditEvents(log: Logger, metrics: Metrics, outages: AuditOutages) {
  return {
    /** @param heads of workspaces: id, number of the last entry, and its hash */
    auditHeadsChanged(heads: readonly string[]): void {
      log.info({ heads }, 'last entries of audit logs');
    },
    auditHeadsKept(): void {
      outages.works('audit_heads');
    },
    auditHeadsUnkept(error: unknown): void {
      metrics.faults.inc({ place: 'audit_heads' });
      const message = 'the last entries of audit logs could not be kept; it will be retried';
      outages.fails('audit_heads', 'warn', errorFacts(error), message);
    },
    /** @param workspaces their ids */
    auditLogsCut(workspaces: readonly number[], path: string): void {
      metrics.faults.inc({ place: 'audit_log' });
      const message =
        'audit logs no longer have entries that were kept: run sluice audit verify; after restoring an older backup, delete the file';
      outages.fails('audit_log', 'error', { workspaces, path }, message);
    },
    auditLogsWhole(): void {
      outages.works('audit_log');
    },
  };
}
