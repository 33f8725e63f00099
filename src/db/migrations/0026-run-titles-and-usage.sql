-- What lists of runs show of a run's steps, stored by its evaluation. Null until then, and for runs that
-- earlier versions evaluated. Adding the columns rewrites nothing.

ALTER TABLE runs
  -- sums over its steps, as their senders report them
  ADD COLUMN input_tokens  bigint,
  ADD COLUMN output_tokens bigint,
  ADD COLUMN cost_usd      double precision,
  -- the beginning of the first text that a user sent; removed with the steps, and by redaction
  ADD COLUMN title         text,
  -- as with excerpts (0003): ANALYZE keeps no values of it
  ALTER COLUMN title SET STATISTICS 0;

-- Titles to be removed. It is empty when it is made.
CREATE INDEX runs_with_title ON runs (workspace_id, first_arrival_at) WHERE title IS NOT NULL;
