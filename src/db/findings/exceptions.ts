/**
 * Reads exceptions, and gives statements that read findings the condition that one covers them.
 * PostgreSQL's clock decides whether an exception is active: it ends automatically when it expires.
 */
import {
  EXCEPTION_SCOPES,
  type ExceptionChoice,
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

/** SQL expressions that exceptions are compared with. */
interface Match {
  /** of the run, so the same for all matches of a finding */
  readonly agent: string;
  readonly service: string;
  /** null for a tool's name that is itself the matched text: it is compared as text only */
  readonly tool: string;
  /** null for a match that stands for others, which are not known */
  readonly digest: string;
}

const firstOf = (finding: string): Match => ({
  agent: `${finding}.agent_name`,
  service: `${finding}.service_name`,
  tool: `(CASE WHEN ${finding}.surface <> 'tool_name' THEN ${finding}.tool_name END)`,
  digest: `${finding}.match_digest`,
});
const furtherOf = (finding: string, row: string): Match => ({
  agent: `${finding}.agent_name`,
  service: `${finding}.service_name`,
  tool: `${row}.tool`,
  digest: `${row}.digest`,
});
/** The further matches of a finding, as rows `(digest, tool, ordinal)`. */
const matchesOf = (finding: string, as: string): string =>
  `unnest(${finding}.more_digests, ${finding}.more_tools) WITH ORDINALITY AS ${as} (digest, tool, ordinal)`;

/** SQL that is true when an exception is for a match of its rule, and never null. */
const covers = (exception: string, match: Match): string => `(CASE ${exception}.scope
    WHEN 'agent' THEN ${exception}.name = ${match.agent}
    WHEN 'service' THEN ${exception}.name = ${match.service}
    WHEN 'tool' THEN ${exception}.name = ${match.tool}
    WHEN 'text' THEN ${exception}.match_digest = ${match.digest}
    WHEN 'match' THEN ${exception}.match_digest = ${match.digest}
      AND ${exception}.agent_name IS NOT DISTINCT FROM ${match.agent}
      AND ${exception}.service_name IS NOT DISTINCT FROM ${match.service}
      AND ${exception}.tool_name IS NOT DISTINCT FROM ${match.tool} END IS TRUE)`;

/** Checks whether an active exception covers a match. */
const isCovered = (finding: string, match: Match): string => `EXISTS (
    SELECT FROM finding_exceptions exception
     WHERE exception.workspace_id = ${finding}.workspace_id
       AND exception.rule_id = ${finding}.rule_id
       AND ${isActive('exception')} AND ${covers('exception', match)})`;

/** Checks whether a condition holds for every match of a finding. */
const forEach = (finding: string, holds: (match: Match) => string): string =>
  `(${holds(firstOf(finding))} AND (${finding}.more_digests IS NULL OR NOT EXISTS (
     SELECT FROM ${matchesOf(finding, 'further')} WHERE NOT ${holds(furtherOf(finding, 'further'))})))`;

/**
 * A condition for any statement that reads findings: whether active exceptions cover the finding, which
 * means every match of its rule in its run. Lists hide such findings by default
 * (`NOT isExcepted('f')`), and they raise no alerts.
 *
 * @param finding the alias of the findings, for example `f`; its columns `workspace_id`, `rule_id`,
 *   `agent_name`, `service_name`, `tool_name`, `surface`, `match_digest`, `more_digests` and
 *   `more_tools` are used
 * @returns SQL that is true or false, never null; one look-up in an index by rule for each match
 */
export function isExcepted(finding: string): string {
  return forEach(finding, (match) => isCovered(finding, match));
}

/** Checks whether an active exception covers the first match of a finding. */
export const isFirstExcepted = (finding: string): string => isCovered(finding, firstOf(finding));

/**
 * The place that a finding shows instead of its first one, as JSON: where active exceptions cover the
 * first match but not all, the first one that none covers. Null where it shows the first one.
 */
export const shownPlace = (finding: string): string => `
  CASE WHEN ${finding}.more_digests IS NOT NULL AND ${isFirstExcepted(finding)} THEN (
    SELECT ${finding}.more_places->(further.ordinal::int - 1) FROM ${matchesOf(finding, 'further')}
     WHERE NOT ${isCovered(finding, furtherOf(finding, 'further'))}
     ORDER BY further.ordinal LIMIT 1) END`;

/** Checks whether an exception covers a match of a finding. */
const touches = (exception: string, finding: string): string => `
  (${covers(exception, firstOf(finding))} OR (${finding}.more_digests IS NOT NULL
     AND (${exception}.match_digest = ANY (${finding}.more_digests)
          OR (${exception}.scope = 'tool' AND ${exception}.name = ANY (${finding}.more_tools)))
     AND EXISTS (SELECT FROM ${matchesOf(finding, 'further')}
                  WHERE ${covers(exception, furtherOf(finding, 'further'))})))`;

/**
 * Checks whether an exception hides a finding: it covers one of its matches, and `rest` says that all are
 * covered. It is evaluated for thousands of findings; most have one match.
 */
const hides = (exception: string, finding: string, rest: string): string => `
  (CASE WHEN NOT ${touches(exception, finding)} THEN false
        WHEN ${finding}.more_digests IS NULL OR ${exception}.scope IN ('agent', 'service') THEN true
        ELSE ${rest} END)`;

const newestOf = (rule: string): string => `
  (SELECT * FROM findings WHERE workspace_id = ${rule}.workspace_id AND rule_id = ${rule}.rule_id
    ORDER BY created_at DESC LIMIT ${COUNTED_FINDINGS_MAX})`;
const IS_CUT = `count(*) = ${COUNTED_FINDINGS_MAX} AS "isCut"`;

const COLUMNS = `e.id, e.rule_id AS "ruleId", e.scope, e.name,
  e.agent_name AS agent, e.service_name AS service, e.tool_name AS tool, e.reason,
  e.created_by AS "createdBy", e.created_at AS "createdAt", e.expires_at AS "expiresAt",
  e.ended_at AS "endedAt", e.ended_by AS "endedBy", ${isActive('e')} AS "isActive",
  coalesce(hidden.count, 0) AS count, hidden.last, coalesce(hidden."isCut", false) AS "isCut"`;
const UNTIL = `least(coalesce(e.ended_at, 'infinity'), e.expires_at)`;
/**
 * Counts what the exceptions of `$1` hide, or hid by themselves. Coverage of a finding by the active ones is decided
 * once for each, not for each exception.
 */
const COUNTED = `
  SELECT e.id, count(*) FILTER (WHERE is_hidden)::int AS count,
         max(f.created_at) FILTER (WHERE is_hidden) AS last, ${IS_CUT}
    FROM (SELECT DISTINCT workspace_id, rule_id FROM finding_exceptions WHERE workspace_id = $1) AS rule
   CROSS JOIN LATERAL (
     SELECT f.*, f.more_digests IS NOT NULL AND ${isExcepted('f')} AS is_excepted
       FROM ${newestOf('rule')} AS f OFFSET 0) AS f
    JOIN finding_exceptions e ON e.workspace_id = $1 AND e.rule_id = f.rule_id
   CROSS JOIN LATERAL (
     SELECT f.created_at < ${UNTIL} AND ${hides(
       'e',
       'f',
       `CASE WHEN ${isActive('e')} THEN f.is_excepted
             ELSE ${forEach('f', (match) => covers('e', match))} END`,
     )} AS is_hidden OFFSET 0) AS of_both
   GROUP BY e.id`;

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
       LEFT JOIN (${COUNTED}) AS hidden ON hidden.id = e.id
      WHERE e.workspace_id = $1 ORDER BY ${isActive('e')} DESC, e.id DESC`,
    [workspaceId],
  );
  return rows.map(toException);
}

const COVER_COLUMNS = `e.id, e.scope, e.name, e.agent_name AS agent, e.service_name AS service,
  e.tool_name AS tool, e.reason, e.expires_at AS "expiresAt"`;

/** An exception beside the finding that it covers. */
export type Cover = Pick<
  FindingException,
  'id' | 'scope' | 'name' | 'agent' | 'service' | 'tool' | 'reason' | 'expiresAt'
>;

/** The active exceptions that hide a finding, the one that lasts longest first. */
export async function exceptionsFor(
  database: Queryable,
  workspaceId: number,
  findingId: Hex16,
): Promise<Cover[]> {
  const { rows } = await database.query<Cover>(
    `SELECT ${COVER_COLUMNS}
       FROM findings f JOIN finding_exceptions e
         ON e.workspace_id = f.workspace_id AND e.rule_id = f.rule_id
        AND ${isActive('e')} AND ${hides('e', 'f', isExcepted('f'))}
      WHERE f.workspace_id = $1 AND f.id = $2 ORDER BY e.expires_at DESC, e.id`,
    [workspaceId, findingId],
  );
  return rows;
}

/**
 * The exceptions that can be made from the match that a finding shows: `$1` its workspace, `$2` its id.
 * None for a match that stands for others, but of what its run has. A tool's name that matched is text.
 */
export const OFFERED = `
  WITH shown AS (
    SELECT f.*, ${shownPlace('f')} AS further FROM findings f WHERE f.workspace_id = $1 AND f.id = $2
  ), own AS (
    SELECT workspace_id, rule_id, agent_name, service_name,
           CASE WHEN further IS NULL THEN ${firstOf('shown').tool}
                ELSE (place_tools(jsonb_build_array(further)))[1] END AS tool_name,
           CASE WHEN further IS NULL THEN match_digest
                ELSE (place_digests(jsonb_build_array(further)))[1] END AS match_digest
      FROM shown
  ), offered AS (
    SELECT own.workspace_id, own.rule_id, own.agent_name AS own_agent, choice.*
      FROM own CROSS JOIN LATERAL (VALUES
        ('match', NULL, match_digest, agent_name, service_name, tool_name, match_digest IS NOT NULL),
        ('text', NULL, match_digest, NULL, NULL, NULL, match_digest IS NOT NULL),
        ('tool', tool_name, NULL, NULL, NULL, NULL, tool_name IS NOT NULL),
        ('agent', agent_name, NULL, NULL, NULL, NULL, agent_name IS NOT NULL),
        ('service', service_name, NULL, NULL, NULL, NULL, service_name IS NOT NULL)
      ) AS choice (scope, name, match_digest, agent_name, service_name, tool_name, is_offered)
     WHERE choice.is_offered
  )`;

/**
 * Returns the exceptions that can be made from a finding, the narrowest first, and the number of
 * findings that each would hide.
 */
export async function exceptionChoices(
  database: Queryable,
  workspaceId: number,
  findingId: Hex16,
): Promise<ExceptionChoice[]> {
  const covered = forEach('f', (match) => `(${covers('e', match)} OR ${isCovered('f', match)})`);
  const { rows } = await database.query<Hidden & Omit<ExceptionChoice, 'hidden'>>(
    `${OFFERED}
     SELECT e.scope, e.name, counted.* FROM offered e CROSS JOIN LATERAL (
       SELECT count(*) FILTER (WHERE is_hidden)::int AS count,
              max(created_at) FILTER (WHERE is_hidden) AS last, ${IS_CUT},
              count(*) FILTER (WHERE is_hidden AND agent_name IS DISTINCT FROM e.own_agent)::int
                AS "ofOtherAgents"
         FROM (SELECT f.created_at, f.agent_name, ${hides('e', 'f', covered)} AS is_hidden
                 FROM ${newestOf('e')} AS f) AS read) AS counted
      ORDER BY array_position($3::text[], e.scope)`,
    [workspaceId, findingId, EXCEPTION_SCOPES],
  );
  return rows.map(({ scope, name, ofOtherAgents, ...counted }) => {
    return { scope, name, hidden: counted, ofOtherAgents };
  });
}
