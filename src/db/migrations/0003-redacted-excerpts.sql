-- Excerpts are customers' text: a workspace that redacts them has none stored at all.

ALTER TABLE findings
  ALTER COLUMN excerpt DROP NOT NULL,
  -- ANALYZE copies values of a column into pg_statistic, where no removal would find them: this
  -- column is left out from here on, and naming its type anew (the table is not rewritten) drops
  -- what was copied before.
  ALTER COLUMN excerpt TYPE text,
  ALTER COLUMN excerpt SET STATISTICS 0;

UPDATE findings AS f SET excerpt = NULL
  FROM workspaces w
 WHERE w.id = f.workspace_id AND w.redact_excerpts AND f.excerpt IS NOT NULL;
