-- Runs of products that send log events without trace ids. `trace_id` stays what was sent; `run_id`
-- names the run that such a record belongs to. Adding the column rewrites nothing. Building its
-- index reads every kept day of log records once, although it finds no row for it: ingest waits for
-- that long. A partition made later gets column and index with its parent's others.

ALTER TABLE log_records ADD COLUMN run_id uuid;
CREATE INDEX log_records_by_run ON log_records (workspace_id, run_id) WHERE run_id IS NOT NULL;

-- The session whose course ends the run, for runs that have no span to do so. The index holds the
-- open ones only.
ALTER TABLE runs ADD COLUMN session_key uuid;
CREATE INDEX runs_of_open_sessions ON runs (workspace_id, session_key)
  WHERE session_key IS NOT NULL AND state = 'running' AND evaluation = 'pending';

-- Moments after which a session's earlier runs are over: a prompt (of `run_id`), or its end. Written
-- by ingest, taken away by the pass.
CREATE TABLE session_marks (
  workspace_id integer NOT NULL,
  id           bigint GENERATED ALWAYS AS IDENTITY,
  session_key  uuid NOT NULL,
  run_id       uuid,
  at_unix_nano bigint NOT NULL,
  arrived_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX session_marks_by_arrival ON session_marks (arrived_at);
