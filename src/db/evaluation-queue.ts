/**
 * Runs waiting to be evaluated: claimed under a lease, then completed or released.
 *
 *   pending ──claim──► leased ──complete──► evaluated
 *      ▲                 │ release, or the lease runs out
 *      └─────────────────┘ … after ATTEMPTS_MAX attempts: evaluation_failed
 *
 * `attempts` counts claims and is the fencing token: a worker that lost its lease names an attempt
 * that is no longer the newest, and its completion changes nothing.
 */
import type { FindingDraft, RunRef } from '../model.ts';
import { type Connection, type Database, inTransaction } from './database.ts';

export const ATTEMPTS_MAX = 5;
/** Past this a worker is taken for dead and the run is given to another. */
const LEASE_SECONDS = 300;
/** A released run waits this long times its attempts before it is claimed again. */
const RETRY_DELAY_SECONDS = 10;

export interface ClaimSettings {
  readonly settleMs: number;
  readonly timeoutMs: number;
  /** most runs taken at once */
  readonly limit: number;
}

export interface ClaimedRun extends RunRef {
  readonly attempt: number;
}

/** One run's outcome, ready to be stored. */
export interface Evaluation {
  readonly run: ClaimedRun;
  readonly findings: readonly FindingDraft[];
  readonly steps: number;
  readonly unreadSteps: number;
  readonly truncatedTexts: number;
}

/** What the findings were found with. */
export interface EvaluatedWith {
  readonly corpusVersion: string;
  readonly ruleSetSha256: string;
}

/**
 * Leases finished and settled runs, oldest first; other processes get other runs.
 * A run without a root becomes `timed_out` here, once nothing arrived for `timeoutMs`.
 */
export async function claimRuns(
  database: Database,
  { settleMs, timeoutMs, limit }: ClaimSettings,
): Promise<ClaimedRun[]> {
  const { rows } = await database.query<ClaimedRun>({
    name: 'claim-runs',
    text: `UPDATE runs AS r
              SET lease_until = now() + make_interval(secs => ${LEASE_SECONDS}),
                  attempts = r.attempts + 1,
                  state = CASE WHEN r.state = 'running' THEN 'timed_out' ELSE r.state END
             FROM (SELECT workspace_id, run_id FROM runs
                    WHERE evaluation = 'pending' AND attempts < ${ATTEMPTS_MAX}
                      AND (lease_until IS NULL OR lease_until < now())
                      AND last_arrival_at <= now() - make_interval(secs => $1::float8 / 1000)
                      AND (state <> 'running'
                           OR last_arrival_at <= now() - make_interval(secs => $2::float8 / 1000))
                    ORDER BY last_arrival_at LIMIT $3 FOR UPDATE SKIP LOCKED) AS due
            WHERE r.workspace_id = due.workspace_id AND r.run_id = due.run_id
        RETURNING r.workspace_id AS "workspaceId", r.run_id AS "runId", r.attempts AS attempt`,
    values: [settleMs, timeoutMs, limit],
  });
  return rows;
}

/**
 * Marks runs whose last attempt has failed or was lost.
 *
 * @returns how many were given up now
 */
export async function giveUpRuns(database: Database): Promise<number> {
  const { rowCount } = await database.query(
    `UPDATE runs SET evaluation = 'evaluation_failed', lease_until = NULL
      WHERE evaluation = 'pending' AND attempts >= ${ATTEMPTS_MAX}
        AND (lease_until IS NULL OR lease_until < now())`,
  );
  return rowCount ?? 0;
}

async function insertFindings(
  connection: Connection,
  evaluations: readonly Evaluation[],
  corpusVersion: string,
): Promise<void> {
  const rows = evaluations.flatMap(({ run, findings }) =>
    findings.map((finding) => ({ run, finding })),
  );
  if (rows.length === 0) return;
  const column = <T>(value: (finding: FindingDraft) => T) =>
    rows.map(({ finding }) => value(finding));
  await connection.query(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, subcategory, corpus_version, description, condition_index, condition_description,
       field, surface, step_span_id, step_name, excerpt, recommended_actions)
     SELECT w, run, rule, version, status, severity, category, subcategory, $19, description,
            condition, condition_text, field, surface, decode(span, 'hex'), step, excerpt, actions
       FROM unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],
         $7::text[], $8::text[], $9::text[], $10::smallint[], $11::text[], $12::text[],
         $13::text[], $14::text[], $15::text[], $16::text[], $17::json[], $18::int[])
         AS t (w, run, rule, version, status, severity, category, subcategory, description,
               condition, condition_text, field, surface, span, step, excerpt, actions, attempt)
      WHERE EXISTS (SELECT 1 FROM runs r WHERE r.workspace_id = w AND r.run_id = run
                       AND r.evaluation = 'pending' AND r.attempts = t.attempt)
     ON CONFLICT (workspace_id, run_id, rule_id) DO NOTHING`,
    [
      rows.map(({ run }) => run.workspaceId),
      rows.map(({ run }) => run.runId),
      column((finding) => finding.ruleId),
      column((finding) => finding.ruleVersion),
      column((finding) => finding.ruleStatus),
      column((finding) => finding.severity),
      column((finding) => finding.category),
      column((finding) => finding.subcategory),
      column((finding) => finding.description),
      column((finding) => finding.conditionIndex),
      column((finding) => finding.conditionDescription),
      column((finding) => finding.field),
      column((finding) => finding.surface),
      column((finding) => finding.stepSpanId),
      column((finding) => finding.stepName),
      column((finding) => finding.excerpt),
      column((finding) => JSON.stringify(finding.recommendedActions)),
      rows.map(({ run }) => run.attempt),
      corpusVersion,
    ],
  );
}

/**
 * Stores the findings of evaluated runs and marks the runs, in one transaction. Runs whose lease
 * went to somebody else since are left alone.
 */
export async function completeRuns(
  database: Database,
  evaluations: readonly Evaluation[],
  { corpusVersion, ruleSetSha256 }: EvaluatedWith,
): Promise<void> {
  const ordered = [...evaluations].sort((a, b) => (a.run.runId < b.run.runId ? -1 : 1));
  await inTransaction(database, async (connection) => {
    // Locked first and in order: ingest upserts the same rows, in the same order.
    await connection.query(
      `SELECT 1 FROM runs JOIN unnest($1::int[], $2::uuid[]) AS t (w, run)
           ON workspace_id = w AND run_id = run
        ORDER BY workspace_id, run_id FOR UPDATE OF runs`,
      [ordered.map(({ run }) => run.workspaceId), ordered.map(({ run }) => run.runId)],
    );
    await insertFindings(connection, ordered, corpusVersion);
    await connection.query(
      `UPDATE runs AS r
          SET evaluation = 'evaluated', evaluated_at = now(), lease_until = NULL,
              last_error = NULL, evaluated_steps = t.steps, unread_steps = t.unread,
              truncated_texts = t.truncated, corpus_version = $7,
              rule_set_sha256 = decode($8, 'hex')
         FROM unnest($1::int[], $2::uuid[], $3::int[], $4::int[], $5::int[], $6::int[])
              AS t (w, run, attempt, steps, unread, truncated)
        WHERE r.workspace_id = t.w AND r.run_id = t.run AND r.attempts = t.attempt
          AND r.evaluation = 'pending'`,
      [
        ordered.map(({ run }) => run.workspaceId),
        ordered.map(({ run }) => run.runId),
        ordered.map(({ run }) => run.attempt),
        ordered.map(({ steps }) => steps),
        ordered.map(({ unreadSteps }) => unreadSteps),
        ordered.map(({ truncatedTexts }) => truncatedTexts),
        corpusVersion,
        ruleSetSha256,
      ],
    );
  });
}

/**
 * Gives a run back undecided: it is claimed again later, or marked `evaluation_failed` after its
 * last attempt.
 *
 * @param why a reason of ours, never customers' text
 */
export async function releaseRun(database: Database, run: ClaimedRun, why: string): Promise<void> {
  await database.query(
    `UPDATE runs
        SET evaluation = CASE WHEN attempts >= ${ATTEMPTS_MAX} THEN 'evaluation_failed'
                              ELSE evaluation END,
            lease_until = CASE WHEN attempts >= ${ATTEMPTS_MAX} THEN NULL
                          ELSE now() + make_interval(secs => ${RETRY_DELAY_SECONDS} * attempts) END,
            last_error = $4
      WHERE workspace_id = $1 AND run_id = $2 AND attempts = $3 AND evaluation = 'pending'`,
    [run.workspaceId, run.runId, run.attempt, why],
  );
}
