-- What rules would have found in stored runs (docs/decisions/0037-previews.md). A preview writes no
-- finding and changes no run; its row is the job and, when it has finished, the result.
CREATE TABLE rule_previews (
  workspace_id    integer NOT NULL,
  id              uuid NOT NULL DEFAULT gen_random_uuid(),
  kind            text NOT NULL CHECK (kind IN ('rule', 'experimental')),
  -- that are matched; of the kind rule one
  rule_ids        text[] NOT NULL,
  days            integer NOT NULL,
  requested_by    text NOT NULL,
  requested_at    timestamptz NOT NULL DEFAULT now(),
  state           text NOT NULL DEFAULT 'queued'
                  CHECK (state IN ('queued', 'running', 'done', 'cancelled', 'failed')),
  started_at      timestamptz,
  finished_at     timestamptz,
  failure         text,
  corpus_version  text NOT NULL,
  corpus_identity bytea NOT NULL,
  -- evaluated runs of those days, and of how many in 10,000 the steps are matched; null before the start
  runs_in_range   integer,
  sample          integer,
  runs_planned    integer,
  -- so far: matched; with a match; larger than a preview reads; not matched to their end
  runs_read       integer NOT NULL DEFAULT 0,
  runs_found      integer NOT NULL DEFAULT 0,
  runs_skipped    integer NOT NULL DEFAULT 0,
  runs_cut        integer NOT NULL DEFAULT 0,
  cpu_ms          float8 NOT NULL DEFAULT 0,
  -- by rule id: the runs that it matches, and where in some of them
  results         json NOT NULL DEFAULT '{}',
  -- the last run that is counted; earlier arrivals follow
  cursor_at       timestamptz,
  cursor_run      uuid,
  -- the claim that works on it, and until when that may be silent
  claim           uuid,
  lease_until     timestamptz,
  PRIMARY KEY (workspace_id, id)
);
-- One at a time in a workspace.
CREATE UNIQUE INDEX rule_previews_open ON rule_previews (workspace_id)
  WHERE state IN ('queued', 'running');
