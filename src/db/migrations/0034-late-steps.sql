-- Steps that arrive after their run was evaluated are evaluated alone, once (docs/decisions/0007-when-a-run-is-finished.md).
-- Building the indexes reads every run once; ingest waits for that long.

-- When the transaction that stored the row began: PostgreSQL's clock, which `runs` has too. Null for rows of
-- earlier versions.
ALTER TABLE spans ADD COLUMN arrived_at timestamptz;
ALTER TABLE spans ALTER COLUMN arrived_at SET DEFAULT now();
ALTER TABLE log_records ADD COLUMN arrived_at timestamptz;
ALTER TABLE log_records ALTER COLUMN arrived_at SET DEFAULT now();

ALTER TABLE runs
  -- it was evaluated, and has steps that were not
  ADD COLUMN late_waits boolean NOT NULL DEFAULT false,
  -- what the last claim evaluates: rows that arrived until then, but for those of these transactions, which
  -- had begun by then and were not committed
  ADD COLUMN claimed_to timestamptz,
  ADD COLUMN claimed_without timestamptz[],
  -- how many rows the run had then
  ADD COLUMN claimed_rows integer,
  -- the same of what was evaluated
  ADD COLUMN evaluated_to timestamptz,
  ADD COLUMN evaluated_without timestamptz[],
  -- steps among `evaluated_steps` that were evaluated after the others, and when last
  ADD COLUMN late_evaluated_steps integer NOT NULL DEFAULT 0,
  ADD COLUMN late_evaluated_at timestamptz;

-- The ways to be due (src/db/runs/due-runs.ts), for late steps too. The 5 is ATTEMPTS_MAX.
DROP INDEX runs_finished, runs_claimed, runs_exhausted;
CREATE INDEX runs_finished ON runs (workspace_id, least(last_arrival_at, settles_until))
  WHERE (evaluation = 'pending' OR late_waits) AND state <> 'running' AND attempts = 0
    AND lease_until IS NULL;
CREATE INDEX runs_claimed ON runs
  (workspace_id, coalesce(lease_until, '-infinity'), least(last_arrival_at, settles_until))
  WHERE (evaluation = 'pending' OR late_waits) AND state <> 'running' AND attempts < 5
    AND (attempts > 0 OR lease_until IS NOT NULL);
CREATE INDEX runs_exhausted ON runs (workspace_id, run_id)
  WHERE (evaluation = 'pending' OR late_waits) AND attempts >= 5;
