/**
 * What the dashboard's first page tells of a workspace. Every query reads a bounded stretch of time
 * through an index, so that it costs the same whatever is kept.
 */
import type { Severity } from '../model.ts';
import type { Database } from './database.ts';

const HOURS = 24;
const DAYS = 14;

export interface ArrivalSlot {
  readonly atMs: number;
  readonly steps: number;
}

export interface FindingSlot {
  readonly atMs: number;
  readonly counts: Readonly<Partial<Record<Severity, number>>>;
}

export interface WorkspaceOverview {
  /** one per hour, oldest first, none left out */
  readonly arrivals: readonly ArrivalSlot[];
  /** one per day, oldest first, none left out */
  readonly findings: readonly FindingSlot[];
  readonly categories: readonly { readonly category: string; readonly findings: number }[];
  readonly runs: {
    readonly any: boolean;
    readonly waiting: number;
    readonly oldestWaitingMs: number | null;
    readonly withoutText: number;
    readonly failedEvaluations: number;
  };
}

const MS = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;

async function arrivalsOf(database: Database, workspaceId: number): Promise<ArrivalSlot[]> {
  const { rows } = await database.query<ArrivalSlot>(
    `SELECT ${MS('hour')} AS "atMs", coalesce(sum(r.spans + r.log_records), 0)::float8 AS steps
       FROM generate_series(date_trunc('hour', now()) - interval '${HOURS - 1} hours',
                            date_trunc('hour', now()), interval '1 hour') AS hour
       LEFT JOIN runs r ON r.workspace_id = $1 AND r.first_arrival_at >= hour
                       AND r.first_arrival_at < hour + interval '1 hour'
      GROUP BY hour ORDER BY hour`,
    [workspaceId],
  );
  return rows;
}

async function findingsOf(database: Database, workspaceId: number): Promise<FindingSlot[]> {
  const { rows } = await database.query<FindingSlot>(
    `SELECT ${MS('day')} AS "atMs",
            coalesce(jsonb_object_agg(found.severity, found.count)
                       FILTER (WHERE found.severity IS NOT NULL), '{}') AS counts
       FROM generate_series(date_trunc('day', now(), 'UTC') - interval '${DAYS - 1} days',
                            date_trunc('day', now(), 'UTC'), interval '1 day') AS day
       LEFT JOIN LATERAL (
         SELECT severity, count(*)::int AS count FROM findings f
          WHERE f.workspace_id = $1 AND f.created_at >= day
            AND f.created_at < day + interval '1 day' GROUP BY severity
       ) AS found ON true
      GROUP BY day ORDER BY day`,
    [workspaceId],
  );
  return rows;
}

/**
 * Reads the overview of a workspace.
 *
 * Times are the database's. The counts are of different moments: nothing here has to add up.
 */
export async function readOverview(
  database: Database,
  workspaceId: number,
): Promise<WorkspaceOverview> {
  const [arrivals, findings, categories, runs] = await Promise.all([
    arrivalsOf(database, workspaceId),
    findingsOf(database, workspaceId),
    database.query<{ category: string; findings: number }>(
      `SELECT category, count(*)::int AS findings FROM findings
        WHERE workspace_id = $1 AND created_at >= now() - interval '${DAYS} days'
        GROUP BY category ORDER BY findings DESC, category`,
      [workspaceId],
    ),
    database.query<WorkspaceOverview['runs']>(
      `SELECT EXISTS (SELECT FROM runs WHERE workspace_id = $1) AS any,
              waiting.count AS waiting, ${MS('waiting.oldest')} AS "oldestWaitingMs",
              recent."withoutText", recent."failedEvaluations"
         FROM (SELECT count(*)::int AS count, min(last_arrival_at) AS oldest FROM runs
                WHERE workspace_id = $1 AND evaluation = 'pending' AND state <> 'running') AS waiting,
              (SELECT count(*) FILTER (WHERE texts = 0)::int AS "withoutText",
                      count(*) FILTER (WHERE evaluation = 'evaluation_failed')::int
                        AS "failedEvaluations"
                 FROM runs WHERE workspace_id = $1
                  AND first_arrival_at >= now() - interval '${HOURS} hours') AS recent`,
      [workspaceId],
    ),
  ]);
  const [counts] = runs.rows;
  if (counts === undefined) throw new Error('the counts of a workspace have no row');
  return { arrivals, findings, categories: categories.rows, runs: counts };
}
