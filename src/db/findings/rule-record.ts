/** What one rule has found in a workspace lately, and how much of it people called false. */
import type { RuleRecord } from '../../model/findings.ts';
import type { Database } from '../database.ts';

/** Findings that are counted, the latest. */
const COUNTED_MAX = 10_000;

/** Reads the last thirty days. */
export async function readRuleRecord(
  database: Database,
  workspaceId: number,
  ruleId: string,
): Promise<RuleRecord> {
  const { rows } = await database.query<RuleRecord>(
    `WITH recent AS (
       SELECT id, created_at FROM findings
        WHERE workspace_id = $1 AND rule_id = $2 AND created_at > now() - interval '30 days'
        ORDER BY created_at DESC LIMIT ${COUNTED_MAX}
     )
     SELECT count(*)::int AS findings, max(recent.created_at) AS "lastSeenAt",
            count(*) FILTER (WHERE s.state = 'false_positive')::int AS "falsePositives"
       FROM recent LEFT JOIN finding_states AS s
         ON s.workspace_id = $1 AND s.finding_id = recent.id`,
    [workspaceId, ruleId],
  );
  return rows[0] ?? { findings: 0, falsePositives: 0, lastSeenAt: null };
}
