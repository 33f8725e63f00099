/**
 * Runs waiting to be evaluated: claimed under a lease, then completed, released or given back.
 *
 *   pending ──claim──► leased ──complete──► evaluated
 *      ▲                 │ release, give back, or the lease runs out
 *      └─────────────────┘ … after ATTEMPTS_MAX attempts: giveUpRuns says evaluation_failed
 *
 * `attempts` counts claims and fences: who lost its lease names an attempt that is no longer the
 * newest, and changes nothing. Statements over several runs lock them in key order, as ingest does.
 */
import type { FindingDraft, RunFacts, RunRef, RunState, Severity } from '../model.ts';
import type { Database, Queryable } from './database.ts';

/** The partial indexes on `runs` name this number too. */
export const ATTEMPTS_MAX = 5;
/** Past this without a renewal a process is taken for dead and its runs go to others. */
const LEASE_SECONDS = 300;
/** A released run waits this long times its attempts before it is claimed again. */
const RETRY_DELAY_SECONDS = 10;
/** Bounds one statement; what is left is given up at the next claim. */
const GIVE_UP_MAX = 1000;

export interface ClaimSettings {
  readonly settleMs: number;
  readonly timeoutMs: number;
  /** most runs taken at once */
  readonly limit: number;
}

export interface ClaimedRun extends RunRef {
  readonly attempt: number;
  readonly state: RunState;
  /** UTC days, as `2026-11-20`, between which its steps had arrived when it was claimed */
  readonly firstArrivalOn: string;
  readonly lastArrivalOn: string;
}

/** One run's outcome, ready to be stored. */
export interface Evaluation {
  readonly run: ClaimedRun;
  readonly facts: RunFacts;
  readonly findings: readonly FindingDraft[];
  /**
   * whether the workspace redacted when the run was taken up: then no excerpt leaves the process.
   * False decides nothing, the statement that stores looks again.
   */
  readonly redactExcerpts: boolean;
  readonly steps: number;
  readonly unreadSteps: number;
  /** surface texts that its steps held, and how many of them were cut */
  readonly texts: number;
  readonly truncatedTexts: number;
}

/** What the findings were found with. */
export interface EvaluatedWith {
  readonly corpusVersion: string;
  readonly ruleSetSha256: string;
}

const CLAIMABLE = `evaluation = 'pending' AND attempts < ${ATTEMPTS_MAX}
                   AND (lease_until IS NULL OR lease_until < now())`;
const day = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;

/**
 * Leases finished and settled runs, oldest first; other processes get other runs. A run without a
 * root becomes `timed_out` here, once nothing arrived for `timeoutMs`.
 *
 * Timed out and finished runs are found through an index of their own, so that runs that are merely
 * running cost nothing; timed out ones get at most a quarter (rounded up) and first, so that
 * neither kind waits for the other to run dry.
 */
export async function claimRuns(
  database: Database,
  { settleMs, timeoutMs, limit }: ClaimSettings,
): Promise<ClaimedRun[]> {
  const { rows } = await database.query<ClaimedRun>(
    `UPDATE runs AS r
        SET lease_until = now() + make_interval(secs => ${LEASE_SECONDS}),
            attempts = r.attempts + 1,
            state = CASE WHEN r.state = 'running' THEN 'timed_out' ELSE r.state END
       FROM (SELECT * FROM (
               SELECT workspace_id, run_id FROM runs
                WHERE ${CLAIMABLE} AND state = 'running'
                  AND last_arrival_at <= now() - make_interval(secs => $2::float8 / 1000)
                  AND last_arrival_at <= now() - make_interval(secs => $1::float8 / 1000)
                ORDER BY last_arrival_at LIMIT ceil($3::int / 4.0) FOR UPDATE SKIP LOCKED
             ) AS timed_out
             UNION ALL
             SELECT * FROM (
               SELECT workspace_id, run_id FROM runs
                WHERE ${CLAIMABLE} AND state <> 'running'
                  AND last_arrival_at <= now() - make_interval(secs => $1::float8 / 1000)
                ORDER BY last_arrival_at LIMIT $3::int FOR UPDATE SKIP LOCKED
             ) AS finished
             LIMIT $3::int) AS due
      WHERE r.workspace_id = due.workspace_id AND r.run_id = due.run_id
  RETURNING r.workspace_id AS "workspaceId", r.run_id AS "runId", r.attempts AS attempt, r.state,
            ${day('r.first_arrival_at')} AS "firstArrivalOn",
            ${day('r.last_arrival_at')} AS "lastArrivalOn"`,
    [settleMs, timeoutMs, limit],
  );
  return rows;
}

/**
 * Marks runs whose last attempt has failed or was lost: the only place that says
 * `evaluation_failed`.
 *
 * @returns how many were given up now, at most GIVE_UP_MAX
 */
export async function giveUpRuns(database: Database): Promise<number> {
  const { rowCount } = await database.query(
    `UPDATE runs AS r
        SET evaluation = 'evaluation_failed', lease_until = NULL,
            last_error = coalesce(last_error, 'the lease ran out: the process had ended')
       FROM (SELECT workspace_id, run_id FROM runs
              WHERE evaluation = 'pending' AND attempts >= ${ATTEMPTS_MAX}
                AND (lease_until IS NULL OR lease_until < now())
              ORDER BY workspace_id, run_id LIMIT ${GIVE_UP_MAX} FOR UPDATE SKIP LOCKED) AS lost
      WHERE r.workspace_id = lost.workspace_id AND r.run_id = lost.run_id`,
  );
  return rowCount ?? 0;
}

/**
 * Stores the findings of an evaluated run and marks the run, in one statement and so in one
 * transaction.
 *
 * An excerpt is stored only while its workspace is known and does not redact. The workspace's row
 * is locked FOR SHARE to the end of the transaction, which gives its newest version, however long
 * the statement has waited, and keeps out the UPDATE of `setRedaction` (workspaces.ts; FOR KEY
 * SHARE would not). So either the switch waits, and what is stored here is there for it to remove,
 * or it is done, and no excerpt is stored. Without an excerpt to store nothing is locked: CASE
 * stops at its first answer, and a subquery runs when it is asked.
 *
 * @throws what PostgreSQL said. Its `detail` may quote a row, excerpt included: never logged
 *   (`errorFacts`), nor written to the embedded server's log (settings in embedded-cluster.ts)
 * @returns the severities of the findings stored now; null when the run went to somebody else since
 *   and nothing was changed
 */
export async function completeRun(
  database: Queryable,
  { run, facts, findings, redactExcerpts, steps, unreadSteps, texts, truncatedTexts }: Evaluation,
  { corpusVersion, ruleSetSha256 }: EvaluatedWith,
): Promise<Severity[] | null> {
  const column = <T>(value: (finding: FindingDraft) => T) => findings.map(value);
  const { rows } = await database.query<{ done: boolean; severities: Severity[] }>({
    name: 'complete-run',
    text: `
      WITH done AS (
        UPDATE runs
           SET evaluation = 'evaluated', evaluated_at = now(), lease_until = NULL,
               last_error = NULL, evaluated_steps = $4, unread_steps = $5, texts = $6,
               truncated_texts = $7, corpus_version = $8, rule_set_sha256 = decode($9, 'hex'),
               state = $25, agent_name = $26, model = $27, session_id = $28, user_id = $29,
               text_gaps = $30
         WHERE workspace_id = $1 AND run_id = $2 AND attempts = $3 AND evaluation = 'pending'
        RETURNING workspace_id, run_id
      ), workspace AS (
        SELECT redact_excerpts FROM workspaces WHERE id = $1 FOR SHARE
      ), found AS (
        INSERT INTO findings (workspace_id, run_id, corpus_version, rule_id, rule_version,
          rule_status, severity, category, subcategory, description, condition_index,
          condition_description, field, surface, step_span_id, step_name, excerpt,
          recommended_actions)
        SELECT done.workspace_id, done.run_id, $8, rule, version, status, severity, category,
               subcategory, description, condition, condition_text, field, surface,
               decode(span, 'hex'), step,
               CASE WHEN excerpt IS NULL THEN NULL
                    WHEN (SELECT NOT redact_excerpts FROM workspace) THEN excerpt END,
               actions
          FROM done, unnest($10::text[], $11::text[], $12::text[], $13::text[], $14::text[],
            $15::text[], $16::text[], $17::smallint[], $18::text[], $19::text[], $20::text[],
            $21::text[], $22::text[], $23::text[], $24::json[])
            AS t (rule, version, status, severity, category, subcategory, description, condition,
                  condition_text, field, surface, span, step, excerpt, actions)
        ON CONFLICT (workspace_id, run_id, rule_id) DO NOTHING
        RETURNING severity
      )
      SELECT EXISTS (SELECT FROM done) AS done, ARRAY(SELECT severity FROM found) AS severities`,
    values: [
      run.workspaceId,
      run.runId,
      run.attempt,
      steps,
      unreadSteps,
      texts,
      truncatedTexts,
      corpusVersion,
      ruleSetSha256,
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
      column((finding) => (redactExcerpts ? null : finding.excerpt)),
      column((finding) => JSON.stringify(finding.recommendedActions)),
      facts.state,
      facts.agentName,
      facts.model,
      facts.sessionId,
      facts.userId,
      facts.textGaps,
    ],
  });
  const [answer] = rows;
  return answer?.done === true ? answer.severities : null;
}

/** The runs that are still the caller's, locked in key order; `$1` to `$3` are `keysOf`. */
const OWN_RUNS = `
  SELECT r.workspace_id, r.run_id
    FROM runs r JOIN unnest($1::int[], $2::uuid[], $3::int[]) AS t (w, run, attempt)
      ON r.workspace_id = t.w AND r.run_id = t.run AND r.attempts = t.attempt
   WHERE r.evaluation = 'pending'
   ORDER BY r.workspace_id, r.run_id FOR UPDATE OF r`;

function keysOf(runs: readonly ClaimedRun[]): unknown[] {
  return [
    runs.map(({ workspaceId }) => workspaceId),
    runs.map(({ runId }) => runId),
    runs.map(({ attempt }) => attempt),
  ];
}

/** Begins the leases of runs anew: whoever holds them is alive. */
export async function renewLeases(database: Database, runs: readonly ClaimedRun[]): Promise<void> {
  await database.query(
    `UPDATE runs AS r SET lease_until = now() + make_interval(secs => ${LEASE_SECONDS})
       FROM (${OWN_RUNS}) AS own
      WHERE r.workspace_id = own.workspace_id AND r.run_id = own.run_id`,
    keysOf(runs),
  );
}

/**
 * Gives runs back as if they had not been claimed: their attempt is not counted. For runs that were
 * not begun, and for those whose evaluation ended through no fault of theirs.
 */
export async function giveBackRuns(database: Database, runs: readonly ClaimedRun[]): Promise<void> {
  if (runs.length === 0) return;
  await database.query(
    `UPDATE runs AS r SET attempts = attempts - 1, lease_until = NULL
       FROM (${OWN_RUNS}) AS own
      WHERE r.workspace_id = own.workspace_id AND r.run_id = own.run_id`,
    keysOf(runs),
  );
}

/**
 * Gives a run back undecided, which has cost it an attempt: it is claimed again later, or was its
 * last attempt and is due to be given up at once.
 *
 * @param why a reason of ours, never customers' text
 */
export async function releaseRun(database: Database, run: ClaimedRun, why: string): Promise<void> {
  await database.query(
    `UPDATE runs
        SET last_error = $4,
            lease_until = CASE WHEN attempts < ${ATTEMPTS_MAX}
                            THEN now() + make_interval(secs => ${RETRY_DELAY_SECONDS} * attempts)
                          END
      WHERE workspace_id = $1 AND run_id = $2 AND attempts = $3 AND evaluation = 'pending'`,
    [run.workspaceId, run.runId, run.attempt, why],
  );
}
