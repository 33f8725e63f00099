-- What a run's steps say about the run itself, told when it is evaluated: names and ids as sent,
-- and why not all of its text is here (null until then, empty when nothing says so).

ALTER TABLE runs
  ADD COLUMN agent_name text,
  ADD COLUMN model      text,
  ADD COLUMN session_id text,
  ADD COLUMN user_id    text,
  ADD COLUMN text_gaps  text[];
CREATE INDEX runs_by_session ON runs (workspace_id, session_id, start_unix_nano)
  WHERE session_id IS NOT NULL;
