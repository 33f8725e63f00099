-- Building an index reads every run once; ingest waits for that long.

-- Arrivals after this moment no longer delay the evaluation: set when a run begins and again when it
-- finishes (src/db/copy-transaction.ts). Null for runs stored by an older version: no ceiling.
ALTER TABLE runs ADD COLUMN settles_until timestamptz;

-- One index per way of becoming due, in the order of what the settle time and the time-out count from. A
-- workspace's runs are beside each other, so that a claim goes from one workspace to the next without
-- reading what lies between. The 5 is ATTEMPTS_MAX. A running older version, whose claims go by other
-- indexes, claims more slowly until it is replaced.
DROP INDEX runs_finished, runs_running;
CREATE INDEX runs_finished ON runs (workspace_id, least(last_arrival_at, settles_until))
  WHERE evaluation = 'pending' AND state <> 'running' AND attempts = 0;
CREATE INDEX runs_running ON runs (workspace_id, least(last_arrival_at, settles_until))
  WHERE evaluation = 'pending' AND state = 'running' AND attempts < 5;
-- Under a lease, or to be tried again: few.
CREATE INDEX runs_claimed ON runs
  (workspace_id, coalesce(lease_until, '-infinity'), least(last_arrival_at, settles_until))
  WHERE evaluation = 'pending' AND state <> 'running' AND attempts > 0 AND attempts < 5;

-- In the order in which a mark completes them, so that those it does not complete are not read.
DROP INDEX runs_of_open_sessions;
CREATE INDEX runs_of_open_sessions ON runs (workspace_id, session_key, start_unix_nano)
  WHERE session_key IS NOT NULL AND state = 'running' AND evaluation = 'pending';
