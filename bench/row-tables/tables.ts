/**
 * Tables with one row for each span, log record and data point: the layout that blocks replaced, and that
 * they are measured against. Sluice never reads or writes them. They are in a schema of the benchmark's own
 * database, with the columns, indexes and storage that Sluice's tables had.
 */
import type pg from 'pg';

import type { Signal } from '../../src/model/telemetry.ts';

export type ColumnType =
  | 'bigint'
  | 'integer'
  | 'smallint'
  | 'double precision'
  | 'date'
  | 'uuid'
  | 'bytea'
  | 'text'
  | 'json';

export interface RowTable {
  readonly name: string;
  /** in the order of COPY; the table also has `arrived_at` */
  readonly columns: Readonly<Record<string, ColumnType>>;
}

const SCHEMA = 'bench_rows';

export const ROW_TABLES: Readonly<Record<Signal, RowTable>> = {
  traces: {
    name: `${SCHEMA}.spans`,
    columns: {
      start_unix_nano: 'bigint',
      end_unix_nano: 'bigint',
      workspace_id: 'integer',
      arrived_on: 'date',
      trace_id: 'uuid',
      run_id: 'uuid',
      resource_id: 'uuid',
      kind: 'smallint',
      status_code: 'smallint',
      flags: 'bigint',
      dropped_attributes: 'bigint',
      dropped_events: 'bigint',
      dropped_links: 'bigint',
      span_id: 'bytea',
      parent_span_id: 'bytea',
      name: 'text',
      status_message: 'text',
      trace_state: 'text',
      attributes: 'json',
      events: 'json',
      links: 'json',
    },
  },
  logs: {
    name: `${SCHEMA}.log_records`,
    columns: {
      time_unix_nano: 'bigint',
      observed_unix_nano: 'bigint',
      workspace_id: 'integer',
      arrived_on: 'date',
      trace_id: 'uuid',
      run_id: 'uuid',
      resource_id: 'uuid',
      severity_number: 'smallint',
      flags: 'bigint',
      dropped_attributes: 'bigint',
      span_id: 'bytea',
      severity_text: 'text',
      event_name: 'text',
      body: 'json',
      attributes: 'json',
    },
  },
  metrics: {
    name: `${SCHEMA}.points`,
    columns: {
      time_unix_nano: 'bigint',
      start_unix_nano: 'bigint',
      workspace_id: 'integer',
      arrived_on: 'date',
      metric_id: 'uuid',
      resource_id: 'uuid',
      flags: 'bigint',
      value_int: 'bigint',
      value_double: 'double precision',
      count: 'bigint',
      sum: 'double precision',
      min: 'double precision',
      max: 'double precision',
      attributes: 'json',
      distribution: 'json',
      exemplars: 'json',
    },
  },
};

/** A copy of Sluice's table of runs, with its indexes. */
export const ROW_RUNS = `${SCHEMA}.runs`;

const CREATE = `
  CREATE SCHEMA ${SCHEMA};
  CREATE TABLE ${SCHEMA}.spans (
    start_unix_nano    bigint NOT NULL,
    end_unix_nano      bigint NOT NULL,
    arrived_at         timestamptz NOT NULL DEFAULT now(),
    workspace_id       integer NOT NULL,
    arrived_on         date NOT NULL,
    trace_id           uuid NOT NULL,
    run_id             uuid,
    resource_id        uuid NOT NULL,
    kind               smallint NOT NULL,
    status_code        smallint NOT NULL,
    flags              bigint,
    dropped_attributes bigint,
    dropped_events     bigint,
    dropped_links      bigint,
    span_id            bytea NOT NULL,
    parent_span_id     bytea,
    name               text NOT NULL,
    status_message     text,
    trace_state        text,
    attributes         json STORAGE EXTERNAL NOT NULL,
    events             json STORAGE EXTERNAL,
    links              json STORAGE EXTERNAL
  ) PARTITION BY RANGE (arrived_on);
  CREATE INDEX ON ${SCHEMA}.spans (workspace_id, trace_id);
  CREATE INDEX ON ${SCHEMA}.spans (workspace_id, run_id) WHERE run_id IS NOT NULL;
  CREATE TABLE ${SCHEMA}.log_records (
    time_unix_nano     bigint NOT NULL,
    observed_unix_nano bigint NOT NULL,
    arrived_at         timestamptz NOT NULL DEFAULT now(),
    workspace_id       integer NOT NULL,
    arrived_on         date NOT NULL,
    trace_id           uuid,
    run_id             uuid,
    resource_id        uuid NOT NULL,
    severity_number    smallint NOT NULL,
    flags              bigint,
    dropped_attributes bigint,
    span_id            bytea,
    severity_text      text,
    event_name         text,
    body               json STORAGE EXTERNAL,
    attributes         json STORAGE EXTERNAL NOT NULL
  ) PARTITION BY RANGE (arrived_on);
  CREATE INDEX ON ${SCHEMA}.log_records (workspace_id, trace_id) WHERE trace_id IS NOT NULL;
  CREATE INDEX ON ${SCHEMA}.log_records (workspace_id, run_id) WHERE run_id IS NOT NULL;
  CREATE TABLE ${SCHEMA}.points (
    time_unix_nano  bigint NOT NULL,
    start_unix_nano bigint,
    workspace_id    integer NOT NULL,
    arrived_on      date NOT NULL,
    metric_id       uuid NOT NULL,
    resource_id     uuid NOT NULL,
    flags           bigint,
    value_int       bigint,
    value_double    double precision,
    count           bigint,
    sum             double precision,
    min             double precision,
    max             double precision,
    attributes      json STORAGE EXTERNAL NOT NULL,
    distribution    json STORAGE EXTERNAL,
    exemplars       json STORAGE EXTERNAL
  ) PARTITION BY RANGE (arrived_on);
  CREATE INDEX ON ${SCHEMA}.points (workspace_id, metric_id, time_unix_nano);
  CREATE TABLE ${ROW_RUNS} (LIKE runs INCLUDING ALL)`;

/** One partition takes the rows of every day. */
const partition = ({ name }: RowTable): string => `
  CREATE TABLE ${name}_of_all_days PARTITION OF ${name}
    FOR VALUES FROM ('2000-01-01') TO ('2100-01-01')
    WITH (toast_tuple_target = 4080, autovacuum_vacuum_insert_threshold = -1)`;

/** Creates the tables. @param client of the database's owner */
export async function createRowTables(client: pg.Client): Promise<void> {
  await client.query(CREATE);
  for (const table of Object.values(ROW_TABLES)) await client.query(partition(table));
}

export async function emptyRowTables(client: pg.Client): Promise<void> {
  const names = Object.values(ROW_TABLES).map(({ name }) => name);
  await client.query(`TRUNCATE ${[...names, ROW_RUNS].join(', ')}`);
}

/** Columns whose values depend on the time of the measurement. */
const NOT_COMPARED = ['arrived_on', 'arrived_at'];

/** The number of rows of a table, and a sum over their texts in any order. */
export async function rowContents(
  client: pg.Client,
  { name, columns }: RowTable,
): Promise<{ rows: number; sum: string }> {
  const compared = Object.keys(columns).filter((column) => !NOT_COMPARED.includes(column));
  const { rows } = await client.query<{ rows: number; sum: string }>(
    `SELECT count(*)::int AS rows,
            coalesce(sum(hashtextextended(ROW(${compared.join(', ')})::text, 0)), 0)::text AS sum
       FROM ${name}`,
  );
  return rows[0] ?? { rows: 0, sum: '' };
}
