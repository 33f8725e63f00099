-- What the dashboard counts and narrows, answered from indexes alone however many findings are kept.

-- As before, with what the overview counts per day: it need not visit the rows.
DROP INDEX findings_by_time;
CREATE INDEX findings_by_time ON findings (workspace_id, created_at DESC, id DESC)
  INCLUDE (severity, category);
-- Which kinds of findings there are, and the newest of each: `listFindings` merges those that fit a
-- filter, so that a rare kind is found as quickly as a common one.
CREATE INDEX findings_by_kind
  ON findings (workspace_id, severity, category, rule_id, created_at DESC, id DESC);
