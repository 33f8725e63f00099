/** Workspaces, the tenants that all rows belong to, and the removal of their excerpts. */
import { OperatorError } from '../../errors.ts';
import type { Queryable } from '../database.ts';
import { hasTextInPlaces, placesWithoutText } from '../findings/finding-places.ts';
import { fromMicros, toMicros } from '../sql-times.ts';

export interface Workspace {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly plan: string;
  /** no excerpt of its findings is stored */
  readonly redactExcerpts: boolean;
  readonly createdAt: Date;
}

const COLUMNS =
  'id, slug, name, plan, redact_excerpts AS "redactExcerpts", created_at AS "createdAt"';
/** Findings that one statement of a removal reads: about 60 ms of work (two slow cores). */
const REMOVAL_ROWS = 2000;
const SLUG = /^[a-z0-9][a-z0-9-]{0,62}$/;

export async function listWorkspaces(database: Queryable): Promise<Workspace[]> {
  const { rows } = await database.query<Workspace>(`SELECT ${COLUMNS} FROM workspaces ORDER BY id`);
  return rows;
}

export async function firstWorkspace(database: Queryable): Promise<Workspace | null> {
  const { rows } = await database.query<Workspace>(
    `SELECT ${COLUMNS} FROM workspaces ORDER BY id LIMIT 1`,
  );
  return rows[0] ?? null;
}

export async function findWorkspaceById(
  database: Queryable,
  id: number,
): Promise<Workspace | null> {
  const { rows } = await database.query<Workspace>(
    `SELECT ${COLUMNS} FROM workspaces WHERE id = $1`,
    [id],
  );
  return rows[0] ?? null;
}

/** Checks whether matched and sent text of a workspace is hidden from its readers. */
export async function redactsExcerpts(database: Queryable, id: number): Promise<boolean> {
  return (await findWorkspaceById(database, id))?.redactExcerpts !== false;
}

/** @throws {OperatorError} when the slug is taken or malformed */
export async function createWorkspace(
  database: Queryable,
  slug: string,
  name: string,
): Promise<Workspace> {
  if (!SLUG.test(slug)) {
    throw new OperatorError(
      `"${slug}" cannot be a workspace's slug: use 1 to 63 lower-case letters, digits and hyphens`,
    );
  }
  const { rows } = await database.query<Workspace>(
    `INSERT INTO workspaces (slug, name) VALUES ($1, $2)
     ON CONFLICT (slug) DO NOTHING RETURNING ${COLUMNS}`,
    [slug, name],
  );
  const [workspace] = rows;
  if (workspace === undefined) throw new OperatorError(`A workspace "${slug}" exists already.`);
  return workspace;
}

/** The workspace that a command names, or the only one there is. @throws {OperatorError} */
export async function findWorkspace(database: Queryable, slug: string | null): Promise<Workspace> {
  const all = await listWorkspaces(database);
  const known = all.map((one) => one.slug).join(', ');
  if (slug !== null) {
    const found = all.find((one) => one.slug === slug);
    if (found === undefined) {
      throw new OperatorError(
        `There is no workspace "${slug}". Existing workspaces: ${known || 'none'}`,
      );
    }
    return found;
  }
  const [only] = all;
  if (only === undefined) {
    throw new OperatorError('There is no workspace yet: sluice workspace create SLUG');
  }
  if (all.length > 1)
    throw new OperatorError(`There are several workspaces; choose one with --workspace: ${known}`);
  return only;
}

interface Removal {
  /** false when the workspace no longer redacts: then nothing was removed */
  readonly redacting: boolean;
  readonly removed: number;
  /** the oldest finding read, in microseconds since 1970 and by id; null when none was left */
  readonly atMicros: string | null;
  readonly id: string | null;
}

const BEFORE = `(coalesce(${fromMicros('$2')}, 'infinity'),
                 coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))`;
/**
 * Removes the excerpts, and the step names that are matched text, of the newest findings older than
 * `$2`, `$3` (null: of all). The workspace's row is locked until the statement ends: redaction cannot be
 * switched off meanwhile, and two removals of a workspace take turns instead of a deadlock. A pass that
 * stores excerpts waits too; one that knows of the redaction sends none, and does not. The rows are chosen
 * by range: a join takes the square of their number when the table's statistics are old.
 */
const REMOVE = `
  WITH redacting AS (
    SELECT id FROM workspaces WHERE id = $1 AND redact_excerpts FOR NO KEY UPDATE
  ), looked AS (
    SELECT id, created_at FROM findings
     WHERE workspace_id = $1
       AND (created_at, id) < ${BEFORE}
     ORDER BY created_at DESC, id DESC LIMIT ${REMOVAL_ROWS}
  ), oldest AS (
    SELECT id, created_at FROM looked ORDER BY created_at, id LIMIT 1
  ), removed AS (
    UPDATE findings AS f
       SET excerpt = NULL, step_name = CASE WHEN f.step_name_matched THEN NULL ELSE f.step_name END,
           tool_name = CASE WHEN f.surface = 'tool_name' THEN NULL ELSE f.tool_name END,
           more_places = ${placesWithoutText('f')}
     WHERE f.workspace_id = $1
       AND (f.created_at, f.id) < ${BEFORE}
       AND (f.created_at, f.id) >= (
         (SELECT created_at FROM oldest), (SELECT id FROM oldest))
       AND (f.excerpt IS NOT NULL OR (f.step_name_matched AND f.step_name IS NOT NULL)
            OR (f.surface = 'tool_name' AND f.tool_name IS NOT NULL)
            OR ${hasTextInPlaces('f')})
       AND EXISTS (SELECT FROM redacting)
     RETURNING f.id
  )
  SELECT EXISTS (SELECT FROM redacting) AS redacting,
         (SELECT count(*)::int FROM removed) AS removed,
         (SELECT ${toMicros('created_at')} FROM oldest) AS "atMicros",
         (SELECT id FROM oldest) AS id`;

/**
 * Removes the matched text that a redacting workspace has stored, the newest first, which people look
 * at. Each statement commits by itself: do not call it in a transaction.
 * @throws {OperatorError} when redaction was switched off meanwhile
 */
export async function removeExcerpts(database: Queryable, workspaceId: number): Promise<number> {
  let removed = 0;
  let after: Pick<Removal, 'atMicros' | 'id'> = { atMicros: null, id: null };
  for (;;) {
    const values = [workspaceId, after.atMicros, after.id];
    const { rows } = await database.query<Removal>(REMOVE, values);
    const [step] = rows;
    if (step?.redacting !== true) {
      throw new OperatorError(
        'Redaction was switched off again before all excerpts were removed; ' +
          `${removed} were removed, the rest is kept.`,
      );
    }
    removed += step.removed;
    if (step.id === null) return removed;
    after = step;
  }
}
