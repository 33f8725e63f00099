-- Spans of products whose runs are prompts of a session, however many traces they are: `run_id` names
-- the run, as it does for log records, and `trace_id` stays what was sent. Adding the column rewrites
-- nothing. Building its index reads every kept day of spans once, although it finds no row for it: ingest
-- waits for that long. A partition made later gets column and index with its parent's others.

ALTER TABLE spans ADD COLUMN run_id uuid;
CREATE INDEX spans_by_run ON spans (workspace_id, run_id) WHERE run_id IS NOT NULL;
