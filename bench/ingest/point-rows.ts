/**
 * Data points as the rows that one would store without blocks: one row each, with the ids of its metric and
 * resource, and an index by metric and time. What raw COPY copies for metrics, and what the blocks are
 * compared with.
 */
import { createHash } from 'node:crypto';
import type pg from 'pg';

import { type StoredPoint, storedPoints } from '../../test/support/stored-blocks.ts';

export const POINT_ROWS = 'bench_points';

/** With the columns and the index that the product had before blocks. */
const CREATE = `
  DROP TABLE IF EXISTS ${POINT_ROWS};
  CREATE TABLE ${POINT_ROWS} (
    time_unix_nano bigint NOT NULL, start_unix_nano bigint, workspace_id integer NOT NULL,
    arrived_on date NOT NULL, metric_id uuid NOT NULL, resource_id uuid NOT NULL, flags bigint,
    value_int bigint, value_double double precision, count bigint, sum double precision,
    min double precision, max double precision, attributes json NOT NULL, distribution json,
    exemplars json
  );
  CREATE INDEX ON ${POINT_ROWS} (workspace_id, metric_id, time_unix_nano)`;

const INSERT = `
  INSERT INTO ${POINT_ROWS}
  SELECT * FROM json_populate_recordset(NULL::${POINT_ROWS}, $1::json)`;
const ROWS_PER_INSERT = 2000;

/** An id made of a content, as a uuid. */
const idOf = (content: unknown): string =>
  createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 32);

type Attribute = { readonly key: string; readonly value: Readonly<Record<string, unknown>> };

function rowOf({ workspaceId, service, scope, metric, kind, data, point }: StoredPoint): object {
  const attributes = (point.attributes ?? []) as unknown as readonly Attribute[];
  const { bucketCounts, explicitBounds } = point;
  return {
    time_unix_nano: point.timeUnixNano,
    start_unix_nano: point.startTimeUnixNano ?? null,
    workspace_id: workspaceId,
    arrived_on: '2026-01-01',
    metric_id: idOf([metric, kind, data]),
    resource_id: idOf([service, scope]),
    flags: null,
    value_int: point.asInt ?? null,
    value_double: point.asDouble ?? null,
    count: point.count ?? null,
    sum: point.sum ?? null,
    min: point.min ?? null,
    max: point.max ?? null,
    attributes: Object.fromEntries(
      attributes.map(({ key, value }) => [key, Object.values(value)[0] ?? null]),
    ),
    distribution: bucketCounts === undefined ? null : { bucketCounts, explicitBounds },
    exemplars: point.exemplars ?? null,
  };
}

/** Fills the table with the points that are stored in blocks. */
export async function fillPointRows(client: pg.Client): Promise<void> {
  await client.query(CREATE);
  const rows = (await storedPoints(client)).map(rowOf);
  for (let at = 0; at < rows.length; at += ROWS_PER_INSERT) {
    await client.query(INSERT, [JSON.stringify(rows.slice(at, at + ROWS_PER_INSERT))]);
  }
}

/** How many points the blocks hold, and a sum over their texts in any order. */
export async function pointContents(client: pg.Client): Promise<{ rows: number; sum: string }> {
  const points = await storedPoints(client);
  let sum = 0n;
  for (const point of points) sum += BigInt(`0x${idOf(point).slice(0, 15)}`);
  return { rows: points.length, sum: String(sum) };
}

/** The number of rows of a table, and a sum over their texts in any order. */
export async function rowContents(
  client: pg.Client,
  table: string,
): Promise<{ rows: number; sum: string }> {
  const { rows } = await client.query<{ rows: number; sum: string }>(
    `SELECT count(*)::int AS rows,
            coalesce(sum(hashtextextended(t::text, 0)), 0)::text AS sum FROM ${table} AS t`,
  );
  return rows[0] ?? { rows: 0, sum: '' };
}
