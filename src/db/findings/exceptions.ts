/**
 * Reads exceptions, and gives statements that read findings the condition that one covers them.
 * PostgreSQL's clock decides whether an exception is active: it ends automatically when it expires.
 */

import { SluiceError } from '../../errors.ts';
import {
  EXCEPTION_PARTS,
  type ExceptionCoverage,
  type ExceptionOffer,
  type ExceptionPart,
  type FindingException,
  type Hidden,
} from '../../model/exceptions.ts';
import type { Hex16 } from '../../model/json.ts';
import type { Queryable } from '../database.ts';

/** Most newest findings of a rule that are looked at to count what an exception hides. */
const COUNTED_FINDINGS_MAX = 2000;

export const isActive = (exception: string): string =>
  `(${exception}.ended_at IS NULL AND ${exception}.expires_at > now())`;

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

/**
 * SQL that is true when a match has a part of an exception, or null. An empty name stands for a match
 * without one. Nothing is known of the texts and tools of a match that represents others.
 */
const HAS: Readonly<Record<ExceptionPart, (exception: string, match: Match) => string>> = {
  text: (exception, match) => `${exception}.match_digest = ${match.digest}`,
  tool: (exception, match) =>
    `${match.digest} IS NOT NULL AND ${exception}.tool_name = coalesce(${match.tool}, '')`,
  agent: (exception, match) => `${exception}.agent_name = coalesce(${match.agent}, '')`,
  service: (exception, match) => `${exception}.service_name = coalesce(${match.service}, '')`,
};
const COLUMN_OF: Readonly<Record<ExceptionPart, string>> = {
  text: 'match_digest',
  tool: 'tool_name',
  agent: 'agent_name',
  service: 'service_name',
};

/** SQL that is true when an exception is for a match of its rule, and never null. */
const covers = (exception: string, match: Match): string =>
  `(${EXCEPTION_PARTS.map(
    (part) => `(${exception}.${COLUMN_OF[part]} IS NULL OR ${HAS[part](exception, match)})`,
  ).join(' AND ')} IS TRUE)`;

const isCovered = (finding: string, match: Match): string => `EXISTS (
    SELECT FROM finding_exceptions exception
     WHERE exception.workspace_id = ${finding}.workspace_id
       AND exception.rule_id = ${finding}.rule_id
       AND ${isActive('exception')} AND ${covers('exception', match)})`;

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

const touches = (exception: string, finding: string): string => `
  (${covers(exception, firstOf(finding))} OR (${finding}.more_digests IS NOT NULL
     AND EXISTS (SELECT FROM ${matchesOf(finding, 'further')}
                  WHERE ${covers(exception, furtherOf(finding, 'further'))})))`;

/**
 * Checks whether an exception hides a finding: it covers one of its matches, and `rest` says that all are
 * covered. It is evaluated for thousands of findings; most have one match.
 */
const hides = (exception: string, finding: string, rest: string): string => `
  (CASE WHEN NOT ${touches(exception, finding)} THEN false
        WHEN ${finding}.more_digests IS NULL
          OR num_nulls(${exception}.match_digest, ${exception}.tool_name) = 2 THEN true
        ELSE ${rest} END)`;

/** Only what exceptions are for, so that a materialized table of these stays in memory. */
const newestOf = (rule: string): string => `
  (SELECT workspace_id, rule_id, created_at, surface, agent_name, service_name, tool_name, match_digest,
          more_digests, more_tools
     FROM findings WHERE workspace_id = ${rule}.workspace_id AND rule_id = ${rule}.rule_id
    ORDER BY created_at DESC LIMIT ${COUNTED_FINDINGS_MAX})`;
const IS_CUT = `count(*) = ${COUNTED_FINDINGS_MAX} AS "isCut"`;

export const COVERAGE = `(e.match_digest IS NOT NULL) AS text, e.tool_name AS tool,
  e.agent_name AS agent, e.service_name AS service`;
const COLUMNS = `e.id, e.rule_id AS "ruleId", ${COVERAGE}, e.reason,
  e.created_by AS "createdBy", e.created_at AS "createdAt", e.expires_at AS "expiresAt",
  e.ended_at AS "endedAt", e.ended_by AS "endedBy", ${isActive('e')} AS "isActive",
  coalesce(hidden.count, 0) AS count, hidden.last, coalesce(hidden."isCut", false) AS "isCut"`;
const UNTIL = `least(coalesce(e.ended_at, 'infinity'), e.expires_at)`;
/**
 * Counts what the exceptions of `$1` hide, or hid by themselves. Coverage of a finding by the active ones is decided
 * once for each, not for each exception. Materialized, because in a table that was never analyzed PostgreSQL expects one
 * exception, and would do all of it again for each.
 */
const COUNTED = `
  newest AS MATERIALIZED (
    SELECT f.*, f.more_digests IS NOT NULL AND ${isExcepted('f')} AS is_excepted
      FROM (SELECT DISTINCT workspace_id, rule_id FROM finding_exceptions WHERE workspace_id = $1) AS rule
     CROSS JOIN LATERAL ${newestOf('rule')} AS f
  ), hidden AS MATERIALIZED (
  SELECT e.id, count(*) FILTER (WHERE is_hidden)::int AS count,
         max(f.created_at) FILTER (WHERE is_hidden) AS last, ${IS_CUT}
    FROM newest f
    JOIN finding_exceptions e ON e.workspace_id = $1 AND e.rule_id = f.rule_id
   CROSS JOIN LATERAL (
     SELECT f.created_at < ${UNTIL} AND ${hides(
       'e',
       'f',
       `CASE WHEN ${isActive('e')} THEN f.is_excepted
             ELSE ${forEach('f', (match) => covers('e', match))} END`,
     )} AS is_hidden OFFSET 0) AS of_both
   GROUP BY e.id)`;

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
    `WITH ${COUNTED}
     SELECT ${COLUMNS} FROM finding_exceptions e LEFT JOIN hidden ON hidden.id = e.id
      WHERE e.workspace_id = $1 ORDER BY ${isActive('e')} DESC, e.id DESC`,
    [workspaceId],
  );
  return rows.map(toException);
}

export type Cover = ExceptionCoverage & Pick<FindingException, 'id' | 'reason' | 'expiresAt'>;

/** The active exceptions that hide a finding, the one that lasts longest first. */
export async function exceptionsFor(
  database: Queryable,
  workspaceId: number,
  findingId: Hex16,
): Promise<Cover[]> {
  const { rows } = await database.query<Cover>(
    `SELECT e.id, ${COVERAGE}, e.reason, e.expires_at AS "expiresAt"
       FROM findings f JOIN finding_exceptions e
         ON e.workspace_id = f.workspace_id AND e.rule_id = f.rule_id
        AND ${isActive('e')} AND ${hides('e', 'f', isExcepted('f'))}
      WHERE f.workspace_id = $1 AND f.id = $2 ORDER BY e.expires_at DESC, e.id`,
    [workspaceId, findingId],
  );
  return rows;
}

/**
 * The narrowest exception from the match that a finding shows, `e`: `$1` its workspace, `$2` its id. It has
 * neither text nor tool for a match that represents others. A tool's name that matched is text.
 */
export const NARROWEST = `
  WITH shown AS (
    SELECT f.*, ${shownPlace('f')} AS further FROM findings f WHERE f.workspace_id = $1 AND f.id = $2
  ), own AS (
    SELECT shown.*, CASE WHEN further IS NULL THEN ${firstOf('shown').tool}
                         ELSE (place_tools(jsonb_build_array(further)))[1] END AS tool,
           CASE WHEN further IS NULL THEN match_digest
                ELSE (place_digests(jsonb_build_array(further)))[1] END AS digest
      FROM shown
  ), e AS (
    SELECT workspace_id, rule_id, digest AS match_digest,
           CASE WHEN digest IS NOT NULL THEN coalesce(tool, '') END AS tool_name,
           coalesce(agent_name, '') AS agent_name, coalesce(service_name, '') AS service_name
      FROM own
  )`;

const bitOf = (part: ExceptionPart): number => 1 << EXCEPTION_PARTS.indexOf(part);
const partsWhere = (condition: (part: ExceptionPart) => string): string =>
  `(${EXCEPTION_PARTS.map(
    (part) => `CASE WHEN ${condition(part)} THEN ${bitOf(part)} ELSE 0 END`,
  ).join(' | ')})`;
const OFFERED_PARTS = partsWhere((part) => `e.${COLUMN_OF[part]} IS NOT NULL`);
/** Parts with a value: "no tool" alone would cover nearly everything. */
const NAMING_PARTS = partsWhere((part) =>
  part === 'text' ? 'e.match_digest IS NOT NULL' : `e.${COLUMN_OF[part]} <> ''`,
);
/** SQL that is true when an exception can have a set of parts. */
export const isChoice = (parts: string): string =>
  `(${parts} & ~${OFFERED_PARTS} = 0 AND ${parts} & ${NAMING_PARTS} <> 0)`;
export const setOf = (parts: readonly ExceptionPart[]): number =>
  parts.reduce((set, part) => set | bitOf(part), 0);

const shared = (match: Match): string => partsWhere((part) => HAS[part]('e', match));
/** Every match of `f` with the parts that it shares with `e`, and whether an active exception covers it. */
const SHARED_BY_MATCH = `(
  SELECT jsonb_agg(jsonb_build_array(of_one.parts, of_one.is_covered)) FROM (
    SELECT ${shared(firstOf('f'))} AS parts, ${isCovered('f', firstOf('f'))} AS is_covered
    UNION ALL
    SELECT ${shared(furtherOf('f', 'further'))}, ${isCovered('f', furtherOf('f', 'further'))}
      FROM ${matchesOf('f', 'further')}) AS of_one)`;
const isPartOf = (match: string): string => `(${match}->>0)::int & choice.parts = choice.parts`;

/** Counts what every choice would hide; the matches of a finding are compared once, not for each choice. */
const CHOICES = `
  ${NARROWEST}, read AS MATERIALIZED (
    SELECT f.created_at, coalesce(f.agent_name, '') <> e.agent_name AS is_other,
           ${shared(firstOf('f'))} AS parts,
           CASE WHEN f.more_digests IS NOT NULL THEN ${SHARED_BY_MATCH} END AS matches
      FROM e CROSS JOIN LATERAL ${newestOf('e')} AS f
  )
  SELECT ${COVERAGE}, choice.parts, counted.*
    FROM e LEFT JOIN generate_series(1, ${setOf(EXCEPTION_PARTS)}) AS choice (parts)
         ON ${isChoice('choice.parts')}
   CROSS JOIN LATERAL (
     SELECT count(*) FILTER (WHERE is_hidden)::int AS count,
            max(created_at) FILTER (WHERE is_hidden) AS last, ${IS_CUT},
            count(*) FILTER (WHERE is_hidden AND is_other)::int AS "ofOtherAgents"
       FROM (SELECT created_at, is_other, CASE WHEN matches IS NULL THEN parts & choice.parts = choice.parts
               ELSE EXISTS (SELECT FROM jsonb_array_elements(matches) AS one WHERE ${isPartOf('one')})
                AND NOT EXISTS (SELECT FROM jsonb_array_elements(matches) AS one
                                 WHERE NOT (${isPartOf('one')} OR (one->>1)::boolean))
               END AS is_hidden FROM read) AS of_choice) AS counted
   ORDER BY bit_count(choice.parts::bit(4)) DESC, choice.parts`;

/**
 * Returns the exceptions that can be made from a finding, and the number of findings that each would
 * hide.
 *
 * @throws {SluiceError} `not_found` when the workspace has no such finding
 */
export async function exceptionOffer(
  database: Queryable,
  workspaceId: number,
  findingId: Hex16,
): Promise<ExceptionOffer> {
  type Row = ExceptionCoverage &
    Hidden & { readonly parts: number | null; readonly ofOtherAgents: number };
  const { rows } = await database.query<Row>(CHOICES, [workspaceId, findingId]);
  const [first] = rows;
  if (first === undefined) {
    throw new SluiceError('not_found', 'This workspace has no such finding.');
  }
  const { text, tool, agent, service } = first;
  const choices = rows.flatMap(({ parts, count, last, isCut, ofOtherAgents }) => {
    if (parts === null) return [];
    const chosen = EXCEPTION_PARTS.filter((part) => (parts & bitOf(part)) !== 0);
    return [{ parts: chosen, hidden: { count, last, isCut }, ofOtherAgents }];
  });
  return { coverage: { text, tool, agent, service }, choices };
}
