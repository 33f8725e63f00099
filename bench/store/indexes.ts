/**
 * What an index on spans costs ingest and gives reading. The table holds spans of as many other runs
 * before: an index that fits into a few pages costs nothing, whatever its shape.
 */
import { batchesOf, StoreDatabase } from './database.ts';
import type { RowKind } from './prompts.ts';
import { type Answer, answer, type Figures } from './rounds.ts';
import type { StoreServer } from './server.ts';

const BATCH_BYTES = 8 * 1024 * 1024;
/** one span each, the worst for an index: every entry has a page of its own choice */
const OTHER_RUNS = 400_000;
const BASE = 'store_indexes';
const SAMPLES = 40;

const WAYS: readonly (readonly [string, string])[] = [
  ['none', ''],
  ['(workspace_id, trace_id)', 'CREATE INDEX added ON SPANS (workspace_id, trace_id)'],
  ['(trace_id)', 'CREATE INDEX added ON SPANS (trace_id)'],
  ['hash (trace_id)', 'CREATE INDEX added ON SPANS USING hash (trace_id)'],
];

async function makeBase(server: StoreServer): Promise<void> {
  const base = await StoreDatabase.make(server, BASE, [
    'DROP INDEX spans_by_trace',
    `INSERT INTO spans (start_unix_nano, end_unix_nano, workspace_id, arrived_on, trace_id,
       resource_id, kind, status_code, span_id, name, attributes)
     SELECT n, n, 1, (now() AT TIME ZONE 'UTC')::date, gen_random_uuid(), gen_random_uuid(), 1, 0,
       int8send(n), 'chat', '{}' FROM generate_series(1, ${OTHER_RUNS}) AS n`,
    'VACUUM ANALYZE SPANS',
  ]);
  await base.close();
}

/** Milliseconds to find a run's rows by its trace id, the median of some. */
async function lookUp(database: StoreDatabase): Promise<number> {
  const runs = await database.query<{ run: string }>(
    `SELECT run_id AS run FROM runs ORDER BY run_id LIMIT ${SAMPLES}`,
  );
  const taken: number[] = [];
  for (const { run } of runs) {
    const startedAt = performance.now();
    await database.query(
      `SELECT ctid FROM ${database.spans} WHERE workspace_id = 1 AND trace_id = '${run}'`,
    );
    taken.push(performance.now() - startedAt);
  }
  return taken.sort((a, b) => a - b)[SAMPLES >> 1] ?? Number.NaN;
}

async function measure(database: StoreDatabase, ways: string, kind: RowKind): Promise<Figures> {
  await database.query('DELETE FROM runs');
  await database.query('CHECKPOINT');
  const { seconds, walBytes } = await database.store(
    batchesOf(kind.requests, BATCH_BYTES),
    kind.rows,
  );
  if (ways === '') return { 'rows/s': kind.rows / seconds, 'WAL bytes/row': walBytes / kind.rows };
  const size = await database.number(`SELECT pg_relation_size('added')`);
  const rows = await database.number(`SELECT count(*) FROM ${database.spans}`);
  return {
    'rows/s': kind.rows / seconds,
    'WAL bytes/row': walBytes / kind.rows,
    'index bytes/row': size / rows,
    'look-up ms': await lookUp(database),
  };
}

/** Ordinary rows by the index of today's spans. */
export async function indexAnswer(
  server: StoreServer,
  kind: RowKind,
  rounds: number,
): Promise<Answer> {
  await makeBase(server);
  const made: { name: string; sql: string; database: StoreDatabase }[] = [];
  for (const [index, [name, sql]] of WAYS.entries()) {
    const database = await StoreDatabase.make(
      server,
      `${BASE}_${index}`,
      sql === '' ? [] : [sql],
      BASE,
    );
    made.push({ name, sql, database });
  }
  const variants = made.map(({ name, sql, database }) => ({
    name,
    measure: () => measure(database, sql, kind),
  }));
  const question = `Ordinary rows by the index of spans, beside ${OTHER_RUNS.toLocaleString('en')} other runs`;
  const result = await answer('indexes', question, rounds, variants);
  for (const { database } of made) await database.close();
  return result;
}
