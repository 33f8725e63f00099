-- A lease belongs to a process, which says every few seconds that it lives; and an attempt is counted
-- when the evaluation of a run begins, no longer when the run is claimed.
-- Building an index reads every run once; ingest waits for that long.

-- Processes that evaluate runs (src/db/runs/processes.ts). `seen_at` is by this server's clock.
CREATE TABLE processes (
  id      uuid PRIMARY KEY,
  seen_at timestamptz NOT NULL
);

-- How often the run was claimed: the fencing token, which only grows. Whoever completes a run names the
-- claim. `attempts` was that, and now counts evaluations that began alone or ended undecided.
ALTER TABLE runs
  ADD COLUMN claims integer NOT NULL DEFAULT 0,
  -- who has the lease; null for none, and for a lease of an older version
  ADD COLUMN leased_by uuid;

-- A leased run has no attempt yet, so the lease itself tells it from one that was never claimed. The 5 is
-- ATTEMPTS_MAX. A running older version, which does not look at leases here, evaluates runs twice until
-- it is replaced; the second evaluation is not stored.
DROP INDEX runs_finished, runs_claimed;
CREATE INDEX runs_finished ON runs (workspace_id, least(last_arrival_at, settles_until))
  WHERE evaluation = 'pending' AND state <> 'running' AND attempts = 0 AND lease_until IS NULL;
CREATE INDEX runs_claimed ON runs
  (workspace_id, coalesce(lease_until, '-infinity'), least(last_arrival_at, settles_until))
  WHERE evaluation = 'pending' AND state <> 'running' AND attempts < 5
    AND (attempts > 0 OR lease_until IS NOT NULL);
