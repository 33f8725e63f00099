/** Bytes that PostgreSQL writes for rows: to the WAL, and in the files of tables and indexes. */
import type pg from 'pg';

export async function walBytes(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS bytes",
  );
  return rows[0]?.bytes ?? Number.NaN;
}

export async function sizeOf(
  client: pg.Client,
  table: string,
): Promise<{ rows: number; indexes: number }> {
  const { rows } = await client.query<{ rows: number; indexes: number }>(
    `SELECT coalesce(sum(pg_table_size(relid)), 0)::float8 AS rows,
            coalesce(sum(pg_indexes_size(relid)), 0)::float8 AS indexes
       FROM (SELECT relid FROM pg_partition_tree($1::regclass)
             UNION SELECT $1::regclass) AS all_of`,
    [table],
  );
  return rows[0] ?? { rows: Number.NaN, indexes: Number.NaN };
}

export async function diskBytes(client: pg.Client, tables: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const table of tables) {
    const { rows, indexes } = await sizeOf(client, table);
    bytes += rows + indexes;
  }
  return bytes;
}
