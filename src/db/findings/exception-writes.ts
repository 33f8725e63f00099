/** Creates and ends exceptions, each with its ledger entry. Evaluation is not affected. */
import { SluiceError } from '../../errors.ts';
import type { ExceptionCoverage, FindingException, NewException } from '../../model/exceptions.ts';
import type { Hex16 } from '../../model/json.ts';
import type { Actor } from '../../model/people.ts';
import type { Connection, Database } from '../database.ts';
import { recordedByAdmin } from '../people/authority.ts';
import { COVERAGE, isActive, isChoice, NARROWEST, setOf } from './exceptions.ts';

const EXCEPTIONS_MAX = 100;
/** Ended and expired exceptions that are kept to be shown; the audit log keeps them all. */
const ENDED_KEPT = 100;

type Made = ExceptionCoverage & Pick<FindingException, 'id' | 'ruleId' | 'expiresAt'>;
const MADE = `e.id, e.rule_id AS "ruleId", ${COVERAGE}, e.expires_at AS "expiresAt"`;

const facts = ({ id, text, tool, agent, service, expiresAt }: Made) => ({
  id,
  text,
  tool,
  agent,
  service,
  expires_at: expiresAt.toISOString(),
});

async function makeRoom(connection: Connection, workspaceId: number): Promise<void> {
  const { rows } = await connection.query<{ active: number }>(
    `SELECT count(*)::int AS active FROM finding_exceptions e
      WHERE workspace_id = $1 AND ${isActive('e')}`,
    [workspaceId],
  );
  if ((rows[0]?.active ?? 0) >= EXCEPTIONS_MAX) {
    throw new SluiceError(
      'conflict',
      `A workspace can have ${EXCEPTIONS_MAX} active exceptions. End one first.`,
    );
  }
  await connection.query(
    `DELETE FROM finding_exceptions WHERE workspace_id = $1 AND id IN (
       SELECT id FROM finding_exceptions e WHERE workspace_id = $1 AND NOT ${isActive('e')}
        ORDER BY id DESC OFFSET ${ENDED_KEPT})`,
    [workspaceId],
  );
}

async function refuseRepeated(
  connection: Connection,
  workspaceId: number,
  { id, ruleId }: Made,
): Promise<void> {
  const { rowCount } = await connection.query(
    `SELECT FROM finding_exceptions own JOIN finding_exceptions e
         ON e.workspace_id = own.workspace_id AND e.rule_id = own.rule_id AND e.id <> own.id
        AND e.match_digest IS NOT DISTINCT FROM own.match_digest
        AND e.agent_name IS NOT DISTINCT FROM own.agent_name
        AND e.service_name IS NOT DISTINCT FROM own.service_name
        AND e.tool_name IS NOT DISTINCT FROM own.tool_name AND ${isActive('e')}
      WHERE own.workspace_id = $1 AND own.id = $2`,
    [workspaceId, id],
  );
  if (rowCount === 0) return;
  throw new SluiceError('conflict', `There is the same exception of ${ruleId} already.`);
}

/** Makes an exception from the match that a finding shows, for all chosen parts together. */
export async function createException(
  database: Database,
  workspaceId: number,
  findingId: Hex16,
  { parts, reason, days }: NewException,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    await makeRoom(connection, workspaceId);
    const { rows } = await connection.query<Made>(
      `${NARROWEST}
       INSERT INTO finding_exceptions AS e
         (workspace_id, rule_id, match_digest, tool_name, agent_name, service_name,
          reason, created_by, expires_at)
       SELECT workspace_id, rule_id, CASE WHEN 'text' = ANY ($3::text[]) THEN match_digest END,
              CASE WHEN 'tool' = ANY ($3) THEN tool_name END,
              CASE WHEN 'agent' = ANY ($3) THEN agent_name END,
              CASE WHEN 'service' = ANY ($3) THEN service_name END,
              $5, $6, now() + make_interval(days => $7)
         FROM e WHERE ${isChoice('$4::int')}
       RETURNING ${MADE}`,
      [workspaceId, findingId, parts, setOf(parts), reason, actor.name, days],
    );
    const [made] = rows;
    if (made === undefined) {
      throw new SluiceError(
        'not_found',
        'This workspace has no finding with that id, text and names.',
      );
    }
    await refuseRepeated(connection, workspaceId, made);
    const after = { ...facts(made), reason };
    await record({ action: 'exception.created', subject: made.ruleId, after });
  });
}

/** Ends an active exception: what it hid is shown again. */
export async function endException(
  database: Database,
  workspaceId: number,
  id: number,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const { rows } = await connection.query<Made>(
      `UPDATE finding_exceptions e SET ended_at = now(), ended_by = $3
        WHERE workspace_id = $1 AND id = $2 AND ${isActive('e')}
       RETURNING ${MADE}`,
      [workspaceId, id, actor.name],
    );
    const [ended] = rows;
    if (ended === undefined) {
      throw new SluiceError('not_found', 'This workspace has no such active exception.');
    }
    await record({ action: 'exception.ended', subject: ended.ruleId, before: facts(ended) });
  });
}
