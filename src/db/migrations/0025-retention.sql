-- Retention of what was kept for ever (docs/decisions/0048-retention-of-everything.md).

-- The latest day of arrival, in UTC, of the rows that refer to a resource or a metric: it may be deleted
-- once no kept day can do so. What is there counts as used today, and so does what an older version stores
-- beside this one. An older version renews no day; deleting waits seven days longer for that reason.
-- Adding the column rewrites nothing. Building its index reads the table once; ingest waits for that long.
ALTER TABLE resources
  ADD COLUMN last_used_on date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date;
ALTER TABLE metrics
  ADD COLUMN last_used_on date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date;
CREATE INDEX resources_by_use ON resources (last_used_on);
CREATE INDEX metrics_by_use ON metrics (last_used_on);
