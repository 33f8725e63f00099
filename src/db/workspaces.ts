/** Workspaces: the tenants every other row belongs to. */
import { OperatorError } from '../errors.ts';
import type { Queryable } from './database.ts';

export interface Workspace {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly plan: string;
  readonly createdAt: Date;
}

const COLUMNS = 'id, slug, name, plan, created_at AS "createdAt"';
const SLUG = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** All workspaces, oldest first. */
export async function listWorkspaces(database: Queryable): Promise<Workspace[]> {
  const { rows } = await database.query<Workspace>(`SELECT ${COLUMNS} FROM workspaces ORDER BY id`);
  return rows;
}

/**
 * Makes a workspace.
 *
 * @param slug 1 to 63 lower-case letters, digits and hyphens
 * @throws {OperatorError} when the slug is taken or malformed
 */
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
  if (workspace === undefined) throw new OperatorError(`There is a workspace "${slug}" already.`);
  return workspace;
}

/**
 * The workspace a command means.
 *
 * @param slug null for the only one there is
 * @throws {OperatorError} when there is none, or several and none is named
 */
export async function findWorkspace(database: Queryable, slug: string | null): Promise<Workspace> {
  const all = await listWorkspaces(database);
  const known = all.map((one) => one.slug).join(', ');
  if (slug !== null) {
    const found = all.find((one) => one.slug === slug);
    if (found === undefined) {
      throw new OperatorError(`There is no workspace "${slug}". There are: ${known || 'none yet'}`);
    }
    return found;
  }
  const [only] = all;
  if (only === undefined) {
    throw new OperatorError('There is no workspace yet: sluice workspace create SLUG');
  }
  if (all.length > 1) throw new OperatorError(`Name one with --workspace: ${known}`);
  return only;
}
