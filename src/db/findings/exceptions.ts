/**
 * Reads exceptions, and gives statements that read findings the condition that one covers them.
 * PostgreSQL's clock decides whether an exception is active: it ends automatically when it expires.
 */
import {
  EXCEPTION_SCOPES,
  type ExceptionChoice,
  type ExceptionScope,
  type FindingException,
  type Hidden,
} from '../../model/exceptions.ts';
import type { Hex16 } from '../../model/json.ts';
import type { Queryable } from '../database.ts';

/** Most newest findings of a rule that are looked at to count what an exception hides. */
const COUNTED_FINDINGS_MAX = 5000;

/** SQL that is true while an exception is active. */
export const isActive = (exception: string): string =>
  `(${exception}.ended_at IS NULL AND ${exception}.expires_at > now())`;

/** SQL that is true when an exception is for a finding of its rule. */
const covers = (exception: string, finding: string): string => `CASE ${exception}.scope
    WHEN 'agent' THEN ${exception}.name = ${finding}.agent_name
    WHEN 'service' THEN ${exception}.name = ${finding}.service_name
    WHEN 'tool' THEN ${exception}.name = ${finding}.tool_name
    WHEN 'text' THEN ${exception}.match_digest = ${finding}.match_digest END`;

/**
 * A condition for any statement that reads findings: whether an active exception covers the finding.
 * Lists hide such findings by default (`NOT isExcepted('f')`), and they raise no alerts.
 *
 * @param finding the alias of the findings, for example `f`; its columns `workspace_id`, `rule_id`,
 *   `agent_name`, `service_name`, `tool_name` and `match_digest` are used
 * @returns SQL that is true or false, never null; one look-up in an index by rule
 */
export function isExcepted(finding: string): string {
  return `EXISTS (SELECT FROM finding_exceptions exception
    WHERE exception.workspace_id = ${finding}.workspace_id
      AND exception.rule_id = ${finding}.rule_id
      AND ${isActive('exception')} AND ${covers('exception', finding)})`;
}

/** Counts, of the newest findings of a rule, the ones that fulfil a condition. */
const hidden = (source: string, condition: string, until = "'infinity'"): string => `
  SELECT count(*) FILTER (WHERE ${condition})::int AS count,
         max(f.created_at) FILTER (WHERE ${condition}) AS last,
         count(*) = ${COUNTED_FINDINGS_MAX} AS "isCut"
    FROM (SELECT * FROM findings
           WHERE workspace_id = ${source}.workspace_id AND rule_id = ${source}.rule_id
             AND created_at < ${until}
           ORDER BY created_at DESC LIMIT ${COUNTED_FINDINGS_MAX}) AS f`;

const COLUMNS = `e.id, e.rule_id AS "ruleId", e.scope, e.name, e.reason,
  e.created_by AS "createdBy", e.created_at AS "createdAt", e.expires_at AS "expiresAt",
  e.ended_at AS "endedAt", e.ended_by AS "endedBy", ${isActive('e')} AS "isActive",
  hidden.count, hidden.last, hidden."isCut"`;
const UNTIL = `least(coalesce(e.ended_at, 'infinity'), e.expires_at)`;

type Row = Omit<FindingException, 'hidden'> & Hidden;

const toException = ({ count, last, isCut, ...row }: Row): FindingException => ({
  ...row,
  hidden: { count, last, isCut },
});

/** The exceptions of a workspace: active ones first, newest first. There is a bounded number. */
export async function listExceptions(
  database: Queryable,
  workspaceId: number,
): Promise<FindingException[]> {
  const { rows } = await database.query<Row>(
    `SELECT ${COLUMNS} FROM finding_exceptions e
      CROSS JOIN LATERAL (${hidden('e', covers('e', 'f'), UNTIL)}) AS hidden
      WHERE e.workspace_id = $1 ORDER BY ${isActive('e')} DESC, e.id DESC`,
    [workspaceId],
  );
  return rows.map(toException);
}

/** The active exceptions that cover a finding, the one that lasts longest first. */
export async function exceptionsFor(
  database: Queryable,
  workspaceId: number,
  findingId: Hex16,
): Promise<Pick<FindingException, 'id' | 'scope' | 'name' | 'reason' | 'expiresAt'>[]> {
  const { rows } = await database.query(
    `SELECT e.id, e.scope, e.name, e.reason, e.expires_at AS "expiresAt"
       FROM findings f JOIN finding_exceptions e
         ON e.workspace_id = f.workspace_id AND e.rule_id = f.rule_id
        AND ${isActive('e')} AND ${covers('e', 'f')}
      WHERE f.workspace_id = $1 AND f.id = $2 ORDER BY e.expires_at DESC, e.id`,
    [workspaceId, findingId],
  );
  return rows;
}

/** Whether a finding has what a scope needs. A tool's name that matched is text: `text` is for it. */
export const OFFERS: Readonly<Record<ExceptionScope, string>> = {
  text: 'own.match_digest IS NOT NULL',
  tool: `own.tool_name IS NOT NULL AND own.surface <> 'tool_name'`,
  agent: 'own.agent_name IS NOT NULL',
  service: 'own.service_name IS NOT NULL',
};

const SAME: Readonly<Record<ExceptionScope, string>> = {
  text: 'f.match_digest = own.match_digest',
  tool: 'f.tool_name = own.tool_name',
  agent: 'f.agent_name = own.agent_name',
  service: 'f.service_name = own.service_name',
};

/**
 * The exceptions that can be made from a finding, the narrowest first, each with how many findings
 * it would hide; none for a finding of a version that recorded neither names nor text.
 */
export async function exceptionChoices(
  database: Queryable,
  workspaceId: number,
  findingId: Hex16,
): Promise<ExceptionChoice[]> {
  const parts = EXCEPTION_SCOPES.map(
    (scope) => `SELECT '${scope}' AS scope,
        ${scope === 'text' ? 'NULL' : `own.${scope}_name`} AS name, hidden.*
       FROM own CROSS JOIN LATERAL (${hidden('own', SAME[scope])}) AS hidden
      WHERE ${OFFERS[scope]}`,
  );
  const { rows } = await database.query<Hidden & Omit<ExceptionChoice, 'hidden'>>(
    `WITH own AS (SELECT * FROM findings WHERE workspace_id = $1 AND id = $2)
     ${parts.join(' UNION ALL ')}`,
    [workspaceId, findingId],
  );
  return rows.map(({ scope, name, ...counted }) => ({ scope, name, hidden: counted }));
}
