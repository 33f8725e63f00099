/** Recent findings of each rule in a workspace, and how many were set to false positive. */
import { NO_RECORD, type RuleRecord } from '../../model/findings.ts';
import type { Database } from '../database.ts';
import { type MatcherTime, readMatcherTimes } from './rule-costs.ts';

const COUNTED_MAX = 10_000;
const FALSE_POSITIVES_MAX = 10_000;

/** The rules with findings: each next one is one look-up in the index `findings_by_rule`. */
const ALL_RULES = `rule AS (
    (SELECT rule_id FROM findings WHERE workspace_id = $1 ORDER BY rule_id LIMIT 1)
    UNION ALL
    SELECT (SELECT rule_id FROM findings
             WHERE workspace_id = $1 AND rule_id > rule.rule_id ORDER BY rule_id LIMIT 1)
      FROM rule WHERE rule_id IS NOT NULL
  )`;

const recordsOf = (rules: string): string => `
  WITH RECURSIVE ${rules}, decided AS MATERIALIZED (
    SELECT finding_id FROM finding_states WHERE workspace_id = $1 AND state = 'false_positive'
     ORDER BY updated_at DESC LIMIT ${FALSE_POSITIVES_MAX}
  ), called AS (
    SELECT f.rule_id, count(*)::int AS found FROM decided
      JOIN findings f ON f.workspace_id = $1 AND f.id = decided.finding_id
     WHERE f.created_at > now() - interval '30 days' GROUP BY f.rule_id
  )
  SELECT rule.rule_id AS "ruleId", recent.found AS findings,
         coalesce(called.found, 0) AS "falsePositives", latest.created_at AS "lastSeenAt"
    FROM rule
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS found FROM (
        SELECT 1 FROM findings
         WHERE workspace_id = $1 AND rule_id = rule.rule_id
           AND created_at > now() - interval '30 days'
         ORDER BY created_at DESC LIMIT ${COUNTED_MAX}) AS counted
    ) AS recent
    CROSS JOIN LATERAL (
      SELECT created_at FROM findings WHERE workspace_id = $1 AND rule_id = rule.rule_id
       ORDER BY created_at DESC LIMIT 1
    ) AS latest
    LEFT JOIN called ON called.rule_id = rule.rule_id`;

const RECORDS = recordsOf(ALL_RULES);
const RECORD = recordsOf('rule AS (SELECT $2::text AS rule_id)');

type Row = Omit<RuleRecord, 'matcherShare' | 'matcherUs'> & { readonly ruleId: string };

const withTime = (record: RuleRecord, time: MatcherTime | undefined): RuleRecord =>
  time === undefined ? record : { ...record, matcherShare: time.share, matcherUs: time.searchUs };

export async function readRuleRecords(
  database: Database,
  workspaceId: number,
): Promise<ReadonlyMap<string, RuleRecord>> {
  const { rows } = await database.query<Row>(RECORDS, [workspaceId]);
  const times = await readMatcherTimes(database);
  const found = new Map(
    rows.map(({ ruleId, ...record }) => [ruleId, { ...NO_RECORD, ...record } as RuleRecord]),
  );
  const ids = new Set([...found.keys(), ...times.keys()]);
  return new Map([...ids].map((id) => [id, withTime(found.get(id) ?? NO_RECORD, times.get(id))]));
}

export async function readRuleRecord(
  database: Database,
  workspaceId: number,
  ruleId: string,
): Promise<RuleRecord> {
  const { rows } = await database.query<Row>(RECORD, [workspaceId, ruleId]);
  const time = (await readMatcherTimes(database)).get(ruleId);
  const [row] = rows;
  if (row === undefined) return withTime(NO_RECORD, time);
  const { ruleId: _, ...record } = row;
  return withTime({ ...NO_RECORD, ...record }, time);
}
