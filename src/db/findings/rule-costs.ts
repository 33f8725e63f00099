/**
 * How long matching each rule took, sampled, of all workspaces together, by day of PostgreSQL's clock. The
 * processes of a database add to the same rows.
 */
import type { Database } from '../database.ts';

const COST_DAYS = 30;

export interface RuleCost {
  readonly ruleId: string;
  readonly searches: number;
  readonly micros: number;
}

const TODAY = `(now() AT TIME ZONE 'UTC')::date`;

/** Adds to the current day, and removes days that are over. */
export async function addRuleCosts(database: Database, costs: readonly RuleCost[]): Promise<void> {
  if (costs.length === 0) return;
  await database.query(
    // In one order, so that two processes cannot wait for each other.
    `INSERT INTO rule_costs (day, rule_id, searches, micros)
     SELECT ${TODAY}, * FROM unnest($1::text[], $2::bigint[], $3::float8[]) AS added ORDER BY 2
     ON CONFLICT (day, rule_id) DO UPDATE
        SET searches = rule_costs.searches + excluded.searches,
            micros = rule_costs.micros + excluded.micros`,
    [
      costs.map(({ ruleId }) => ruleId),
      costs.map(({ searches }) => searches),
      costs.map(({ micros }) => micros),
    ],
  );
  await database.query(
    `DELETE FROM rule_costs WHERE (day, rule_id) IN (
       SELECT day, rule_id FROM rule_costs WHERE day <= ${TODAY} - ${COST_DAYS}
        FOR UPDATE SKIP LOCKED)`,
  );
}

export interface MatcherTime {
  /** of the time of all rules, 0 to 1 */
  readonly share: number;
  readonly searchUs: number;
}

export async function readMatcherTimes(
  database: Database,
): Promise<ReadonlyMap<string, MatcherTime>> {
  const { rows } = await database.query<MatcherTime & { ruleId: string }>(
    `SELECT rule_id AS "ruleId", sum(micros) / nullif(sum(sum(micros)) OVER (), 0) AS share,
            sum(micros) / sum(searches)::float8 AS "searchUs"
       FROM rule_costs WHERE day > ${TODAY} - ${COST_DAYS}
      GROUP BY rule_id HAVING sum(searches) > 0 AND sum(micros) > 0`,
  );
  return new Map(rows.map(({ ruleId, ...time }) => [ruleId, time]));
}
