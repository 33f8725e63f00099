/** Reading findings: the list, newest first, and one by its id. */
import type { Finding, FindingCursor, FindingFilter, Hex16 } from '../model.ts';
import type { Database } from './database.ts';

const COLUMNS = `
  f.id, f.created_at AS "createdAt", f.run_id AS "runId", f.rule_id AS "ruleId",
  f.rule_version AS "ruleVersion", f.rule_status AS "ruleStatus", f.severity, f.category,
  f.subcategory, f.corpus_version AS "corpusVersion", f.description,
  f.condition_index AS "conditionIndex", f.condition_description AS "conditionDescription",
  f.field, f.surface, encode(f.step_span_id, 'hex') AS "stepSpanId", f.step_name AS "stepName",
  CASE WHEN w.redact_excerpts THEN NULL ELSE f.excerpt END AS excerpt,
  f.recommended_actions AS "recommendedActions",
  (extract(epoch FROM f.created_at) * 1000000)::bigint AS "atMicros"`;
const SOURCE = 'findings f JOIN workspaces w ON w.id = f.workspace_id';

type FindingRow = Finding & { readonly atMicros: string };

/**
 * One page of a workspace's findings, newest first.
 *
 * @param limit most findings of the page
 * @returns the page, and where the next begins (null at the end)
 */
export async function listFindings(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  cursor: FindingCursor | null,
  limit: number,
): Promise<{ findings: Finding[]; next: FindingCursor | null }> {
  const { rows } = await database.query<FindingRow>(
    `SELECT ${COLUMNS} FROM ${SOURCE}
      WHERE f.workspace_id = $1
        AND ($2::text IS NULL OR f.severity = $2) AND ($3::text IS NULL OR f.category = $3)
        AND ($4::text IS NULL OR f.rule_id = $4) AND ($5::uuid IS NULL OR f.run_id = $5)
        AND ($6::timestamptz IS NULL OR f.created_at >= $6)
        AND ($7::timestamptz IS NULL OR f.created_at < $7)
        AND ($8::bigint IS NULL OR (f.created_at, f.id)
             < ('epoch'::timestamptz + $8::bigint * interval '1 microsecond', $9::uuid))
      ORDER BY f.created_at DESC, f.id DESC LIMIT $10`,
    [
      workspaceId,
      filter.severity ?? null,
      filter.category ?? null,
      filter.ruleId ?? null,
      filter.runId ?? null,
      filter.since ?? null,
      filter.until ?? null,
      cursor?.atMicros ?? null,
      cursor?.id ?? null,
      limit + 1,
    ],
  );
  const findings = rows.slice(0, limit);
  const last = rows.length > limit ? findings.at(-1) : undefined;
  return {
    findings,
    next: last === undefined ? null : { atMicros: last.atMicros, id: last.id },
  };
}

/** One finding of a workspace; null when it has none of that id. */
export async function findFinding(
  database: Database,
  workspaceId: number,
  id: Hex16,
): Promise<Finding | null> {
  const { rows } = await database.query<FindingRow>(
    `SELECT ${COLUMNS} FROM ${SOURCE} WHERE f.workspace_id = $1 AND f.id = $2`,
    [workspaceId, id],
  );
  return rows[0] ?? null;
}
