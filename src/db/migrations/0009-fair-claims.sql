-- Building an index reads every run once; ingest waits for that long.

-- Arrivals after this moment no longer delay the evaluation: set when a run begins and again when it
-- finishes (src/db/copy-transaction.ts). Null for runs stored by an older version: no ceiling.
ALTER TABLE runs ADD COLUMN settles_until timestamptz;

-- In the order of what the settle time and the time-out count from. They keep their names; a running
-- older version claims more slowly until it is replaced.
DROP INDEX runs_finished, runs_running;
CREATE INDEX runs_finished ON runs (least(last_arrival_at, settles_until))
  WHERE evaluation = 'pending' AND state <> 'running' AND attempts < 5;
CREATE INDEX runs_running ON runs (least(last_arrival_at, settles_until))
  WHERE evaluation = 'pending' AND state = 'running' AND attempts < 5;

-- In the order in which a mark completes them, so that those it does not complete are not read.
DROP INDEX runs_of_open_sessions;
CREATE INDEX runs_of_open_sessions ON runs (workspace_id, session_key, start_unix_nano)
  WHERE session_key IS NOT NULL AND state = 'running' AND evaluation = 'pending';
