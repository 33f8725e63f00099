/**
 * Saved views of the findings list. A member's own are seen by nobody else and are in no ledger; those that a
 * workspace shares are, with each change.
 */
import { SluiceError } from '../../errors.ts';
import { FINDING_VIEWS_MAX, type FindingView, type NewFindingView } from '../../model/findings.ts';
import type { Actor, Role } from '../../model/people.ts';
import type { Connection, Database, Queryable } from '../database.ts';
import { recordedByMember } from '../people/authority.ts';

/** Of views that a workspace shares: admins, and the member who made it. */
const mayEdit = (role: string, user: string): string =>
  `coalesce(v.user_id = ${user}, v.created_by = ${user} OR ${role} <> 'member')`;

export async function listFindingViews(
  database: Queryable,
  workspaceId: number,
  userId: number,
): Promise<FindingView[]> {
  const { rows } = await database.query<FindingView>(
    `SELECT v.id, v.name, v.query, v.user_id IS NULL AS "isShared",
            v.id IS NOT DISTINCT FROM m.finding_view_id AS "isDefault",
            ${mayEdit('m.role', '$2')} AS "isEditable"
       FROM finding_views v
       JOIN memberships m ON m.workspace_id = v.workspace_id AND m.user_id = $2
      WHERE v.workspace_id = $1 AND (v.user_id IS NULL OR v.user_id = $2)
      ORDER BY v.user_id IS NULL, lower(v.name)`,
    [workspaceId, userId],
  );
  return rows;
}

async function setDefault(
  connection: Connection,
  workspaceId: number,
  userId: number | null,
  viewId: number | null,
): Promise<void> {
  await connection.query(
    'UPDATE memberships SET finding_view_id = $3 WHERE workspace_id = $1 AND user_id = $2',
    [workspaceId, userId, viewId],
  );
}

/** Ends a view's use as the default. If the member chose another view meanwhile, that one stays. */
async function endDefault(
  connection: Connection,
  workspaceId: number,
  userId: number | null,
  viewId: number,
): Promise<void> {
  await connection.query(
    `UPDATE memberships SET finding_view_id = NULL
      WHERE workspace_id = $1 AND user_id = $2 AND finding_view_id = $3`,
    [workspaceId, userId, viewId],
  );
}

async function requireRoom(connection: Connection, workspaceId: number, ownerId: number | null) {
  const { rows } = await connection.query<{ views: number }>(
    `SELECT count(*)::int AS views FROM finding_views
      WHERE workspace_id = $1 AND user_id IS NOT DISTINCT FROM $2`,
    [workspaceId, ownerId],
  );
  if ((rows[0]?.views ?? 0) < FINDING_VIEWS_MAX) return;
  const whose = ownerId === null ? 'A workspace can share' : 'A member can have';
  throw new SluiceError('conflict', `${whose} ${FINDING_VIEWS_MAX} saved views. Delete one first.`);
}

interface Stored {
  readonly id: number;
  readonly name: string;
  readonly query: string;
  readonly isShared: boolean;
}

const COLUMNS = 'v.id, v.name, v.query, v.user_id IS NULL AS "isShared"';

/** Saves a view. One of the same name, of the same owner, gets the new query. */
export async function saveFindingView(
  database: Database,
  workspaceId: number,
  { name, query, isShared, isDefault }: NewFindingView,
  actor: Actor,
): Promise<void> {
  const ownerId = isShared ? null : actor.userId;
  await recordedByMember(database, workspaceId, actor, async (connection, record, role) => {
    const { rows: same } = await connection.query<Stored & { isEditable: boolean }>(
      `SELECT ${COLUMNS}, ${mayEdit('$4', '$5::int')} AS "isEditable" FROM finding_views v
        WHERE v.workspace_id = $1 AND v.user_id IS NOT DISTINCT FROM $2 AND lower(v.name) = lower($3)`,
      [workspaceId, ownerId, name, role, actor.userId],
    );
    const [before] = same;
    if (before?.isEditable === false) {
      throw new SluiceError(
        'conflict',
        'Somebody else shares a view of this name: choose another.',
      );
    }
    if (before === undefined) await requireRoom(connection, workspaceId, ownerId);
    const { rows } = await connection.query<Pick<Stored, 'id'>>(
      before === undefined
        ? `INSERT INTO finding_views (workspace_id, user_id, name, query, created_by)
           VALUES ($1, $2, $3, $4, $5) RETURNING id`
        : `UPDATE finding_views SET name = $3, query = $4
            WHERE workspace_id = $1 AND user_id IS NOT DISTINCT FROM $2 AND lower(name) = lower($3)
              AND $5::int IS NOT NULL RETURNING id`,
      [workspaceId, ownerId, name, query, actor.userId],
    );
    const id = rows[0]?.id ?? null;
    if (isDefault) await setDefault(connection, workspaceId, actor.userId, id);
    if (!isShared || before?.query === query) return;
    const was = before === undefined ? {} : { before: { query: before.query } };
    await record({ action: 'finding_view.saved', subject: name, ...was, after: { query } });
  });
}

async function requireView(
  connection: Connection,
  workspaceId: number,
  id: number,
  { userId }: Actor,
  role: Role,
): Promise<Stored & { readonly isEditable: boolean }> {
  const { rows } = await connection.query<Stored & { isEditable: boolean }>(
    `SELECT ${COLUMNS}, ${mayEdit('$4', '$3::int')} AS "isEditable" FROM finding_views v
      WHERE v.workspace_id = $1 AND v.id = $2 AND (v.user_id IS NULL OR v.user_id = $3)`,
    [workspaceId, id, userId, role],
  );
  const [view] = rows;
  if (view !== undefined) return view;
  throw new SluiceError('not_found', 'This workspace has no such view.');
}

/** Deletes a view: one's own, or a shared one that one made or, as an admin or owner, any. */
export async function deleteFindingView(
  database: Database,
  workspaceId: number,
  id: number,
  actor: Actor,
): Promise<void> {
  await recordedByMember(database, workspaceId, actor, async (connection, record, role) => {
    const view = await requireView(connection, workspaceId, id, actor, role);
    if (!view.isEditable) {
      const who = 'This requires the role owner or admin, or to have made the view.';
      throw new SluiceError('role_required', who);
    }
    await connection.query('DELETE FROM finding_views WHERE workspace_id = $1 AND id = $2', [
      workspaceId,
      id,
    ]);
    if (!view.isShared) return;
    const { name, query } = view;
    await record({ action: 'finding_view.deleted', subject: name, before: { query } });
  });
}

/** Sets a view as the actor's default, with which the findings list begins, or removes it as the default. */
export async function setDefaultFindingView(
  database: Database,
  workspaceId: number,
  id: number,
  isDefault: boolean,
  actor: Actor,
): Promise<void> {
  await recordedByMember(database, workspaceId, actor, async (connection, _record, role) => {
    await requireView(connection, workspaceId, id, actor, role);
    if (isDefault) await setDefault(connection, workspaceId, actor.userId, id);
    else await endDefault(connection, workspaceId, actor.userId, id);
  });
}
