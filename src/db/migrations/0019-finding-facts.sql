-- What the findings list shows and filters by: the facts of the run when it was evaluated, the tool of
-- the step, and a digest that equal matched text has in common (docs/decisions/0035-findings-inbox.md).

-- The two keys of `match_digest`, random for each workspace, 64 bytes each (a block of SHA-256, of which
-- 488 bits are random). They are used inside PostgreSQL only. Workspaces that an older version creates
-- get theirs from the default.
ALTER TABLE workspaces
  ADD COLUMN match_key_inner bytea NOT NULL DEFAULT
    sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
      || sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
  ADD COLUMN match_key_outer bytea NOT NULL DEFAULT
    sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
      || sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
  ALTER COLUMN match_key_inner SET STATISTICS 0,
  ALTER COLUMN match_key_outer SET STATISTICS 0;

ALTER TABLE findings
  ADD COLUMN agent_name   text,
  ADD COLUMN service_name text,
  ADD COLUMN user_id      text,
  ADD COLUMN session_id   text,
  ADD COLUMN model        text,
  -- of the call that the step is; on the surface tool_name it is matched text, redacted with the excerpt
  ADD COLUMN tool_name    text,
  -- of the matched text, keyed; null for findings of earlier versions
  ADD COLUMN match_digest bytea,
  -- as with excerpts (0003): ANALYZE keeps no values of it
  ALTER COLUMN tool_name SET STATISTICS 0;

-- The newest findings get the facts of their runs. Bounded, so that an installation with very many does
-- not wait long for this; older ones have none.
UPDATE findings AS f
   SET agent_name = r.agent_name, service_name = left(r.service_name, 256), user_id = r.user_id,
       session_id = r.session_id, model = r.model
  FROM (SELECT workspace_id, id FROM findings ORDER BY created_at DESC LIMIT 200000) AS newest,
       runs AS r
 WHERE f.workspace_id = newest.workspace_id AND f.id = newest.id
   AND r.workspace_id = f.workspace_id AND r.run_id = f.run_id;

-- Repetitions of a finding: the same rule and the same matched text.
CREATE INDEX findings_by_match
  ON findings (workspace_id, rule_id, match_digest, created_at DESC, id DESC)
  WHERE match_digest IS NOT NULL;
