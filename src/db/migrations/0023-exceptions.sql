-- Exceptions: findings of one rule for one agent, service, tool or text that lists hide by default and
-- that raise no alerts, until a time (docs/decisions/0036-triage-and-exceptions.md).
CREATE TABLE finding_exceptions (
  workspace_id integer NOT NULL REFERENCES workspaces (id),
  id           integer GENERATED ALWAYS AS IDENTITY,
  rule_id      text NOT NULL,
  scope        text NOT NULL CHECK (scope IN ('agent', 'service', 'tool', 'text')),
  -- of the agent, service or tool
  name         text,
  -- of the exact text, as in findings
  match_digest bytea,
  reason       text NOT NULL,
  -- e-mail address at that time, or what else acted
  created_by   text NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz NOT NULL,
  -- null unless somebody ended it before it expired
  ended_at     timestamptz,
  ended_by     text,
  PRIMARY KEY (workspace_id, id),
  CHECK (CASE scope WHEN 'text' THEN match_digest IS NOT NULL AND name IS NULL
                    ELSE match_digest IS NULL AND name IS NOT NULL END)
);
CREATE INDEX finding_exceptions_by_rule ON finding_exceptions (workspace_id, rule_id)
  WHERE ended_at IS NULL;

-- What an exception hides: the newest findings of a rule.
CREATE INDEX findings_by_rule ON findings (workspace_id, rule_id, created_at DESC, id DESC);
