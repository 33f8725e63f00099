/**
 * Brings the schema up to date: the numbered SQL files of `migrations/`, each once, in order, all
 * in one transaction. Files are never changed after they have shipped; their digests are kept and
 * compared.
 *
 * Several processes may start at once: an advisory lock lets one migrate, and the others wait and
 * find nothing to do. (The migration libraries that were compared fail instead of waiting.)
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { OperatorError } from '../errors.ts';
import { type Connection, type Database, inTransaction, limitedStatement } from './database.ts';
import { lookUp, useOneConnectionPerNode } from './placement.ts';

/** Advisory lock; "sluice" in ASCII. */
const LOCK_KEY = '0x736c75696365';
/** One process at a time changes the schema. */
export const SCHEMA_LOCK = `SELECT pg_advisory_xact_lock(${BigInt(LOCK_KEY)})`;
/** Includes waiting for another process that migrates; a large table may be rewritten. */
const MIGRATION_TIMEOUT_MS = 3_600_000;
const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/;
const FOLDER = fileURLToPath(new URL('../db/migrations/', import.meta.url));

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

export function loadMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .sort()
    .map((name) => {
      const version = Number(FILE_NAME.exec(name)?.[1]);
      if (!Number.isInteger(version)) throw new Error(`migrations/${name} has no number`);
      const sql = readFileSync(`${FOLDER}${name}`, 'utf8');
      return { version, name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
    });
}

async function appliedMigrations(connection: Connection): Promise<Map<number, string>> {
  await connection.query(`
    CREATE TABLE IF NOT EXISTS schema_migrations (
      version    integer PRIMARY KEY,
      name       text NOT NULL,
      sha256     text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`);
  const { rows } = await connection.query<{ version: number; sha256: string }>(
    'SELECT version, sha256 FROM schema_migrations',
  );
  return new Map(rows.map(({ version, sha256 }) => [version, sha256]));
}

/** The reason why this version cannot use a database, and the remedy, as sentences for operators. */
export interface HistoryFault {
  readonly found: string;
  readonly remedy: string;
}

/** Compares the applied migrations with the known ones; null when the missing ones can be applied. */
export function historyFault(
  applied: ReadonlyMap<number, string>,
  known: readonly Migration[] = loadMigrations(),
): HistoryFault | null {
  const [first] = known;
  if (applied.size > 0 && first !== undefined && applied.get(first.version) !== first.sha256) {
    return {
      found: 'The database was created by a development version before 0.1.0.',
      remedy:
        'Create a new one: name an empty database in DATABASE_URL or, for the embedded one, ' +
        'another folder in DATA_DIR.',
    };
  }
  for (const [version, sha256] of applied) {
    const migration = known.find((one) => one.version === version);
    if (migration === undefined) {
      return {
        found: `The database has migration ${version}, which this version does not know.`,
        remedy: 'Use the newer version of Sluice that wrote it.',
      };
    }
    if (migration.sha256 !== sha256) {
      return {
        found: `migrations/${migration.name} was changed after it had been applied.`,
        remedy: 'Restore the file.',
      };
    }
  }
  return null;
}

/** Applies what is missing. @throws {OperatorError} when the database has another history; it is unchanged */
export async function migrate(
  database: Database,
  known: readonly Migration[] = loadMigrations(),
): Promise<string[]> {
  const slow = (sql: string) => limitedStatement(sql, MIGRATION_TIMEOUT_MS);
  const work = async (connection: Connection): Promise<string[]> => {
    await connection.query(`SET LOCAL statement_timeout = ${MIGRATION_TIMEOUT_MS}`);
    await connection.query(slow(SCHEMA_LOCK));
    if ((await lookUp(connection)) === 'distributed') await useOneConnectionPerNode(connection);
    const applied = await appliedMigrations(connection);
    const fault = historyFault(applied, known);
    if (fault !== null) throw new OperatorError(`${fault.found} ${fault.remedy}`);
    const missing = known.filter(({ version }) => !applied.has(version));
    for (const { version, name, sql, sha256 } of missing) {
      await connection.query(slow(sql));
      await connection.query(
        'INSERT INTO schema_migrations (version, name, sha256) VALUES ($1, $2, $3)',
        [version, name, sha256],
      );
    }
    return missing.map(({ name }) => name);
  };
  return await inTransaction(database, work, MIGRATION_TIMEOUT_MS);
}

/**
 * The `migrations` probe: resolves while the database has every migration this program knows. It may
 * have more, of a newer program during a rolling upgrade.
 */
export function createMigrationsProbe(database: Database): () => Promise<void> {
  const versions = loadMigrations().map(({ version }) => version);
  return async () => {
    const { rows } = await database.query<{ version: number }>(
      'SELECT version FROM schema_migrations WHERE version = ANY ($1::int[])',
      [versions],
    );
    if (rows.length === versions.length) return;
    throw new Error(`${rows.length} of ${versions.length} migrations are applied`);
  };
}
