/**
 * A minute at full rate, into tables that only grow: PostgreSQL's checkpoints, autovacuum and recycling of
 * WAL, which a burst of half a second into empty tables leaves out.
 */
import { inTurn } from '../harness.ts';
import { lineOf, type Measured, medianOf } from './measured.ts';
import { measureRawSustained } from './raw.ts';
import type { BodyKind } from './requests.ts';
import type { Sustained } from './result.ts';
import { clear, measureLoad, type Stage } from './stage.ts';
import { SPANS_PER_BODY, yardstickOf } from './throughput.ts';

const CONNECTIONS = 64;
export const SUSTAINED_SPANS: BodyKind = { signal: 'traces', rows: SPANS_PER_BODY, gzip: false };

export interface SustainedSettings {
  readonly rounds: number;
  readonly seconds: number;
  /** whose rows raw COPY stores again and again */
  readonly bodies: number;
}

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

/** Stores spans for so long, as fast as they are answered. @param beside runs meanwhile */
export async function measureMinute(
  stage: Stage,
  seconds: number,
  beside?: (ended: Promise<unknown>) => Promise<void>,
): Promise<Measured> {
  const pace = { type: 'while', seconds } as const;
  const load = { kind: SUSTAINED_SPANS, connections: CONNECTIONS, pace, expected: null };
  return await measureLoad(stage, stage.sluice, load, beside);
}

/** Stores spans for so long, in turn with raw COPY. */
export async function measureSustained(
  stage: Stage,
  { rounds, seconds, bodies }: SustainedSettings,
): Promise<Sustained> {
  const { raw: rows } = await yardstickOf(stage, SUSTAINED_SPANS, bodies);
  let work: Work = { checkpoints: 0, autovacuums: 0, walMegabytes: 0 };
  const watch = async (ended: Promise<unknown>): Promise<void> => {
    const before = await workSoFar(stage);
    await ended;
    // Not later: counting the rows afterwards writes each page to the WAL once more (hint bits).
    work = workBetween(before, await workSoFar(stage));
  };
  const variants = [
    { name: 'sustained', measure: () => measureMinute(stage, seconds, watch) },
    {
      name: 'sustained, raw COPY',
      measure: () => measureRawSustained(stage, rows, seconds),
    },
  ];
  const [ours, copied] = await inTurn(variants, rounds, lineOf);
  if (ours === undefined || copied === undefined) throw new Error('nothing was measured');
  await clear(stage);
  return { measured: medianOf(ours), raw: ours.raw, copied: copied.raw, seconds, ...work };
}
