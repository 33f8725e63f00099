/**
 * A minute at full rate, into tables that only grow: PostgreSQL's checkpoints, autovacuum and recycling of
 * WAL, which a burst of half a second into empty tables leaves out.
 */
import type { Measured } from './measured.ts';
import type { Sustained } from './result.ts';
import { measureLoad, type Stage } from './stage.ts';
import { SPANS_PER_BODY } from './throughput.ts';

const CONNECTIONS = 64;

interface Work {
  readonly checkpoints: number;
  readonly autovacuums: number;
  readonly walMegabytes: number;
}

/** What PostgreSQL has done so far beside storing rows. */
async function workSoFar({ client }: Stage): Promise<Work> {
  const { rows } = await client.query<Work>(
    `SELECT (SELECT num_timed + num_requested FROM pg_stat_checkpointer)::int AS checkpoints,
            (SELECT coalesce(sum(autovacuum_count + autoanalyze_count), 0)
               FROM pg_stat_user_tables)::int AS autovacuums,
            (pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') / 1e6)::float8 AS "walMegabytes"`,
  );
  const [work] = rows;
  if (work === undefined) throw new Error('PostgreSQL did not say what it has done');
  return work;
}

function workBetween(before: Work, after: Work): Work {
  const done = (name: keyof Work): number => Math.round(after[name] - before[name]);
  return {
    checkpoints: done('checkpoints'),
    autovacuums: done('autovacuums'),
    walMegabytes: done('walMegabytes'),
  };
}

/** Stores spans for so long, as fast as they are answered. */
export async function measureSustained(stage: Stage, seconds: number): Promise<Sustained> {
  let work: Work = { checkpoints: 0, autovacuums: 0, walMegabytes: 0 };
  const measured: Measured = await measureLoad(
    stage,
    stage.sluice,
    {
      kind: { signal: 'traces', rows: SPANS_PER_BODY, gzip: false },
      connections: CONNECTIONS,
      pace: { type: 'while', seconds },
      expected: null,
    },
    async (ended) => {
      const before = await workSoFar(stage);
      await ended;
      // Not later: counting the rows afterwards writes each page to the WAL once more (hint bits).
      work = workBetween(before, await workSoFar(stage));
    },
  );
  return { measured, seconds, ...work };
}
