-- Refused requests of a workspace's keys, counted: a row with `since` stands for equal refusals within
-- five minutes. A row with a body is, as before, one request whose rows PostgreSQL refused; the row
-- that counts it is another.

ALTER TABLE rejected_requests
  ALTER COLUMN signal DROP NOT NULL,
  ALTER COLUMN error_code DROP NOT NULL,
  ALTER COLUMN error DROP NOT NULL,
  ALTER COLUMN body_bytes DROP NOT NULL,
  ALTER COLUMN body DROP NOT NULL,
  -- beginning of the five minutes
  ADD COLUMN since timestamptz,
  -- a code of the error table, or revoked_key
  ADD COLUMN reason text,
  ADD COLUMN key_id integer,
  ADD COLUMN address text,
  ADD COLUMN user_agent text,
  ADD COLUMN path text,
  ADD COLUMN requests integer,
  ADD CHECK ((since IS NULL) <> (body IS NULL));

CREATE UNIQUE INDEX rejected_requests_counted
  ON rejected_requests (workspace_id, since, reason, key_id, address, user_agent, path)
  WHERE since IS NOT NULL;
