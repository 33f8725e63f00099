-- In the order in which a mark completes them, so that those it does not complete are not read.
DROP INDEX runs_of_open_sessions;
CREATE INDEX runs_of_open_sessions ON runs (workspace_id, session_key, start_unix_nano)
  WHERE session_key IS NOT NULL AND state = 'running' AND evaluation = 'pending';
